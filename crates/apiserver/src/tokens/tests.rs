//! Tokens as they are issued and as they are judged.

mod issue;
mod verify;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::TokenRequest;
use serde_json::{Value, json};

use super::{Account, Directory, Granted, IssueError, Issuer, PodRecord, Record, SigningKey, Verifier};

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
const AUDIENCE: &str = "api";
const ACCOUNT: Account<'static> = Account { namespace: "prod", name: "web" };

/// Objects by `namespace/name`.
#[derive(Clone, Default)]
struct Objects {
    accounts: BTreeMap<String, Record>,
    secrets: BTreeMap<String, Record>,
    pods: BTreeMap<String, PodRecord>,
    nodes: BTreeMap<String, Record>,
}

impl Directory for Objects {
    fn service_account(&self, namespace: &str, name: &str) -> Option<Record> {
        self.accounts.get(&format!("{namespace}/{name}")).cloned()
    }

    fn secret(&self, namespace: &str, name: &str) -> Option<Record> {
        self.secrets.get(&format!("{namespace}/{name}")).cloned()
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<PodRecord> {
        self.pods.get(&format!("{namespace}/{name}")).cloned()
    }

    fn node(&self, name: &str) -> Option<Record> {
        self.nodes.get(name).cloned()
    }
}

fn record(uid: &str) -> Record {
    Record { uid: uid.to_owned(), deletion: None }
}

fn pod(uid: &str, account: &str, node: &str) -> PodRecord {
    PodRecord { record: record(uid), service_account_name: account.to_owned(), node_name: node.to_owned() }
}

fn objects() -> Objects {
    Objects {
        accounts: BTreeMap::from([("prod/web".to_owned(), record("sa-uid"))]),
        secrets: BTreeMap::from([("prod/s1".to_owned(), record("secret-uid"))]),
        pods: BTreeMap::from([
            ("prod/p1".to_owned(), pod("pod-uid", "web", "n1")),
            ("prod/other".to_owned(), pod("other-uid", "default", "n1")),
            ("prod/lost".to_owned(), pod("lost-uid", "web", "gone")),
        ]),
        nodes: BTreeMap::from([("n1".to_owned(), record("node-uid"))]),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn key() -> SigningKey {
    let pair = rcgen::KeyPair::generate().expect("a key");
    SigningKey::from_pkcs8(pair.serialized_der()).expect("a P-256 key")
}

fn issuer() -> Issuer {
    Issuer { url: ISSUER.to_owned(), audiences: vec![AUDIENCE.to_owned()], max_seconds: None, key: key() }
}

fn verifier(issuer: &Issuer) -> Verifier {
    let keys = vec![key().verifying_key().clone(), issuer.key.verifying_key().clone()];
    Verifier::new(ISSUER.to_owned(), issuer.audiences.clone(), keys)
}

fn request(spec: &Value) -> TokenRequest {
    serde_json::from_value(json!({ "spec": spec })).expect("a token request")
}

fn bound(kind: &str, name: &str) -> Value {
    json!({ "boundObjectRef": { "apiVersion": "v1", "kind": kind, "name": name } })
}

fn issue(issuer: &Issuer, spec: &Value) -> Result<Granted, IssueError> {
    issuer.issue(ACCOUNT, request(spec), &objects(), at(0))
}

fn granted(issuer: &Issuer, spec: &Value) -> Granted {
    issue(issuer, spec).expect("a token")
}

fn claims(granted: &Granted) -> Value {
    let read = super::read_unverified(granted.token.expose().as_bytes()).expect("readable");
    serde_json::to_value(read.claims).expect("JSON")
}

fn later(seconds: i64) -> Timestamp {
    at(0) + SignedDuration::from_secs(seconds)
}
