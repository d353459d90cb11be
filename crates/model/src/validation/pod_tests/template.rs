//! Pod templates inside workloads.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::{Value, json};

use super::{base, lines, merge};
use crate::field::Path;
use crate::gates::{FeatureGates, Gate};
use crate::validation::{Workload, validate_template};

const NOTHING: [&str; 0] = [];
const LONG_RUNNING: [Workload; 5] = [
    Workload::DaemonSet,
    Workload::Deployment,
    Workload::ReplicaSet,
    Workload::ReplicationController,
    Workload::StatefulSet,
];

fn template(change: &Value) -> PodTemplateSpec {
    let mut template = base();
    template["metadata"] = json!({});
    merge(&mut template, change);
    serde_json::from_value(template).unwrap()
}

fn in_workload(change: &Value, workload: Workload) -> Vec<String> {
    let path = Path::root();
    let path = path.child("spec.template");
    lines(&validate_template(&template(change), None, workload, path, FeatureGates::ALL_ON))
}

/// 2.5.2
#[test]
fn a_template_may_have_a_negative_grace_period() {
    let negative = json!({"spec": {"terminationGracePeriodSeconds": -1}});
    assert_eq!(in_workload(&negative, Workload::Deployment), NOTHING);
}

/// 2.5.1
#[test]
fn a_template_needs_a_grace_period() {
    let none = json!({"spec": {"terminationGracePeriodSeconds": null}});
    assert_eq!(
        in_workload(&none, Workload::Deployment),
        ["spec.template.spec.terminationGracePeriodSeconds: Required value"]
    );
}

#[test]
fn workloads_that_keep_running_always_restart() {
    for workload in LONG_RUNNING {
        assert_eq!(in_workload(&json!({}), workload), NOTHING);
        assert_eq!(
            in_workload(&json!({"spec": {"restartPolicy": "Never"}}), workload),
            ["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""]
        );
    }
}

#[test]
fn workloads_that_keep_running_have_no_deadline() {
    for workload in LONG_RUNNING {
        let lines = in_workload(&json!({"spec": {"activeDeadlineSeconds": 5}}), workload);
        assert!(lines[0].ends_with("is not Supported"), "{lines:?}");
    }
    assert_eq!(
        in_workload(&json!({"spec": {"activeDeadlineSeconds": 5}}), Workload::Deployment),
        ["spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"]
    );
}

#[test]
fn a_job_never_restarts_always() {
    let policy = |policy: &str| json!({"spec": {"restartPolicy": policy}});
    assert_eq!(in_workload(&policy("Never"), Workload::Job), NOTHING);
    assert_eq!(in_workload(&policy("OnFailure"), Workload::Job), NOTHING);
    assert_eq!(
        in_workload(&policy("Always"), Workload::Job),
        ["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""]
    );
}

#[test]
fn a_template_has_no_ephemeral_containers() {
    let ephemeral = json!([{
        "name": "e", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"
    }]);
    assert_eq!(
        in_workload(&json!({"spec": {"ephemeralContainers": ephemeral}}), Workload::PodTemplate),
        ["spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"]
    );
}

#[test]
fn labels_and_annotations_are_checked_at_the_template() {
    let lines = in_workload(&json!({"metadata": {"labels": {"a b": "c"}}}), Workload::Deployment);
    assert!(lines[0].starts_with("spec.template.labels: Invalid value: \"a b\""), "{lines:?}");
}

#[test]
fn a_template_on_the_host_network_leaves_host_ports_to_defaulting() {
    let mut change = json!({"spec": base()["spec"]});
    change["spec"]["hostNetwork"] = json!(true);
    change["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "protocol": "TCP"}]);
    assert_eq!(in_workload(&change, Workload::DaemonSet), NOTHING);
}

/// 2.4.3
#[test]
fn a_template_keeps_its_stop_signal_when_the_gate_goes_off() {
    let gates = FeatureGates::ALL_ON.without(Gate::ContainerStopSignals);
    let mut change = json!({"spec": base()["spec"]});
    change["spec"]["os"] = json!({"name": "linux"});
    change["spec"]["containers"][0]["lifecycle"] = json!({"stopSignal": "SIGUSR1"});
    let template = template(&change);
    let validate = |old| validate_template(&template, old, Workload::Deployment, Path::root(), gates);
    assert!(!validate(None).is_empty());
    assert_eq!(lines(&validate(Some(&template))), NOTHING);
}
