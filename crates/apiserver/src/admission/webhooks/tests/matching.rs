//! Which webhooks are asked about which changes.

use http::Method;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhook;
use serde_json::{Value, json};

use super::server::{Behaviour, Server};
use super::{VALIDATING, configure, hook};
use crate::admission::webhooks::{Hook, Subject};
use crate::admission::{Operation, Review};
use crate::kind::{Part, Subresource};
use crate::options::DryRun;
use crate::test_support::{TestApi, call, test_api, with};

/// What a change is, without its object: operation, resource, subresource.
struct Change {
    operation: Operation,
    resource: &'static str,
    subresource: Option<Subresource>,
}

const CREATE_POD: Change = Change { operation: Operation::Create, resource: "pods", subresource: None };

fn rule(fields: Value) -> Hook {
    let all = json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]});
    let rule = with(all, fields);
    let hook: ValidatingWebhook = serde_json::from_value(json!({
        "name": "h", "rules": [rule], "clientConfig": {}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }))
    .unwrap();
    Hook::validating(hook)
}

fn applies(api: &TestApi, fields: Value, change: &Change) -> bool {
    let call = call(api, change.resource, "x");
    let (operation, subresource) = (change.operation, change.subresource);
    let review = Review { call: &call, operation, subresource, options: DryRun::No };
    let metadata = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta::default();
    rule(fields).may_match(api, &Subject::of_object(&review, &metadata))
}

#[tokio::test]
async fn rules_name_operations_groups_versions_resources_and_scopes() {
    let api = test_api().await;
    let status =
        Change { subresource: Some(Subresource::Part(Part::Status)), operation: Operation::Update, ..CREATE_POD };
    let connect = Change { subresource: Some(Subresource::Exec), operation: Operation::Connect, ..CREATE_POD };
    let node = Change { resource: "nodes", ..CREATE_POD };
    let namespace = Change { resource: "namespaces", ..CREATE_POD };
    let rows = [
        (json!({}), &CREATE_POD, true),
        (json!({"operations": ["CREATE"]}), &CREATE_POD, true),
        (json!({"operations": ["UPDATE", "DELETE"]}), &CREATE_POD, false),
        (json!({"apiGroups": [""]}), &CREATE_POD, true),
        (json!({"apiGroups": ["apps"]}), &CREATE_POD, false),
        (json!({"apiVersions": ["v2"]}), &CREATE_POD, false),
        (json!({"resources": ["pods"]}), &CREATE_POD, true),
        (json!({"resources": ["services"]}), &CREATE_POD, false),
        (json!({"resources": ["pods/*"]}), &CREATE_POD, true),
        (json!({"resources": ["pods"]}), &status, false),
        (json!({"resources": ["*"]}), &status, false),
        (json!({"resources": ["pods/*"]}), &status, true),
        (json!({"resources": ["*/status"]}), &status, true),
        (json!({"resources": ["*/*"]}), &status, true),
        (json!({"resources": ["pods/log"]}), &status, false),
        (json!({"resources": ["pods/exec"], "operations": ["CONNECT"]}), &connect, true),
        (json!({"resources": ["pods/exec"], "operations": ["CREATE"]}), &connect, false),
        (json!({"scope": "Namespaced"}), &CREATE_POD, true),
        (json!({"scope": "Cluster"}), &CREATE_POD, false),
        (json!({"scope": "Namespaced"}), &node, false),
        (json!({"scope": "Cluster"}), &node, true),
        (json!({"scope": "Cluster"}), &namespace, true),
        (json!({"scope": "Namespaced"}), &namespace, false),
    ];
    for (fields, change, expected) in rows {
        assert_eq!(applies(&api, fields.clone(), change), expected, "{fields} {}", change.resource);
    }
}

/// A webhook that denies everything it is asked about, with this selector.
async fn denying(api: &TestApi, resources: &str, patch: Value) -> Server {
    let server = Server::local(Behaviour::Respond(json!({"allowed": false}))).await;
    configure(api, VALIDATING, "w", vec![hook(&server, resources, patch)]).await;
    server
}

