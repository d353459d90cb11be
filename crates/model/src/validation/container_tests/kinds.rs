//! Which kinds of container may have which fields.

use serde_json::{Value, json};

use super::{container, errors_in, merged};

const HOOK: &str = "may not be set for init containers without restartPolicy=Always";
const EPHEMERAL: &str = "cannot be set for an Ephemeral Container";

fn fields_of_running_containers() -> Value {
    let probe = json!({"exec": {"command": ["a"]}});
    json!({
        "lifecycle": {"preStop": {"exec": {"command": ["a"]}}},
        "livenessProbe": probe, "readinessProbe": probe, "startupProbe": probe,
    })
}

fn with_init_container(fields: Value) -> Value {
    let init = merged(json!({"name": "i", "image": "x"}), fields);
    json!({"containers": [container(json!({}))], "initContainers": [init]})
}

fn with_ephemeral_container(fields: Value) -> Value {
    let ephemeral = merged(json!({"name": "e", "image": "x"}), fields);
    json!({"containers": [container(json!({}))], "ephemeralContainers": [ephemeral]})
}

/// 2.1.1
#[test]
fn main_containers_may_have_hooks_and_probes() {
    assert!(errors_in(json!({"containers": [container(fields_of_running_containers())]})).is_empty());
}

/// 2.1.2
#[test]
fn sidecars_may_have_hooks_and_probes_under_the_same_rules() {
    let sidecar = merged(fields_of_running_containers(), json!({"restartPolicy": "Always"}));
    assert!(errors_in(with_init_container(sidecar)).is_empty());
    let wrong = json!({
        "restartPolicy": "Always",
        "lifecycle": {"preStop": {"sleep": {"seconds": 31}}},
        "readinessProbe": {"tcpSocket": {"port": 0}},
    });
    assert_eq!(
        errors_in(with_init_container(wrong)),
        [
            "spec.initContainers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
             terminationGracePeriodSeconds (30)",
            "spec.initContainers[0].readinessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, \
             inclusive",
        ]
    );
}

/// 2.1.3
#[test]
fn other_init_containers_may_have_neither_hooks_nor_probes() {
    for policy in [json!({}), json!({"restartPolicy": "Never"}), json!({"restartPolicy": "OnFailure"})] {
        let fields = merged(fields_of_running_containers(), policy);
        let expected = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]
            .map(|field| format!("spec.initContainers[0].{field}: Forbidden: {HOOK}"));
        assert_eq!(errors_in(with_init_container(fields)), expected);
    }
}

/// 2.1.3
#[test]
fn an_empty_lifecycle_of_an_init_container_counts_as_set() {
    let errors = errors_in(with_init_container(json!({"lifecycle": {}})));
    assert_eq!(errors, [format!("spec.initContainers[0].lifecycle: Forbidden: {HOOK}")]);
}

/// 2.1.4
#[test]
fn ephemeral_containers_may_have_nothing_that_makes_them_part_of_the_workload() {
    let fields = merged(
        fields_of_running_containers(),
        json!({
            "ports": [{"containerPort": 1}], "resources": {"limits": {"cpu": "1"}}, "restartPolicy": "Always",
            "restartPolicyRules": [], "resizePolicy": [],
        }),
    );
    let expected = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ]
    .map(|field| format!("spec.ephemeralContainers[0].{field}: Forbidden: {EPHEMERAL}"));
    assert_eq!(errors_in(with_ephemeral_container(fields)), expected);
}

/// 2.1.4
#[test]
fn empty_lists_of_an_ephemeral_container_count_as_set_but_empty_resources_do_not() {
    assert!(errors_in(with_ephemeral_container(json!({"resources": {}}))).is_empty());
    let errors = errors_in(with_ephemeral_container(json!({"ports": [], "resources": {"limits": {}}})));
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn ephemeral_containers_have_no_sub_paths_and_an_existing_target() {
    let mut pod = with_ephemeral_container(json!({
        "targetContainerName": "nobody",
        "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a"}],
    }));
    pod["volumes"] = json!([{"name": "v"}]);
    assert_eq!(
        errors_in(pod),
        [
            "spec.ephemeralContainers[0].targetContainerName: Not found: \"nobody\"".to_owned(),
            format!("spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: {EPHEMERAL}"),
        ]
    );
}

#[test]
fn names_are_unique_across_kinds() {
    let pod = json!({
        "containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "x"}],
        "initContainers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}],
        "ephemeralContainers": [{"name": "b", "image": "x"}, {"name": "c", "image": "x"}, {"name": "c", "image": "x"}],
    });
    assert_eq!(
        errors_in(pod),
        [
            "spec.containers[1].name: Duplicate value: \"a\"",
            "spec.initContainers[0].name: Duplicate value: \"a\"",
            "spec.ephemeralContainers[0].name: Duplicate value: \"b\"",
            "spec.ephemeralContainers[2].name: Duplicate value: \"c\"",
        ]
    );
}

#[test]
fn a_pod_needs_a_container() {
    assert_eq!(errors_in(json!({"containers": []})), ["spec.containers: Required value"]);
}
