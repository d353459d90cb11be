//! Evictions against a server with budgets, rule by rule.

use http::Method;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::negotiate::BodyFormat;
use crate::options::{DryRun, parse_delete};
use crate::query::Query;
use crate::status::Status;
use crate::test_support::{TestApi, call, document, pod, test_api, with};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// A server with the pod `web`, in this state.
async fn with_pod(status: Value) -> TestApi {
    let api = test_api().await;
    add_pod(&api, "web", status).await;
    api
}

async fn add_pod(api: &TestApi, name: &str, status: Value) {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = "n1".into();
    let mut changed = api.create(PODS, pod).await;
    changed["status"] = with(changed["status"].take(), status);
    api.send(Method::PUT, &format!("{PODS}/{name}/status"), Some(changed)).await.unwrap();
}

fn ready(status: &str) -> Value {
    json!({"phase": "Running", "conditions": [{"type": "Ready", "status": status}]})
}

async fn add_budget(api: &TestApi, name: &str, spec: Value, status: Value) {
    let spec = with(json!({"selector": {"matchLabels": {"app": "a"}}}), spec);
    let mut stored = api.create(BUDGETS, json!({"metadata": {"name": name}, "spec": spec})).await;
    let counted = json!({
        "observedGeneration": 1, "currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1, "expectedPods": 3,
    });
    stored["status"] = with(counted, status);
    api.send(Method::PUT, &format!("{BUDGETS}/{name}/status"), Some(stored)).await.unwrap();
}

fn eviction(options: Value) -> Value {
    let mut eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}});
    eviction["deleteOptions"] = options;
    eviction
}

async fn evict(api: &TestApi, body: Value) -> Result<Answer, Status> {
    api.send(Method::POST, &format!("{PODS}/web/eviction"), Some(body)).await
}

async fn refusal(api: &TestApi, body: Value) -> Status {
    evict(api, body).await.map(|answer| document(&answer)).unwrap_err()
}

async fn budget_status(api: &TestApi) -> Value {
    api.get(&format!("{BUDGETS}/b")).await["status"].clone()
}

/// 1.8.9, 1.8.10, 1.8.11
#[tokio::test]
async fn an_eviction_charges_the_budget_marks_the_pod_and_deletes_it() {
    let api = with_pod(ready("True")).await;
    add_budget(&api, "b", json!({}), json!({})).await;
    let answer = evict(&api, eviction(json!({"gracePeriodSeconds": 7}))).await.unwrap();
    assert_eq!((answer.code, &document(&answer)["status"]), (201, &json!("Success")));
    let status = budget_status(&api).await;
    assert_eq!(status.get("disruptionsAllowed").and_then(Value::as_i64).unwrap_or_default(), 0);
    assert!(status["disruptedPods"]["web"].is_string());
    assert_eq!(status["conditions"][0]["reason"], "InsufficientPods");
    let pod = api.get(&format!("{PODS}/web")).await;
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 7);
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let target = conditions.iter().find(|condition| condition["type"] == "DisruptionTarget").unwrap();
    assert_eq!((&target["reason"], &target["status"]), (&json!("EvictionByEvictionAPI"), &json!("True")));
    let again = evict(&api, eviction(json!({}))).await.unwrap();
    assert_eq!(again.code, 201, "a pod that is ending can be evicted again, without a budget");
}

