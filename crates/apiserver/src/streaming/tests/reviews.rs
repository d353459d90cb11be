//! Connections that webhooks have a say in.

use serde_json::{Value, json};

use super::scene::{Scene, put};
use crate::admission::webhooks::tests::server::{Behaviour, Server};

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n";
const EXEC: &str = "/api/v1/namespaces/default/pods/web/exec?container=a&command=sh&stdout=true";

/// Lets a webhook of this sort review every `exec`.
fn reviewed(scene: &Scene, resource: &str, kind: &str, server: &Server) {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "w"},
        "webhooks": [{
            "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": server.client_config(),
            "rules": [{
                "operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/exec"],
            }],
        }],
    });
    put(&scene.api, ("admissionregistration.k8s.io", resource), "w", &configuration);
}

#[tokio::test]
async fn a_connection_that_a_webhook_refuses_never_reaches_the_node() {
    let denial = Behaviour::Respond(json!({"allowed": false, "status": {"message": "no shells"}}));
    let (mut scene, mut server) = (Scene::new().await, Server::local(denial).await);
    reviewed(&scene, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", &server);
    let answer = scene.get(EXEC).await;
    assert!(answer.contains("admission webhook \\\"h.example.com\\\" denied the request: no shells"), "{answer}");
    let asked = server.asked.recv().await.unwrap();
    assert_eq!((&asked["operation"], &asked["subResource"]), (&json!("CONNECT"), &json!("exec")));
    let shown = json!({
        "kind": "PodExecOptions", "apiVersion": "v1", "stdout": true, "container": "a", "command": ["sh"],
    });
    assert_eq!((&asked["object"], &asked["oldObject"]), (&shown, &Value::Null));
    assert!(scene.node.try_recv().is_err());
}

#[tokio::test]
async fn the_node_gets_the_command_that_a_webhook_made_of_it() {
    let patch = json!([{"op": "replace", "path": "/command/0", "value": "true"}]);
    let (mut scene, server) = (Scene::new().await, Server::local(Behaviour::Patch(patch)).await);
    reviewed(&scene, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", &server);
    let _client = scene.open(EXEC, UPGRADE).await;
    assert_eq!(scene.asked().await.path_and_query, "/exec/default/web/a?command=true&output=1");
}
