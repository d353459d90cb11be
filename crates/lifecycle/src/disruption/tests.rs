//! What budgets say to an eviction, rule by rule.

use model::patch::{PatchKind, apply};
use serde_json::{Value, json};

use super::*;

const NOW: Moment = Moment::from_millis(60_000);

fn pod(status: Value) -> Pod {
    let pod =
        with(json!({"metadata": {"name": "web", "namespace": "default", "labels": {"app": "a"}}}), "status", status);
    serde_json::from_value(pod).unwrap()
}

fn ready(status: &str) -> Value {
    json!({"phase": "Running", "conditions": [{"type": "Ready", "status": status}]})
}

fn budget(spec: Value, status: Value) -> PodDisruptionBudget {
    let budget = json!({
        "metadata": {"name": "b", "namespace": "default", "generation": 2},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {
            "observedGeneration": 2, "currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1,
            "expectedPods": 3,
        },
    });
    serde_json::from_value(with(with(budget, "spec", spec), "status", status)).unwrap()
}

/// Puts fields over those of one part of an object.
fn with(object: Value, part: &str, fields: Value) -> Value {
    let mut patch = serde_json::Map::new();
    patch.insert(part.to_owned(), fields);
    apply(PatchKind::Merge, object, Value::Object(patch)).unwrap()
}

/// 1.8.3
#[test]
fn only_pods_that_have_begun_and_not_ended_are_guarded_by_budgets() {
    for (phase, expected) in [
        ("Pending", Guard::NothingYet),
        ("Running", Guard::Budgets),
        ("Unknown", Guard::Budgets),
        ("Succeeded", Guard::Nothing),
        ("Failed", Guard::Nothing),
    ] {
        let mut pod = pod(json!({"phase": phase}));
        assert_eq!(guard(&pod), expected, "{phase}");
        pod.metadata.deletion_timestamp = Some(NOW.whole_second());
        assert_eq!(guard(&pod), Guard::Nothing, "{phase}, terminating");
    }
}

/// 1.8.4
#[test]
fn a_budget_guards_the_pods_of_its_namespace_that_it_selects() {
    let spends = |selector: Value| {
        let mut budgets = [budget(json!({}), json!({}))];
        budgets[0].spec.as_mut().unwrap().selector = serde_json::from_value(selector).unwrap();
        matches!(decide(&pod(ready("True")), &budgets), Decision::Spend { .. })
    };
    assert!(spends(json!({"matchLabels": {"app": "a"}})));
    assert!(spends(json!({})), "an empty selector selects everything");
    assert!(!spends(json!(null)), "no selector selects nothing");
    assert!(!spends(json!({"matchLabels": {"app": "b"}})));
    let unreadable = json!({"matchExpressions": [{"key": "app", "operator": "Likes", "values": ["a"]}]});
    assert!(!spends(unreadable));
    let mut elsewhere = budget(json!({}), json!({}));
    elsewhere.metadata.namespace = Some("other".to_owned());
    assert_eq!(decide(&pod(ready("True")), &[elsewhere]), Decision::Evict);
    assert_eq!(decide(&pod(ready("True")), &[]), Decision::Evict);
}

/// 1.8.4
#[test]
fn two_budgets_over_one_pod_are_not_supported() {
    let budgets = [budget(json!({}), json!({})), budget(json!({}), json!({}))];
    assert_eq!(decide(&pod(ready("False")), &budgets), Decision::TooManyBudgets);
}

