//! Grace period, deadline, restart policy, host process, operating system, and what belongs to no other part.

use serde_json::json;

use super::{accepts, created, refuses};

/// 2.5.1
#[test]
fn a_grace_period_is_required() {
    refuses(&[(
        json!({"spec": {"terminationGracePeriodSeconds": null}}),
        "spec.terminationGracePeriodSeconds: Required value",
    )]);
}

/// 2.5.2
#[test]
fn the_grace_period_of_a_pod_is_not_negative() {
    accepts(&[json!({"spec": {"terminationGracePeriodSeconds": 0}})]);
    refuses(&[(
        json!({"spec": {"terminationGracePeriodSeconds": -1}}),
        "spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0",
    )]);
}

/// 2.5.3
#[test]
fn the_grace_period_has_no_upper_bound() {
    accepts(&[json!({"spec": {"terminationGracePeriodSeconds": i64::MAX}})]);
}

/// 2.5.5
#[test]
fn the_active_deadline_is_a_positive_32_bit_integer() {
    accepts(&[json!({"spec": {"activeDeadlineSeconds": 1}}), json!({"spec": {"activeDeadlineSeconds": i32::MAX}})]);
    for bad in [0, -1, 2_147_483_648_i64] {
        let line =
            format!("spec.activeDeadlineSeconds: Invalid value: {bad}: must be between 1 and 2147483647, inclusive");
        assert_eq!(created(&json!({"spec": {"activeDeadlineSeconds": bad}})), [line]);
    }
}

#[test]
fn the_restart_policy_is_one_of_three() {
    accepts(&[json!({"spec": {"restartPolicy": "Never"}}), json!({"spec": {"restartPolicy": "OnFailure"}})]);
    refuses(&[
        (json!({"spec": {"restartPolicy": ""}}), "spec.restartPolicy: Required value"),
        (
            json!({"spec": {"restartPolicy": "Sometimes"}}),
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ),
    ]);
}

#[test]
fn a_new_pod_has_no_ephemeral_containers() {
    let ephemeral = json!([{
        "name": "e", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"
    }]);
    refuses(&[(
        json!({"spec": {"ephemeralContainers": ephemeral}}),
        "spec.ephemeralContainers: Forbidden: cannot be set on create",
    )]);
}

#[test]
fn a_gated_pod_has_no_node() {
    refuses(&[(
        json!({"spec": {"nodeName": "n", "schedulingGates": [{"name": "g"}]}}),
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
    )]);
}

#[test]
fn the_service_account_and_its_alias_agree() {
    accepts(&[json!({"spec": {"serviceAccountName": "a", "serviceAccount": "a"}})]);
    refuses(&[(
        json!({"spec": {"serviceAccountName": "a", "serviceAccount": "b"}}),
        "spec.deprecatedServiceAccount: Invalid value: \"b\": must be the same as serviceAccountName: \"a\"",
    )]);
}

#[test]
fn a_projected_token_needs_a_service_account() {
    let token = json!({"expirationSeconds": 3600, "path": "t"});
    let volumes = json!([{"name": "v", "projected": {"sources": [{"serviceAccountToken": token}]}}]);
    accepts(&[json!({"spec": {"volumes": volumes, "serviceAccountName": "a", "serviceAccount": "a"}})]);
    refuses(&[(
        json!({"spec": {"volumes": volumes}}),
        "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when \
         serviceAccountName is not set",
    )]);
}

#[test]
fn the_operating_system_is_linux_or_windows() {
    accepts(&[json!({"spec": {"os": {"name": "linux"}}}), json!({"spec": {"os": {"name": "windows"}}})]);
    refuses(&[
        (json!({"spec": {"os": {"name": ""}}}), "spec.os.name: Required value"),
        (
            json!({"spec": {"os": {"name": "plan9"}}}),
            "spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\"",
        ),
    ]);
}

#[test]
fn a_linux_pod_has_no_windows_options() {
    refuses(&[(
        json!({"spec": {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}}}),
        "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
    )]);
}

#[test]
fn a_windows_pod_has_no_unix_fields() {
    let lines = created(&json!({"spec": {
        "os": {"name": "windows"},
        "hostPID": true,
        "hostIPC": true,
        "hostUsers": true,
        "shareProcessNamespace": false,
        "securityContext": {
            "appArmorProfile": {"type": "Unconfined"},
            "seLinuxOptions": {},
            "seccompProfile": {"type": "Unconfined"},
            "fsGroup": 1,
            "fsGroupChangePolicy": "Always",
            "sysctls": [{"name": "a", "value": "b"}],
            "runAsUser": 1,
            "runAsGroup": 1,
            "supplementalGroups": [1],
            "supplementalGroupsPolicy": "Merge",
            "seLinuxChangePolicy": "Recursive"
        }
    }}));
    assert_eq!(lines.len(), 15, "{lines:#?}");
    assert!(lines.iter().all(|line| line.ends_with("Forbidden: cannot be set for a windows pod")), "{lines:#?}");
}

#[test]
fn all_containers_or_none_are_host_processes() {
    let pod = |host_process: bool, host_network: bool| {
        json!({"spec": {
            "hostNetwork": host_network,
            "securityContext": {"windowsOptions": {"hostProcess": host_process}}
        }})
    };
    accepts(&[pod(true, true), pod(false, false)]);
    refuses(&[(
        pod(true, false),
        "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
    )]);
}

#[test]
fn a_variable_from_a_file_needs_an_empty_dir() {
    let pod = |volume: serde_json::Value| {
        let mut pod = super::base();
        let file = json!({"volumeName": "v", "path": "p", "key": "k"});
        pod["spec"]["containers"][0]["env"] = json!([{"name": "A", "valueFrom": {"fileKeyRef": file}}]);
        pod["spec"]["volumes"] = json!([volume]);
        pod
    };
    accepts(&[pod(json!({"name": "v", "emptyDir": {}}))]);
    let path = "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName";
    assert_eq!(
        created(&pod(json!({"name": "v", "hostPath": {"path": "/"}}))),
        [format!("{path}: Invalid value: \"v\": referenced volume must be of type emptyDir")]
    );
    assert_eq!(created(&pod(json!({"name": "w", "emptyDir": {}}))), [format!("{path}: Not found: \"v\"")]);
}