/// 1.8.8
#[tokio::test]
async fn an_exhausted_budget_refuses_with_its_cause() {
    let api = with_pod(ready("True")).await;
    add_budget(&api, "b", json!({}), json!({"disruptionsAllowed": 0, "currentHealthy": 2})).await;
    let refused = refusal(&api, eviction(json!({}))).await;
    assert_eq!(refused.code, 429);
    assert_eq!(refused.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_eq!(refused.retry_after_seconds(), None);
    let cause = &refused.details.as_ref().unwrap().causes[0];
    assert_eq!(cause.reason, Some("DisruptionBudget"));
    assert_eq!(cause.message, "The disruption budget b needs 2 healthy pods and has 2 currently");
    assert!(api.get(&format!("{PODS}/web")).await["metadata"]["deletionTimestamp"].is_null());
}

/// 1.8.8
#[tokio::test]
async fn a_budget_that_is_not_observed_or_not_sound_refuses() {
    for (status, code, retry) in [
        (json!({"observedGeneration": 0}), 429, Some(10)),
        (json!({"disruptionsAllowed": 0, "currentHealthy": 9}), 429, None),
    ] {
        let api = with_pod(ready("True")).await;
        add_budget(&api, "b", json!({}), status).await;
        let refused = refusal(&api, eviction(json!({}))).await;
        assert_eq!((refused.code, refused.retry_after_seconds()), (code, retry));
    }
}

/// 1.8.3
#[tokio::test]
async fn pods_that_serve_nobody_go_whatever_the_budget_says() {
    for phase in ["Pending", "Succeeded", "Failed"] {
        let api = with_pod(json!({"phase": phase})).await;
        add_budget(&api, "b", json!({}), json!({"disruptionsAllowed": 0})).await;
        assert_eq!(evict(&api, eviction(json!({}))).await.unwrap().code, 201, "{phase}");
        assert!(budget_status(&api).await.get("disruptedPods").is_none(), "{phase}: the budget is not charged");
    }
}

/// 1.8.4
#[tokio::test]
async fn two_budgets_are_a_failure_in_the_body_of_a_success() {
    let api = with_pod(ready("True")).await;
    for name in ["b", "c"] {
        add_budget(&api, name, json!({}), json!({})).await;
    }
    let answer = evict(&api, eviction(json!({}))).await.unwrap();
    let body = document(&answer);
    assert_eq!((answer.code, &body["code"], &body["status"]), (201, &json!(500), &json!("Failure")));
}

/// 1.8.5, 1.8.6
#[tokio::test]
async fn an_unready_pod_goes_without_a_charge() {
    let api = with_pod(ready("False")).await;
    let spec = json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"});
    add_budget(&api, "b", spec, json!({"disruptionsAllowed": 0, "currentHealthy": 0})).await;
    assert_eq!(evict(&api, eviction(json!({}))).await.unwrap().code, 201);
    assert!(!api.get(&format!("{PODS}/web")).await["metadata"]["deletionTimestamp"].is_null());
    assert!(budget_status(&api).await.get("disruptedPods").is_none());
}

/// 1.8.7
#[tokio::test]
async fn an_unready_pod_that_changed_since_it_was_judged_stays() {
    let api = with_pod(ready("False")).await;
    add_budget(&api, "b", json!({}), json!({})).await;
    let call = call(&api, "pods", "web");
    let judged = api.newest_pod(&call).await.unwrap();
    let recovered = json!({"status": ready("True")});
    api.send(Method::PATCH, &format!("{PODS}/web/status"), Some(recovered)).await.unwrap();
    let mut request = parse_delete(&Query::default(), b"", BodyFormat::Json).unwrap();
    let refused = api.evict_guarded(&call, &judged, &request).await.map(|_| ()).unwrap_err();
    assert_eq!((refused.code, refused.retry_after_seconds()), (429, Some(10)));
    request.options.preconditions.resource_version.clone_from(&judged.metadata.resource_version);
    let refused = api.evict_guarded(&call, &judged, &request).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, 409, "a version that the caller asked for is the caller's business");
    assert!(api.get(&format!("{PODS}/web")).await["metadata"]["deletionTimestamp"].is_null());
}

/// 1.8.1, 1.8.2, 1.8.12
#[tokio::test]
async fn a_request_that_contradicts_itself_is_refused() {
    let api = with_pod(ready("True")).await;
    let mut other = eviction(json!({}));
    other["metadata"]["name"] = "other".into();
    let refused = refusal(&api, other).await;
    assert_eq!((refused.code, refused.message.as_str()), (400, "name in URL does not match name in Eviction object"));
    let breaking = eviction(json!({"ignoreStoreReadErrorWithClusterBreakingPotential": true}));
    assert_eq!(refusal(&api, breaking).await.code, 422);
    let path = format!("{PODS}/web/eviction?dryRun=All");
    let both = eviction(json!({"dryRun": ["All", "All"]}));
    let refused = api.send(Method::POST, &path, Some(both)).await.map(|answer| document(&answer)).unwrap_err();
    let why = "Non-matching dry-run options in request and content: [All] and [All All]";
    assert_eq!((refused.code, refused.message.as_str()), (500, why));
    let mut pod = eviction(json!({}));
    pod["kind"] = "Pod".into();
    assert_eq!(refusal(&api, pod).await.code, 400);
}

