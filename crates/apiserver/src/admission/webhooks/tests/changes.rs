//! Changes that go through the whole server while webhooks are configured.

use http::Method;
use serde_json::{Value, json};

use super::server::{Behaviour, Server};
use super::{MUTATING, VALIDATING, allow, configure, hook};
use crate::admission::{Body, Operation, Review};
use crate::answer::Payload;
use crate::kind::Subresource;
use crate::options::DryRun;
use crate::status::Status;
use crate::test_support::{TestApi, call, document, pod, test_api};

const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {}})
}

async fn refusal(api: &TestApi, path: &str, object: Value) -> Status {
    api.send(Method::POST, path, Some(object)).await.map(|answer| document(&answer)).unwrap_err()
}

fn add(path: &str, value: &str) -> Behaviour {
    Behaviour::Patch(json!([{"op": "add", "path": path, "value": value}]))
}

#[tokio::test]
async fn a_webhook_is_told_everything_about_the_change() {
    let (api, mut server) = (test_api().await, Server::local(allow()).await);
    configure(&api, VALIDATING, "w", vec![hook(&server, "pods", json!({}))]).await;
    api.create(PODS, pod("p")).await;
    let asked = server.asked.recv().await.unwrap();
    let pods = json!({"group": "", "version": "v1", "resource": "pods"});
    assert_eq!(asked["kind"], json!({"group": "", "version": "v1", "kind": "Pod"}));
    assert_eq!((&asked["resource"], &asked["requestResource"]), (&pods, &pods));
    assert_eq!(
        (&asked["operation"], &asked["name"], &asked["namespace"]),
        (&json!("CREATE"), &json!("p"), &json!("default"))
    );
    assert_eq!(asked["userInfo"]["username"], "admin");
    assert_eq!((&asked["dryRun"], &asked["oldObject"]), (&json!(false), &Value::Null));
    assert_eq!(asked["options"], json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}));
    assert_eq!(asked["object"]["spec"]["serviceAccountName"], "default", "the object as it would be stored");
}

#[tokio::test]
async fn a_denial_stops_the_change() {
    let denial =
        json!({"allowed": false, "status": {"message": "not on a Friday", "code": 403, "reason": "Forbidden"}});
    for sort in [MUTATING, VALIDATING] {
        let (api, server) = (test_api().await, Server::local(Behaviour::Respond(denial.clone())).await);
        configure(&api, sort, "w", vec![hook(&server, "configmaps", json!({"failurePolicy": "Ignore"}))]).await;
        let refused = refusal(&api, MAPS, map("a")).await;
        assert_eq!(refused.code, 403);
        assert_eq!(refused.message, "admission webhook \"h.example.com\" denied the request: not on a Friday");
    }
}

#[tokio::test]
async fn what_webhooks_answer_is_counted() {
    let api = test_api().await;
    let denies = Server::local(Behaviour::Respond(json!({"allowed": false}))).await;
    let allows = Server::local(Behaviour::Respond(json!({"allowed": true}))).await;
    configure(&api, MUTATING, "a", vec![hook(&allows, "configmaps", json!({}))]).await;
    configure(&api, VALIDATING, "d", vec![hook(&denies, "configmaps", json!({}))]).await;
    refusal(&api, MAPS, map("a")).await;
    refusal(&api, MAPS, map("b")).await;
    let scraped = api.send(Method::GET, "/metrics", None).await.ok().unwrap();
    let Payload::Text(text) = scraped.payload else { panic!("metrics are text") };
    let text = String::from_utf8(text.to_vec()).unwrap();
    for (sort, rejected) in [("admit", false), ("validating", true)] {
        let labels = format!(r#"{{name="h.example.com",type="{sort}",operation="CREATE",rejected="{rejected}"}} 2"#);
        for name in ["request_total", "admission_duration_seconds_count"] {
            let line = format!("apiserver_admission_webhook_{name}{labels}");
            assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
        }
    }
}

#[tokio::test]
async fn patches_are_applied_in_the_order_of_the_configurations_names() {
    let api = test_api().await;
    let (first, second) = (Server::local(add("/data/a", "1")).await, Server::local(add("/data/b", "2")).await);
    configure(&api, MUTATING, "z", vec![hook(&second, "configmaps", json!({}))]).await;
    configure(&api, MUTATING, "a", vec![hook(&first, "configmaps", json!({}))]).await;
    let mut sent = map("m");
    sent["data"] = json!({"c": "3"});
    assert_eq!(api.create(MAPS, sent).await["data"], json!({"a": "1", "b": "2", "c": "3"}));
    let mut second = second;
    let seen = second.asked.recv().await.unwrap();
    assert_eq!(seen["object"]["data"], json!({"a": "1", "c": "3"}));
}

#[tokio::test]
async fn a_patched_object_is_defaulted_and_validated_as_if_it_had_been_sent_so() {
    let container = json!([{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "y"}}]);
    let (api, server) = (test_api().await, Server::local(Behaviour::Patch(container)).await);
    configure(&api, MUTATING, "w", vec![hook(&server, "pods", json!({}))]).await;
    let side = api.create(PODS, pod("p")).await["spec"]["containers"][1].clone();
    assert_eq!(side["imagePullPolicy"], "Always", "defaulted again");
    assert_eq!(side["volumeMounts"][0]["name"], "kube-api-access-abcde", "the steps have seen it, too");

    let invalid = json!([{"op": "replace", "path": "/spec/containers/0/name", "value": "Not A Name"}]);
    let (api, server) = (test_api().await, Server::local(Behaviour::Patch(invalid)).await);
    configure(&api, MUTATING, "w", vec![hook(&server, "pods", json!({}))]).await;
    assert_eq!(refusal(&api, PODS, pod("p")).await.code, 422);
}

