//! How long a hook may sleep, by grace period, gate and what the old object did.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::json;

use super::{Options, container, errors_with, spec};
use crate::gates::{FeatureGates, Gate};

const OFF: FeatureGates = FeatureGates::ALL_ON.without(Gate::PodLifecycleSleepActionAllowZero);

/// A spec as a template may hold it: its grace period is not touched by the defaults of pods.
fn sleeping(seconds: i64, grace: Option<i64>) -> PodSpec {
    let mut spec = spec(json!({
        "containers": [container(json!({"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}))],
    }));
    spec.termination_grace_period_seconds = grace;
    spec
}

fn is_valid(seconds: i64, grace: Option<i64>) -> bool {
    errors_with(&sleeping(seconds, grace), &Options::new(FeatureGates::ALL_ON, None)).is_empty()
}

/// 2.3.1
#[test]
fn a_hook_sleeps_no_longer_than_the_grace_period() {
    assert!(is_valid(0, Some(30)) && is_valid(30, Some(30)) && is_valid(i64::MAX, Some(i64::MAX)));
    assert!(!is_valid(31, Some(30)) && !is_valid(-1, Some(30)) && !is_valid(i64::MIN, Some(30)));
    assert_eq!(
        errors_with(&sleeping(31, Some(30)), &Options::new(FeatureGates::ALL_ON, None)),
        ["spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
          terminationGracePeriodSeconds (30)"]
    );
}

/// 2.3.2
#[test]
fn without_a_grace_period_a_sleep_is_not_checked() {
    assert!(is_valid(99, None) && is_valid(-1, None));
    assert!(errors_with(&sleeping(0, None), &Options::new(OFF, None)).is_empty());
}

/// 2.3.3
#[test]
fn without_any_grace_only_a_sleep_of_zero_is_valid() {
    assert!(is_valid(0, Some(0)) && !is_valid(1, Some(0)));
    assert!(!is_valid(0, Some(-1)));
}

/// 2.3.4, with the words of the document that proposed the gate.
#[test]
fn with_the_gate_off_a_sleep_of_zero_is_refused_and_the_gate_is_named() {
    let options = Options::new(OFF, None);
    assert!(errors_with(&sleeping(1, Some(1)), &options).is_empty());
    assert_eq!(
        errors_with(&sleeping(0, Some(30)), &options),
        ["spec.containers[0].lifecycle.preStop.sleep: Invalid value: 0: must be greater than 0 and less than \
          terminationGracePeriodSeconds (30). Please enable PodLifecycleSleepActionAllowZero feature gate if you need \
          a sleep of zero duration."]
    );
}

/// 2.3.5
#[test]
fn with_the_gate_off_one_old_sleep_of_zero_allows_it_everywhere() {
    let new = sleeping(0, Some(30));
    let zero = json!({"sleep": {"seconds": 0}});
    let main = json!({"containers": [container(json!({"lifecycle": {"postStart": zero}}))]});
    let init = json!({
        "containers": [container(json!({}))],
        "initContainers": [{"name": "i", "image": "x", "lifecycle": {"preStop": zero}}],
    });
    let ephemeral = json!({
        "containers": [container(json!({}))],
        "ephemeralContainers": [{"name": "e", "image": "x", "lifecycle": {"preStop": zero}}],
    });
    for old in [main, init, ephemeral] {
        let options = Options::new(OFF, Some(&spec(old.clone())));
        assert_eq!(errors_with(&new, &options), Vec::<String>::new(), "{old}");
    }
    let without = Options::new(OFF, Some(&sleeping(1, Some(30))));
    assert_eq!(errors_with(&new, &without).len(), 1);
}

/// 2.5.6
#[test]
fn a_sleep_is_measured_by_the_grace_period_of_the_pod_and_not_of_a_probe() {
    let pod = spec(json!({
        "terminationGracePeriodSeconds": 10,
        "containers": [container(json!({
            "lifecycle": {"preStop": {"sleep": {"seconds": 11}}},
            "livenessProbe": {"exec": {"command": ["a"]}, "terminationGracePeriodSeconds": 60},
        }))],
    }));
    assert_eq!(errors_with(&pod, &Options::new(FeatureGates::ALL_ON, None)).len(), 1);
}
