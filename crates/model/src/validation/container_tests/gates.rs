//! What a gate that is off refuses, and what an older object keeps.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Value, json};

use super::{Options, container, errors_with, merged, spec};
use crate::gates::{FeatureGates, Gate};

const OFF: FeatureGates = FeatureGates::ALL_ON.without(Gate::ContainerStopSignals);

const REFUSED: &str = "spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set when feature gate \
                       ContainerStopSignals is disabled";

fn pod(fields: Value) -> PodSpec {
    spec(json!({"os": {"name": "linux"}, "containers": [container(fields)]}))
}

fn signalling() -> PodSpec {
    pod(json!({"lifecycle": {"stopSignal": "SIGINT"}}))
}

/// 2.4.1, but refused where upstream drops it in silence.
#[test]
fn with_the_gate_off_a_new_stop_signal_is_refused_and_the_gate_is_named() {
    assert_eq!(errors_with(&signalling(), &Options::new(OFF, None)), [REFUSED]);
    assert_eq!(errors_with(&signalling(), &Options::new(OFF, Some(&pod(json!({}))))), [REFUSED]);
    assert!(errors_with(&pod(json!({})), &Options::new(OFF, None)).is_empty());
}

/// 2.4.2
#[test]
fn with_the_gate_off_one_old_stop_signal_allows_them_everywhere() {
    let signal = json!({"name": "o", "image": "x", "lifecycle": {"stopSignal": "SIGHUP"}});
    let base = json!({"os": {"name": "linux"}, "containers": [container(json!({}))]});
    for old in
        [json!({"containers": [signal]}), json!({"initContainers": [signal]}), json!({"ephemeralContainers": [signal]})]
    {
        let options = Options::new(OFF, Some(&spec(merged(base.clone(), old.clone()))));
        assert_eq!(errors_with(&signalling(), &options), Vec::<String>::new(), "{old}");
        let wrong = pod(json!({"lifecycle": {"stopSignal": "SIGFOO"}}));
        assert_eq!(errors_with(&wrong, &options).len(), 1, "the name is still checked");
    }
}

/// 2.4.2
#[test]
fn turned_on_again_a_gate_allows_what_it_allowed_before() {
    assert!(errors_with(&signalling(), &Options::new(FeatureGates::ALL_ON, Some(&signalling()))).is_empty());
    assert!(errors_with(&signalling(), &Options::new(FeatureGates::ALL_ON, None)).is_empty());
}

#[test]
fn an_update_keeps_huge_pages_that_are_no_multiple() {
    let odd = pod(json!({"resources": {"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}}}));
    assert_eq!(errors_with(&odd, &Options::new(OFF, None)).len(), 2);
    assert!(errors_with(&odd, &Options::new(OFF, Some(&odd))).is_empty());
}

#[test]
fn an_update_keeps_sys_admin_without_escalation() {
    let admin = |escalation: Value| {
        pod(json!({"securityContext": {
            "allowPrivilegeEscalation": escalation, "capabilities": {"add": ["CAP_SYS_ADMIN"]},
        }}))
    };
    let new = admin(json!(false));
    assert_eq!(errors_with(&new, &Options::new(OFF, None)).len(), 1);
    assert!(errors_with(&new, &Options::new(OFF, Some(&new))).is_empty());
    assert!(errors_with(&new, &Options::new(OFF, Some(&admin(Value::Null)))).is_empty());
    assert_eq!(errors_with(&new, &Options::new(OFF, Some(&admin(json!(true))))).len(), 1);
}

#[test]
fn an_update_keeps_init_containers_that_restart_to_resize() {
    let mut new = pod(json!({}));
    new.init_containers = spec(json!({
        "containers": [],
        "initContainers": [{
            "name": "i", "image": "x", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
        }],
    }))
    .init_containers;
    assert_eq!(
        errors_with(&new, &Options::new(OFF, None)),
        ["spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set \
          to 'RestartContainer' for non-sidecar initContainers"]
    );
    assert!(errors_with(&new, &Options::new(OFF, Some(&new))).is_empty());
}
