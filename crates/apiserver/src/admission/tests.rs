//! What the built-in steps do to changes that go through the whole server.

use http::Method;
use serde_json::{Value, json};

use crate::identity::{AUTHENTICATED, NODES, User};
use crate::test_support::{pod, test_api};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn node(name: &str) -> User {
    let groups = vec![NODES.to_owned(), AUTHENTICATED.to_owned()];
    User { name: format!("system:node:{name}"), groups, ..User::default() }
}

fn on_node(name: &str, node: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = node.into();
    pod
}

#[tokio::test]
async fn a_new_pod_gets_an_account_a_token_a_priority_and_tolerations() {
    let api = test_api().await;
    let spec = api.create(PODS, pod("p")).await["spec"].clone();
    assert_eq!((&spec["serviceAccountName"], &spec["serviceAccount"]), (&json!("default"), &json!("default")));
    assert_eq!(spec["volumes"][0]["name"], "kube-api-access-abcde");
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_pod_needs_an_account_and_a_class_that_exist() {
    let api = test_api().await;
    let mut lost = pod("p");
    lost["spec"]["serviceAccountName"] = "nobody".into();
    let why =
        "pods \"p\" is forbidden: error looking up service account default/nobody: serviceaccount \"nobody\" not found";
    assert_eq!(api.create_refused(PODS, lost).await, (403, why.to_owned()));
    let mut lost = pod("p");
    lost["spec"]["priorityClassName"] = "none".into();
    let why = "pods \"p\" is forbidden: no PriorityClass with name none was found";
    assert_eq!(api.create_refused(PODS, lost).await, (403, why.to_owned()));
    let mut critical = pod("p");
    critical["spec"]["priorityClassName"] = "system-node-critical".into();
    assert_eq!(api.create(PODS, critical).await["spec"]["priority"], 2_000_001_000);
}

#[tokio::test]
async fn a_default_class_is_given_to_pods_without_one_and_is_the_only_one() {
    let api = test_api().await;
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let class = |name: &str| json!({"metadata": {"name": name}, "value": 5, "globalDefault": true});
    api.create(classes, class("five")).await;
    let spec = api.create(PODS, pod("p")).await["spec"].clone();
    assert_eq!((&spec["priorityClassName"], &spec["priority"]), (&json!("five"), &json!(5)));
    let (code, why) = api.create_refused(classes, class("six")).await;
    assert_eq!(code, 403);
    assert!(why.ends_with("PriorityClass five is already marked as default. Only one default can exist"), "{why}");
}

#[tokio::test]
async fn a_node_evicts_and_deletes_its_own_pods_only() {
    let api = test_api().await;
    for (name, host) in [("mine", "n1"), ("theirs", "n2")] {
        api.create(PODS, on_node(name, host)).await;
    }
    let evict = |name: &'static str| {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
        (format!("{PODS}/{name}/eviction"), eviction)
    };
    let (path, eviction) = evict("theirs");
    let refused = api.send_as(node("n1"), Method::POST, &path, Some(eviction)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, 403);
    assert!(refused.message.ends_with("node n1 can only evict pods with spec.nodeName set to itself"));
    let theirs = format!("{PODS}/theirs");
    assert_eq!(api.send_as(node("n1"), Method::DELETE, &theirs, None).await.map(|_| ()).unwrap_err().code, 403);
    let (path, eviction) = evict("mine");
    assert_eq!(api.send_as(node("n1"), Method::POST, &path, Some(eviction)).await.unwrap().code, 201);
}

#[tokio::test]
async fn a_node_may_not_create_pods_or_bind_them() {
    let api = test_api().await;
    api.create(PODS, pod("p")).await;
    let refused = api.send_as(node("n1"), Method::POST, PODS, Some(on_node("x", "n1"))).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, 403);
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}});
    let path = format!("{PODS}/p/binding");
    let refused = api.send_as(node("n1"), Method::POST, &path, Some(binding.clone())).await.map(|_| ()).unwrap_err();
    assert!(refused.message.contains("unexpected pod subresource \"binding\""), "{}", refused.message);
    assert_eq!(api.send(Method::POST, &path, Some(binding)).await.unwrap().code, 201);
    assert_eq!(api.get(&format!("{PODS}/p")).await["spec"]["nodeName"], "n1");
}

#[tokio::test]
async fn match_conditions_are_refused_with_the_reason() {
    let api = test_api().await;
    let configuration = json!({"metadata": {"name": "w"}, "webhooks": [{
        "name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://localhost/"},
        "matchConditions": [{"name": "x", "expression": "true"}],
    }]});
    for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{resource}");
        let (code, why) = api.create_refused(&path, configuration.clone()).await;
        assert_eq!(code, 422);
        assert!(why.contains("webhooks[0].matchConditions: Forbidden: expressions are not evaluated"), "{why}");
    }
}