async fn code(api: &TestApi, method: Method, path: &str, object: Option<Value>) -> u16 {
    api.send(method, path, object).await.map_or_else(|status| status.code, |answer| answer.code)
}

#[tokio::test]
async fn an_object_is_selected_by_its_new_or_its_old_labels() {
    let api = test_api().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let labelled = |name: &str| json!({"metadata": {"name": name, "labels": {"guard": "yes"}}});
    let plain = |name: &str| json!({"metadata": {"name": name}});
    api.create(maps, labelled("old")).await;
    api.create(maps, plain("free")).await;
    let _server = denying(&api, "configmaps", json!({"objectSelector": {"matchLabels": {"guard": "yes"}}})).await;
    assert_eq!(code(&api, Method::POST, maps, Some(labelled("a"))).await, 400);
    assert_eq!(code(&api, Method::POST, maps, Some(plain("b"))).await, 201);
    let (old, free) = (format!("{maps}/old"), format!("{maps}/free"));
    assert_eq!(code(&api, Method::PUT, &old, Some(plain("old"))).await, 400, "taking the label away");
    assert_eq!(code(&api, Method::PUT, &free, Some(labelled("free"))).await, 400, "putting it on");
    assert_eq!(code(&api, Method::DELETE, &old, None).await, 400);
    assert_eq!(code(&api, Method::DELETE, &free, None).await, 200);
}

#[tokio::test]
async fn a_namespace_is_selected_by_its_labels_and_what_lives_in_none_always() {
    let api = test_api().await;
    let namespaces = "/api/v1/namespaces";
    api.create(namespaces, json!({"metadata": {"name": "guarded", "labels": {"guard": "yes"}}})).await;
    let _server = denying(&api, "*", json!({"namespaceSelector": {"matchLabels": {"guard": "yes"}}})).await;
    let map = || Some(json!({"metadata": {"name": "m"}}));
    assert_eq!(code(&api, Method::POST, "/api/v1/namespaces/guarded/configmaps", map()).await, 400);
    assert_eq!(code(&api, Method::POST, "/api/v1/namespaces/default/configmaps", map()).await, 201);
    assert_eq!(code(&api, Method::POST, namespaces, Some(json!({"metadata": {"name": "new"}}))).await, 201);
    let labelled = json!({"metadata": {"name": "newer", "labels": {"guard": "yes"}}});
    assert_eq!(code(&api, Method::POST, namespaces, Some(labelled)).await, 400, "by its own labels");
    assert_eq!(code(&api, Method::POST, "/api/v1/nodes", Some(json!({"metadata": {"name": "n"}}))).await, 400);
}

#[tokio::test]
async fn a_dry_run_is_announced_and_refused_by_webhooks_with_side_effects() {
    let api = test_api().await;
    let mut server = denying(&api, "configmaps", json!({"sideEffects": "NoneOnDryRun"})).await;
    let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
    assert_eq!(code(&api, Method::POST, path, Some(json!({"metadata": {"name": "m"}}))).await, 400);
    let asked = server.asked.recv().await.unwrap();
    assert_eq!((&asked["dryRun"], &asked["options"]["dryRun"]), (&json!(true), &json!(["All"])));

    let call = call(&api, "configmaps", "m");
    let review = Review { call: &call, operation: Operation::Create, subresource: None, options: DryRun::All };
    let hook: ValidatingWebhook = serde_json::from_value(json!({
        "name": "h", "clientConfig": {}, "sideEffects": "Some", "failurePolicy": "Ignore",
        "admissionReviewVersions": ["v1"],
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
    }))
    .unwrap();
    let subject = Subject::of_object(&review, &Default::default());
    let object = json!({"metadata": {"name": "m"}});
    let hooks = [Hook::validating(hook)];
    let refused = crate::admission::webhooks::validate(&api, &hooks, &subject, Some(&object), None).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (400, "admission webhook \"h\" does not support dry run"));
}