#[tokio::test]
async fn a_patch_that_does_not_fit_is_an_error_whatever_the_policy() {
    for patch in [json!([{"op": "remove", "path": "/nothing"}]), json!([{"op": "add", "path": "/data", "value": 7}])] {
        let (api, server) = (test_api().await, Server::local(Behaviour::Patch(patch)).await);
        configure(&api, MUTATING, "w", vec![hook(&server, "configmaps", json!({"failurePolicy": "Ignore"}))]).await;
        assert_eq!(refusal(&api, MAPS, map("a")).await.code, 500);
    }
}

#[tokio::test]
async fn a_webhook_that_fails_refuses_or_is_ignored_as_its_policy_says() {
    let not_json = Behaviour::Raw { code: 200, body: "hello".to_owned() };
    let broken = Behaviour::Raw { code: 500, body: String::new() };
    let other_uid = Behaviour::Respond(json!({"uid": "other", "allowed": true}));
    let patching = Behaviour::Patch(json!([{"op": "remove", "path": "/data"}]));
    for (behaviour, expected) in [
        (not_json, "received invalid webhook response: the answer is no AdmissionReview"),
        (broken, "failed to call webhook: Post"),
        (other_uid, "received invalid webhook response: expected response.uid="),
        (patching, "received invalid webhook response: validating webhook may not return response.patch"),
    ] {
        let (api, server) = (test_api().await, Server::local(behaviour).await);
        configure(&api, VALIDATING, "w", vec![hook(&server, "configmaps", json!({}))]).await;
        let refused = refusal(&api, MAPS, map("a")).await;
        assert_eq!(refused.code, 500);
        let start = "Internal error occurred: failed calling webhook \"h.example.com\": ";
        assert!(refused.message.starts_with(&format!("{start}{expected}")), "{}", refused.message);
        let ignoring = hook(&server, "configmaps", json!({"failurePolicy": "Ignore"}));
        api.send(Method::DELETE, &format!("{VALIDATING}/w"), None).await.unwrap();
        configure(&api, VALIDATING, "w", vec![ignoring]).await;
        api.create(MAPS, map("a")).await;
    }
}