/// 1.8.5, 1.8.6
#[test]
fn an_unready_pod_costs_nothing_where_the_budget_is_healthy_without_it_or_always_allows_it() {
    let unhealthy = json!({"currentHealthy": 1});
    let rows = [
        (json!({}), json!({}), true),
        (json!({"unhealthyPodEvictionPolicy": "IfHealthyBudget"}), json!({"currentHealthy": 2}), true),
        (json!({"unhealthyPodEvictionPolicy": "IfHealthyBudget"}), unhealthy.clone(), false),
        (json!({}), json!({"currentHealthy": 0, "desiredHealthy": 0}), false),
        (json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"}), unhealthy, true),
    ];
    for (spec, status, free) in rows {
        let budgets = [budget(spec.clone(), status.clone())];
        let unready = decide(&pod(ready("False")), &budgets) == Decision::EvictUnhealthy { budget: "b" };
        assert_eq!(unready, free, "{spec} {status}");
        let healthy = decide(&pod(ready("True")), &budgets);
        assert_eq!(healthy, Decision::Spend { budget: &budgets[0] }, "a ready pod is always guarded");
    }
}

/// 1.8.8
#[test]
fn a_budget_that_cannot_be_spent_says_why() {
    let condition = |reason: &str, message: &str| {
        json!([{"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message,
                "lastTransitionTime": "1970-01-01T00:00:00Z"}])
    };
    let crowd: serde_json::Map<String, Value> =
        (0..=2000).map(|i| (format!("p{i}"), json!("1970-01-01T00:00:00Z"))).collect();
    let rows = [
        (json!({"observedGeneration": 1}), "The disruption budget b is still being processed by the server."),
        (
            json!({"disruptionsAllowed": -1}),
            "The disruption budget b does not allow evicting pods currently: pdb disruptions allowed is negative",
        ),
        (
            json!({"disruptedPods": crowd}),
            "The disruption budget b does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller",
        ),
        (
            json!({"disruptionsAllowed": 0, "currentHealthy": 2, "conditions": condition("SyncFailed", "no scale")}),
            "The disruption budget b does not allow evicting pods currently because it failed sync: no scale",
        ),
        (
            json!({"disruptionsAllowed": 0, "currentHealthy": 2, "conditions": condition("Other", "x")}),
            "The disruption budget b needs 2 healthy pods and has 2 currently",
        ),
        (
            json!({"disruptionsAllowed": 0, "conditions": condition("Other", "x")}),
            "The disruption budget b does not allow evicting pods currently (Other): x",
        ),
        (
            json!({"disruptionsAllowed": 0, "conditions": condition("InsufficientPods", "")}),
            "The disruption budget b does not allow evicting pods currently",
        ),
    ];
    for (status, expected) in rows {
        let refusal = spend(&budget(json!({}), status), "web", NOW).unwrap_err();
        assert_eq!(refusal.cause(), expected);
    }
}

/// 1.8.9
#[test]
fn spending_is_recorded_and_the_last_disruption_closes_the_budget() {
    let plenty = spend(&budget(json!({}), json!({"disruptionsAllowed": 2})), "web", NOW).unwrap();
    assert_eq!(plenty.disruptions_allowed, Some(1));
    assert_eq!(plenty.disrupted_pods.unwrap()["web"], NOW.whole_second());
    assert_eq!(plenty.conditions, None);

    let allowed = json!([{"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "",
                          "lastTransitionTime": "1970-01-01T00:00:00Z"}]);
    let last = spend(&budget(json!({}), json!({"conditions": allowed})), "web", NOW).unwrap();
    let condition = &last.conditions.unwrap()[0];
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "InsufficientPods"));
    assert_eq!((condition.observed_generation, &condition.last_transition_time), (Some(2), &NOW.whole_second()));
}

/// 1.8.10
#[test]
fn an_evicted_pod_is_marked_once_and_keeps_the_time_of_its_first_mark() {
    let mut status = PodStatus::default();
    mark_evicted(&mut status, NOW);
    mark_evicted(&mut status, Moment::from_millis(90_000));
    let conditions = status.conditions.unwrap();
    let [condition] = conditions.as_slice() else { panic!("{conditions:?}") };
    assert_eq!(condition.reason.as_deref(), Some("EvictionByEvictionAPI"));
    assert_eq!(condition.last_transition_time, Some(NOW.whole_second()));
}