/// 1.8.2, 1.8.9
#[tokio::test]
async fn a_dry_run_changes_nothing() {
    for (query, options) in [("?dryRun=All", json!({})), ("", json!({"dryRun": ["All"]}))] {
        let api = with_pod(ready("True")).await;
        add_budget(&api, "b", json!({}), json!({})).await;
        let before = (api.get(&format!("{PODS}/web")).await, budget_status(&api).await);
        let path = format!("{PODS}/web/eviction{query}");
        assert_eq!(api.send(Method::POST, &path, Some(eviction(options))).await.unwrap().code, 201);
        assert_eq!((api.get(&format!("{PODS}/web")).await, budget_status(&api).await), before);
    }
}

/// 1.8.10
#[tokio::test]
async fn preconditions_of_the_caller_are_checked_before_anything_is_written() {
    let api = with_pod(ready("True")).await;
    let before = api.get(&format!("{PODS}/web")).await;
    for preconditions in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
        let refused = refusal(&api, eviction(json!({"preconditions": preconditions}))).await;
        assert_eq!(refused.code, 409);
        assert!(
            refused.message.starts_with("Operation cannot be fulfilled on Pod \"web\": the "),
            "{}",
            refused.message
        );
    }
    assert_eq!(api.get(&format!("{PODS}/web")).await, before);
    let version = before["metadata"]["resourceVersion"].clone();
    let answer = evict(&api, eviction(json!({"preconditions": {"resourceVersion": version}}))).await.unwrap();
    assert_eq!(answer.code, 201, "the version of the mark takes the place of the one that was asked for");
}

#[tokio::test]
async fn the_older_version_of_the_body_is_taken_too() {
    let api = with_pod(ready("True")).await;
    let mut body = eviction(json!({}));
    body["apiVersion"] = "policy/v1beta1".into();
    assert_eq!(evict(&api, body).await.unwrap().code, 201);
}

#[tokio::test]
async fn a_pod_that_is_not_there_cannot_be_evicted() {
    let api = test_api().await;
    assert_eq!(refusal(&api, eviction(json!({}))).await.code, 404);
}

/// 1.14.2
#[tokio::test]
async fn nothing_is_evicted_in_a_namespace_that_ends() {
    let api = with_pod(ready("True")).await;
    let ending = "/api/v1/namespaces/ending";
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "ending"}})).await;
    api.create(&format!("{ending}/pods"), pod("web")).await;
    api.send(Method::DELETE, ending, None).await.unwrap();
    let path = format!("{ending}/pods/web/eviction");
    let refused = api.send(Method::POST, &path, Some(eviction(json!({})))).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.details.unwrap().causes[0].reason, Some("NamespaceTerminating"));
}

/// 1.8.8, 1.8.9
#[tokio::test]
async fn evictions_at_the_same_time_never_spend_more_than_there_is() {
    let api = with_pod(ready("True")).await;
    for name in ["two", "three"] {
        add_pod(&api, name, ready("True")).await;
    }
    add_budget(&api, "b", json!({}), json!({"disruptionsAllowed": 1})).await;
    let evict = |name: &'static str| {
        let body = json!({"metadata": {"name": name}});
        let api = &api;
        async move { api.send(Method::POST, &format!("{PODS}/{name}/eviction"), Some(body)).await }
    };
    let (one, two, three) = tokio::join!(evict("web"), evict("two"), evict("three"));
    let codes = [one, two, three].map(|answer| answer.map_or_else(|status| status.code, |answer| answer.code));
    assert_eq!(codes.iter().filter(|code| **code == 201).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 429).count(), 2, "{codes:?}");
    assert_eq!(budget_status(&api).await["disruptedPods"].as_object().unwrap().len(), 1);
}

/// 1.8.8, 1.8.9
#[tokio::test]
async fn a_charge_that_meets_another_one_is_made_again_on_what_is_left() {
    let api = test_api().await;
    add_budget(&api, "b", json!({}), json!({"disruptionsAllowed": 2})).await;
    let budget: PodDisruptionBudget = serde_json::from_value(api.get(&format!("{BUDGETS}/b")).await).unwrap();
    let calls = ["one", "two", "three"].map(|name| call(&api, "pods", name));
    // All three read the budget before any of them has stored anything.
    let spend = |i: usize| api.spend(&calls[i], &budget, DryRun::No);
    let (one, two, three) = tokio::join!(spend(0), spend(1), spend(2));
    let refused: Vec<u16> = [one, two, three].into_iter().filter_map(|spent| spent.err().map(|why| why.code)).collect();
    assert_eq!(refused, [429]);
    api.catch_up().await.unwrap();
    assert_eq!(budget_status(&api).await["disruptedPods"].as_object().unwrap().len(), 2);
}