#[tokio::test]
async fn the_time_that_a_webhook_has_is_the_one_it_is_configured_with() {
    let (api, server) = (test_api().await, Server::local(Behaviour::Hang).await);
    configure(&api, VALIDATING, "w", vec![hook(&server, "configmaps", json!({"timeoutSeconds": 1}))]).await;
    let refused = refusal(&api, MAPS, map("a")).await;
    assert!(
        refused.message.ends_with("context deadline exceeded: no complete answer within 1s"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn without_a_bundle_nobody_is_believed() {
    let (api, server) = (test_api().await, Server::local(allow()).await);
    let url = server.client_config()["url"].clone();
    let unknown = hook(&server, "configmaps", json!({"clientConfig": {"url": url, "caBundle": null}}));
    configure(&api, VALIDATING, "w", vec![unknown]).await;
    let refused = refusal(&api, MAPS, map("a")).await;
    assert!(refused.message.contains("clientConfig.caBundle is empty"), "{}", refused.message);
}

#[tokio::test]
async fn a_webhook_that_wants_it_is_asked_once_more_when_a_later_one_changed_the_object() {
    let api = test_api().await;
    let mut first = Server::local(allow()).await;
    let mut never = Server::local(allow()).await;
    let later = Server::local(add("/data/b", "2")).await;
    let again = hook(&first, "configmaps", json!({"reinvocationPolicy": "IfNeeded", "name": "a.example.com"}));
    let once = hook(&never, "configmaps", json!({"name": "b.example.com"}));
    let last = hook(&later, "configmaps", json!({"reinvocationPolicy": "IfNeeded", "name": "c.example.com"}));
    configure(&api, MUTATING, "w", vec![again, once, last]).await;
    api.create(MAPS, map("m")).await;
    assert_eq!(first.asked.try_recv().unwrap()["object"]["data"], json!({}));
    assert_eq!(first.asked.try_recv().unwrap()["object"]["data"], json!({"b": "2"}));
    assert!(first.asked.try_recv().is_err(), "twice at most");
    assert!(never.asked.try_recv().is_ok() && never.asked.try_recv().is_err());
    let mut later = later;
    assert!(later.asked.try_recv().is_ok() && later.asked.try_recv().is_err(), "nobody changed it after the last one");
}

#[tokio::test]
async fn warnings_reach_the_client() {
    let (api, server) =
        (test_api().await, Server::local(Behaviour::Respond(json!({"allowed": true, "warnings": ["old"]}))).await);
    configure(&api, MUTATING, "w", vec![hook(&server, "configmaps", json!({}))]).await;
    configure(&api, VALIDATING, "w", vec![hook(&server, "configmaps", json!({}))]).await;
    let answer = api.send(Method::POST, MAPS, Some(map("a"))).await.unwrap();
    assert_eq!(answer.warnings, ["old", "old"]);
}

#[tokio::test]
async fn updates_and_deletes_show_what_was_there() {
    let (api, mut server) = (test_api().await, Server::local(allow()).await);
    let stored = api.create(MAPS, map("a")).await;
    configure(&api, MUTATING, "w", vec![hook(&server, "configmaps", json!({}))]).await;
    let mut changed = stored.clone();
    changed["data"] = json!({"k": "v"});
    let path = format!("{MAPS}/a");
    api.send(Method::PUT, &path, Some(changed)).await.unwrap();
    let asked = server.asked.recv().await.unwrap();
    assert_eq!(
        (&asked["operation"], &asked["oldObject"]["metadata"]["uid"]),
        (&json!("UPDATE"), &stored["metadata"]["uid"])
    );
    assert_eq!(asked["object"]["data"], json!({"k": "v"}));
    api.send(Method::DELETE, &format!("{path}?gracePeriodSeconds=3"), None).await.unwrap();
    let asked = server.asked.recv().await.unwrap();
    assert_eq!((&asked["operation"], &asked["object"]), (&json!("DELETE"), &Value::Null));
    assert_eq!(asked["oldObject"]["data"], json!({"k": "v"}));
    assert_eq!(asked["options"]["gracePeriodSeconds"], 3);
}

#[tokio::test]
async fn a_webhook_cannot_change_an_object_that_is_deleted() {
    let (api, server) = (test_api().await, Server::local(add("/data/a", "1")).await);
    api.create(MAPS, map("a")).await;
    configure(&api, MUTATING, "w", vec![hook(&server, "configmaps", json!({}))]).await;
    let refused = api.send(Method::DELETE, &format!("{MAPS}/a"), None).await.map(|_| ()).unwrap_err();
    assert!(refused.message.ends_with("attempted to modify the object, which is not supported for this operation"));
}

#[tokio::test]
async fn configurations_themselves_are_never_reviewed() {
    let denial = Behaviour::Respond(json!({"allowed": false}));
    let (api, server) = (test_api().await, Server::local(denial).await);
    for sort in [MUTATING, VALIDATING] {
        configure(&api, sort, "w", vec![hook(&server, "*/*", json!({}))]).await;
    }
    assert_eq!(refusal(&api, MAPS, map("a")).await.code, 400);
    for sort in [VALIDATING, MUTATING] {
        api.send(Method::DELETE, &format!("{sort}/w"), None).await.unwrap();
    }
    api.create(MAPS, map("a")).await;
}

#[tokio::test]
async fn an_eviction_is_reviewed_as_an_eviction_and_its_delete_not_again() {
    let (api, mut server) = (test_api().await, Server::local(allow()).await);
    api.create(PODS, pod("p")).await;
    configure(&api, VALIDATING, "w", vec![hook(&server, "*/*", json!({}))]).await;
    let eviction = json!({"metadata": {"name": "p"}});
    api.send(Method::POST, &format!("{PODS}/p/eviction"), Some(eviction)).await.unwrap();
    let asked = server.asked.recv().await.unwrap();
    assert_eq!((&asked["subResource"], &asked["kind"]["kind"]), (&json!("eviction"), &json!("Eviction")));
    assert!(server.asked.try_recv().is_err());
}

#[tokio::test]
async fn a_scale_is_reviewed_as_a_scale_and_can_be_patched() {
    let fewer = json!([{"op": "replace", "path": "/spec/replicas", "value": 2}]);
    let (api, mut server) = (test_api().await, Server::local(Behaviour::Patch(fewer)).await);
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": pod("p")["spec"]});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template});
    api.create(sets, json!({"metadata": {"name": "r"}, "spec": spec})).await;
    configure(&api, MUTATING, "w", vec![hook(&server, "replicasets/scale", json!({}))]).await;
    let path = format!("{sets}/r/scale");
    let answer = api.send(Method::PATCH, &path, Some(json!({"spec": {"replicas": 9}}))).await.unwrap();
    assert_eq!(document(&answer)["spec"]["replicas"], 2);
    let asked = server.asked.recv().await.unwrap();
    assert_eq!(asked["kind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!((&asked["subResource"], &asked["operation"]), (&json!("scale"), &json!("UPDATE")));
    let replicas = |object: &Value| object["spec"]["replicas"].clone();
    assert_eq!((replicas(&asked["object"]), replicas(&asked["oldObject"])), (json!(9), json!(1)));
}

#[tokio::test]
async fn a_connection_is_reviewed_by_its_options() {
    let denial = Behaviour::Respond(json!({"allowed": false, "status": {"message": "no shells"}}));
    let (api, mut server) = (test_api().await, Server::local(denial).await);
    let rules =
        json!([{"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/exec"]}]);
    configure(&api, VALIDATING, "w", vec![hook(&server, "pods/exec", json!({"rules": rules}))]).await;
    let call = call(&api, "pods", "p");
    let (operation, subresource) = (Operation::Connect, Some(Subresource::Exec));
    let review = Review { call: &call, operation, subresource, options: DryRun::No };
    let value = json!({"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"]});
    let body = Body { group: "", version: "v1", kind: "PodExecOptions", value, old: None };
    let refused = api.admission.review_body(&api, &review, body, &|value| Ok(value.clone())).await.unwrap_err();
    assert_eq!(refused.message, "admission webhook \"h.example.com\" denied the request: no shells");
    let asked = server.asked.recv().await.unwrap();
    assert_eq!((&asked["operation"], &asked["options"]), (&json!("CONNECT"), &Value::Null));
    assert_eq!(asked["object"]["command"], json!(["sh"]));
}

#[tokio::test]
async fn an_event_is_shown_in_the_form_that_the_rule_names() {
    let message = json!([{"op": "replace", "path": "/note", "value": "changed"}]);
    let (api, mut server) = (test_api().await, Server::local(Behaviour::Patch(message)).await);
    let rules =
        json!([{"operations": ["*"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "resources": ["events"]}]);
    configure(&api, MUTATING, "w", vec![hook(&server, "events", json!({"rules": rules}))]).await;
    let event = json!({
        "metadata": {"name": "e"}, "message": "sent", "type": "Normal", "reason": "R",
        "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"},
    });
    let created = api.create("/api/v1/namespaces/default/events", event).await;
    let asked = server.asked.recv().await.unwrap();
    assert_eq!((&asked["kind"]["group"], &asked["requestKind"]["group"]), (&json!("events.k8s.io"), &json!("")));
    assert_eq!(asked["object"]["note"], "sent");
    assert_eq!((&created["message"], &created["apiVersion"]), (&json!("changed"), &json!("v1")));
}
