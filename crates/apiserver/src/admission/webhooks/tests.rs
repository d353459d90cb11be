//! Webhooks against a real HTTPS server that behaves well or badly.

mod calls;
mod changes;
mod matching;
pub(crate) mod server;

use serde_json::{Value, json};

use self::server::{Behaviour, Server};
use crate::test_support::{TestApi, with};

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

fn allow() -> Behaviour {
    Behaviour::Respond(json!({"allowed": true}))
}

/// A webhook on all operations of a resource, with other fields put over it.
fn hook(server: &Server, resource: &str, patch: Value) -> Value {
    let hook = json!({
        "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": server.client_config(),
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]}],
    });
    with(hook, patch)
}

async fn configure(api: &TestApi, sort: &str, name: &str, hooks: Vec<Value>) {
    api.create(sort, json!({"metadata": {"name": name}, "webhooks": hooks})).await;
}
