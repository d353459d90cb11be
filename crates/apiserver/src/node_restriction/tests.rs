//! What a node tried to write, and what it was told.

mod own;
mod pods;

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::identity::{AUTHENTICATED, NODES};

/// The pods `prod/mine` on n1 and `prod/theirs` on n2; the nodes n1 and n2.
struct Cluster;

impl Existing for Cluster {
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        let node = match (namespace, name) {
            ("prod", "mine") => "n1",
            ("prod", "theirs") => "n2",
            _ => return None,
        };
        let token = |audience: Option<&str>| json!({"serviceAccountToken": {"path": "t", "audience": audience}});
        let pod = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": format!("{name}-uid")},
            "spec": {
                "nodeName": node,
                "containers": [],
                "volumes": [{"name": "v", "projected": {"sources": [token(None), token(Some("vault"))]}}],
            },
        });
        Some(Arc::new(serde_json::from_value(pod).expect("a pod")))
    }

    fn node_uid(&self, name: &str) -> Option<String> {
        ["n1", "n2"].contains(&name).then(|| format!("{name}-uid"))
    }
}

fn node() -> User {
    let groups = vec![NODES.to_owned(), AUTHENTICATED.to_owned()];
    User { name: "system:node:n1".to_owned(), groups, ..User::default() }
}

/// A write of the node n1: operation, `group/resource[/subresource]`, name, new object, old object.
fn judge(operation: Operation, what: &str, name: &str, object: &Value, old: &Value) -> Result<(), String> {
    let user = node();
    let (group, resource) = what.split_once('/').expect("a group");
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let given = |value: &'_ Value| !value.is_null();
    let namespace = if resource == "leases" { "kube-node-lease" } else { "prod" };
    let write = Write {
        user: &user,
        operation,
        group,
        resource,
        subresource,
        namespace,
        name,
        object: Some(object).filter(|value| given(value)),
        old: Some(old).filter(|value| given(value)),
    };
    admit(&write, &Cluster).map_err(|refusal| refusal.to_string())
}

fn refused(operation: Operation, what: &str, name: &str, object: &Value) -> String {
    judge(operation, what, name, object, &Value::Null).expect_err("a refusal")
}

#[test]
fn users_who_are_no_nodes_pass_and_half_a_node_does_not() {
    let write = |user| Write {
        user,
        operation: Operation::Update,
        group: "",
        resource: "pods",
        subresource: "",
        namespace: "prod",
        name: "mine",
        object: None,
        old: None,
    };
    let alice = User { name: "alice".into(), groups: vec![AUTHENTICATED.into()], ..User::default() };
    assert_eq!(admit(&write(&alice), &Cluster), Ok(()));
    let half = User { name: "alice".into(), groups: vec![NODES.into()], ..User::default() };
    let refusal = admit(&write(&half), &Cluster).expect_err("a refusal");
    assert_eq!(refusal.to_string(), "could not determine node from user \"alice\"");
    let status = refusal.status(&write(&half));
    let message = "pods \"mine\" is forbidden: could not determine node from user \"alice\"";
    assert_eq!((status.code, status.message.as_str()), (403, message));
}

#[test]
fn tokens_are_only_for_pods_on_this_node_and_audiences_they_mount() {
    let ask = |bound: Value, audiences: Value| {
        let object = json!({"spec": {"boundObjectRef": bound, "audiences": audiences}});
        judge(Operation::Create, "/serviceaccounts/token", "web", &object, &Value::Null)
    };
    let pod = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
    assert_eq!(ask(pod("mine", "mine-uid"), json!([])), Ok(()));
    assert_eq!(ask(pod("mine", "mine-uid"), json!(["vault"])), Ok(()));
    let rows = [
        (Value::Null, json!([]), "node requested token not bound to a pod"),
        (
            json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1-uid"}),
            json!([]),
            "node requested token not bound to a pod",
        ),
        (pod("mine", ""), json!([]), "node requested token with a pod binding without a uid"),
        (pod("gone", "u"), json!([]), "pods \"gone\" not found"),
        (
            pod("mine", "old"),
            json!([]),
            "the UID in the bound object reference (old) does not match the UID in record. The object might have been \
             deleted and then recreated",
        ),
        (pod("theirs", "theirs-uid"), json!([]), "node requested token bound to a pod scheduled on a different node"),
        (pod("mine", "mine-uid"), json!(["a", "b"]), "node may only request 0 or 1 audiences"),
        (
            pod("mine", "mine-uid"),
            json!(["bank"]),
            "system:node:n1 is not authorized to request tokens for audience \"bank\"",
        ),
    ];
    for (bound, audiences, message) in rows {
        assert_eq!(ask(bound, audiences), Err(message.to_owned()));
    }
}

#[test]
fn an_object_that_cannot_be_read_is_refused() {
    let message = refused(Operation::Create, "/pods", "", &json!({"spec": 1}));
    assert!(message.starts_with("the object cannot be read: "), "{message}");
    assert_eq!(refused(Operation::Create, "/pods", "", &Value::Null), "unexpected type <nil>");
}
