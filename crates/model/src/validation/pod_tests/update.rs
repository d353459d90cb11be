//! What may change on a pod.

use serde_json::{Value, json};

use super::{base, lines, merge, pod, updated};
use crate::gates::{FeatureGates, Gate};
use crate::prepare::prepare_for_update;
use crate::validation::{validate_ephemeral_containers_update, validate_pod, validate_pod_update};

const IMMUTABLE: &str = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
     `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
     tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const NOTHING: [&str; 0] = [];

fn container(change: &Value) -> Value {
    let mut container = base()["spec"]["containers"][0].clone();
    merge(&mut container, change);
    json!({"spec": {"containers": [container]}})
}

/// 1.12.1
#[test]
fn images_may_change() {
    assert_eq!(updated(&json!({}), &container(&json!({"image": "j"}))), NOTHING);
    let path = "spec.containers[0].image";
    assert_eq!(
        updated(&json!({}), &container(&json!({"image": ""}))),
        [format!("{path}: Required value"), format!("{path}: Required value")]
    );
    let padded = format!("{path}: Invalid value: \" j\": must not have leading or trailing whitespace");
    assert_eq!(updated(&json!({}), &container(&json!({"image": " j"}))), [padded.clone(), padded]);
}

/// 1.12.1
#[test]
fn containers_are_neither_added_nor_removed() {
    let both = json!({"spec": {"containers": [
        base()["spec"]["containers"][0],
        {"name": "d", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
    ]}});
    let one = json!({"spec": {"containers": [base()["spec"]["containers"][0]]}});
    let error = "spec.containers: Forbidden: pod updates may not add or remove containers";
    assert_eq!(updated(&json!({}), &both), [error]);
    assert_eq!(updated(&both, &one), [error]);
}

/// 1.12.1
#[test]
fn the_active_deadline_comes_closer_and_never_goes_away() {
    let deadline = |seconds: Value| json!({"spec": {"activeDeadlineSeconds": seconds}});
    assert_eq!(updated(&json!({}), &deadline(json!(5))), NOTHING);
    assert_eq!(updated(&deadline(json!(5)), &deadline(json!(4))), NOTHING);
    let path = "spec.activeDeadlineSeconds: Invalid value";
    assert_eq!(
        updated(&deadline(json!(5)), &deadline(json!(6))),
        [format!("{path}: 6: must be less than or equal to previous value")]
    );
    assert_eq!(
        updated(&deadline(json!(5)), &deadline(json!(null))),
        [format!("{path}: null: must not update from a positive integer to nil value")]
    );
    assert_eq!(
        updated(&deadline(json!(5)), &deadline(json!(-1))),
        [
            format!("{path}: -1: must be between 1 and 2147483647, inclusive"),
            format!("{path}: -1: must be between 0 and 2147483647, inclusive")
        ]
    );
}

/// 1.12.1
#[test]
fn tolerations_are_added_and_change_only_their_seconds() {
    let list = |tolerations: Value| json!({"spec": {"tolerations": tolerations}});
    let first = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
    let longer = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 50});
    let second = json!({"key": "b", "operator": "Exists"});
    assert_eq!(updated(&list(json!([first])), &list(json!([second, longer]))), NOTHING);
    assert_eq!(
        updated(&list(json!([first])), &list(json!([second]))),
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]
    );
}

/// 1.12.1
#[test]
fn scheduling_gates_are_only_removed() {
    let gates = |names: &[&str]| {
        let gates: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"spec": {"schedulingGates": gates}})
    };
    assert_eq!(updated(&gates(&["a", "b"]), &gates(&["b"])), NOTHING);
    assert_eq!(updated(&gates(&["a"]), &gates(&[])), NOTHING);
    assert_eq!(
        updated(&gates(&["a"]), &gates(&["a", "c"])),
        ["spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"]
    );
}

/// 1.12.1
#[test]
fn a_negative_grace_period_may_become_exactly_one() {
    let grace = |seconds: i64| json!({"spec": {"terminationGracePeriodSeconds": seconds}});
    assert_eq!(updated(&grace(-5), &grace(1)), NOTHING);
    assert_eq!(updated(&grace(-5), &grace(2)), [IMMUTABLE]);
    assert_eq!(updated(&grace(30), &grace(1)), [IMMUTABLE]);
}

/// 1.12.1
#[test]
fn a_gated_pod_may_be_narrowed_to_fewer_nodes() {
    let pod = |selector: Value, expressions: Value| {
        let terms = json!({"nodeSelectorTerms": [{"matchExpressions": expressions}]});
        json!({"spec": {
            "schedulingGates": [{"name": "g"}],
            "nodeSelector": selector,
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        }})
    };
    let a = json!({"key": "a", "operator": "Exists"});
    let b = json!({"key": "b", "operator": "Exists"});
    let old = pod(json!({"x": "1"}), json!([a]));
    assert_eq!(updated(&old, &pod(json!({"x": "1", "y": "2"}), json!([a, b]))), NOTHING);
    assert_eq!(
        updated(&old, &pod(json!({"x": "2"}), json!([a]))),
        ["spec.nodeSelector: Invalid value: {\"x\":\"2\"}: only additions to spec.nodeSelector are allowed (no \
          mutations or deletions)"]
    );
    assert_eq!(
        updated(&old, &pod(json!({"x": "1"}), json!([b]))),
        ["spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid \
          value: {\"MatchExpressions\":[{\"Key\":\"b\",\"Operator\":\"Exists\",\"Values\":null}],\"MatchFields\":null}: \
          only additions are allowed (no mutations or deletions)"]
    );
    let mut ungated = old.clone();
    ungated["spec"]["schedulingGates"] = json!([]);
    assert_eq!(updated(&ungated, &json!({"spec": {"nodeSelector": {"y": "2"}}})), [IMMUTABLE]);
}

/// 1.12.2
#[test]
fn what_decides_how_a_pod_ends_is_immutable() {
    let stopping = |signal: &str| {
        let mut change = container(&json!({"lifecycle": {"stopSignal": signal}}));
        change["spec"]["os"] = json!({"name": "linux"});
        change
    };
    let probe = json!({
        "tcpSocket": {"port": 1}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3
    });
    let rows = [
        (stopping("SIGTERM"), stopping("SIGUSR1")),
        (json!({}), container(&json!({"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}))),
        (json!({}), container(&json!({"livenessProbe": probe}))),
        (json!({}), json!({"spec": {"restartPolicy": "Never"}})),
        (json!({}), json!({"spec": {"os": {"name": "linux"}}})),
        (json!({}), json!({"spec": {"terminationGracePeriodSeconds": 31}})),
        (json!({}), json!({"spec": {"nodeName": "n"}})),
    ];
    for (old, new) in rows {
        assert_eq!(updated(&old, &new), [IMMUTABLE], "{new}");
    }
}

/// 2.4.2
#[test]
fn a_pod_keeps_its_stop_signal_when_the_gate_goes_off() {
    let gates = FeatureGates::ALL_ON.without(Gate::ContainerStopSignals);
    let mut change = container(&json!({"lifecycle": {"stopSignal": "SIGUSR1"}}));
    change["spec"]["os"] = json!({"name": "linux"});
    let stored = pod(&change);
    assert!(!validate_pod(&stored, gates).is_empty());
    change["metadata"] = json!({"labels": {"a": "b"}});
    assert_eq!(lines(&validate_pod_update(&pod(&change), &stored, gates)), NOTHING);
}

/// 1.12.3
#[test]
fn images_may_change_while_the_pod_terminates() {
    let terminating =
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}});
    assert_eq!(updated(&terminating, &container(&json!({"image": "j"}))), NOTHING);
}

fn ephemeral(containers: &[(&str, &str)]) -> Value {
    let list: Vec<Value> = containers
        .iter()
        .map(|(name, image)| {
            json!({"name": name, "image": image, "imagePullPolicy": "Always", "terminationMessagePolicy": "File"})
        })
        .collect();
    json!({"spec": {"ephemeralContainers": list}})
}

fn debugged(old: &Value, new: &Value) -> Vec<String> {
    lines(&validate_ephemeral_containers_update(&pod(new), &pod(old), FeatureGates::ALL_ON))
}

/// 1.12.4
#[test]
fn ephemeral_containers_are_added_but_neither_changed_nor_removed() {
    let old = ephemeral(&[("a", "i")]);
    assert_eq!(debugged(&old, &ephemeral(&[("b", "i"), ("a", "i")])), NOTHING);
    assert_eq!(
        debugged(&old, &ephemeral(&[("b", "i")])),
        ["spec.ephemeralContainers: Forbidden: existing ephemeral containers \"a\" may not be removed\n"]
    );
    assert_eq!(
        debugged(&old, &ephemeral(&[("a", "j")])),
        ["spec.ephemeralContainers: Forbidden: existing ephemeral containers \"a\" may not be changed\n"]
    );
    assert_eq!(updated(&json!({}), &old), [IMMUTABLE]);
}

/// 1.12.4
#[test]
fn ephemeral_containers_are_added_while_the_pod_terminates() {
    let meta = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30});
    let mut new = ephemeral(&[("a", "i")]);
    new["metadata"] = meta.clone();
    assert_eq!(debugged(&json!({"metadata": meta}), &new), NOTHING);
}

/// 1.7.4
#[test]
fn mirror_pods_get_no_ephemeral_containers() {
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "h"}}, "spec": {"nodeName": "n"}});
    let mut new = mirror.clone();
    merge(&mut new, &ephemeral(&[("a", "i")]));
    assert_eq!(debugged(&mirror, &new), ["[]: Forbidden: static pods do not support ephemeral containers"]);
}

/// 1.12.5
#[test]
fn a_change_of_the_spec_begins_a_generation_and_nothing_else_does() {
    let generation = |change: &Value| {
        let old = pod(&json!({"metadata": {"generation": 3}}));
        let mut new = pod(change);
        prepare_for_update(&mut new, &old);
        new.metadata.generation
    };
    assert_eq!(generation(&container(&json!({"image": "j"}))), Some(4));
    assert_eq!(generation(&json!({"metadata": {"generation": 9, "labels": {"a": "b"}}})), Some(3));
    assert_eq!(generation(&json!({"status": {"phase": "Running"}})), Some(3));
}

#[test]
fn mistakes_that_are_stored_may_be_kept() {
    let sysctl = json!({"spec": {
        "hostNetwork": true, "securityContext": {"sysctls": [{"name": "net.a", "value": "1"}]}
    }});
    let cost = json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "x"}}});
    for old in [sysctl, cost] {
        assert_eq!(updated(&old, &json!({"metadata": {"labels": {"a": "b"}}})), NOTHING, "{old}");
    }
}
