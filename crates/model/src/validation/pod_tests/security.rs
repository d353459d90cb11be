//! The pod's security context and host namespaces.

use serde_json::{Value, json};

use super::{accepts, created, refuses};

fn context(context: Value) -> Value {
    let mut pod = json!({"spec": {}});
    pod["spec"]["securityContext"] = context;
    pod
}

#[test]
fn ids_are_not_negative_32_bit_integers() {
    accepts(&[context(json!({"runAsUser": 0, "runAsGroup": 0, "fsGroup": i32::MAX, "supplementalGroups": [0]}))]);
    let range = "must be between 0 and 2147483647, inclusive";
    for field in ["runAsUser", "runAsGroup", "fsGroup"] {
        let line = format!("spec.securityContext.{field}: Invalid value: -1: {range}");
        assert_eq!(created(&context(json!({field: -1}))), [line]);
    }
    assert_eq!(
        created(&context(json!({"supplementalGroups": [0, 2_147_483_648_i64]}))),
        [format!("spec.securityContext.supplementalGroups[1]: Invalid value: 2147483648: {range}")]
    );
}

#[test]
fn policies_are_one_of_two() {
    refuses(&[
        (
            context(json!({"fsGroupChangePolicy": "x"})),
            "spec.securityContext.fsGroupChangePolicy: Unsupported value: \"x\": supported values: \"Always\", \
             \"OnRootMismatch\"",
        ),
        (
            context(json!({"supplementalGroupsPolicy": "x"})),
            "spec.securityContext.supplementalGroupsPolicy: Unsupported value: \"x\": supported values: \"Merge\", \
             \"Strict\"",
        ),
        (
            context(json!({"seLinuxChangePolicy": "x"})),
            "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"x\": supported values: \"MountOption\", \
             \"Recursive\"",
        ),
    ]);
}

#[test]
fn sysctls_are_well_named_and_unique() {
    let sysctls = |names: &[&str]| {
        let list: Vec<Value> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
        context(json!({"sysctls": list}))
    };
    accepts(&[sysctls(&["kernel.shm_rmid_forced", "net/ipv4/conf/eno2.100/rp_filter", "a-b"])]);
    refuses(&[
        (sysctls(&[""]), "spec.securityContext.sysctls[0].name: Required value"),
        (sysctls(&["a", "a"]), "spec.securityContext.sysctls[1].name: Duplicate value: \"a\""),
        (
            sysctls(&["a..b"]),
            "spec.securityContext.sysctls[0].name: Invalid value: \"a..b\": must have at most 253 characters and match \
             regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
        ),
    ]);
}

#[test]
fn sysctls_of_a_shared_namespace_are_refused() {
    let pod = |field: &str, name: &str| json!({"spec": {field: true, "securityContext": {"sysctls": [{"name": name, "value": "1"}]}}});
    accepts(&[pod("hostNetwork", "kernel.shmmax"), pod("hostIPC", "net.core.somaxconn")]);
    for name in ["net.core.somaxconn", "net/core/somaxconn"] {
        let line = format!(
            "spec.securityContext.sysctls[0].name: Invalid value: {name:?}: may not be specified when 'hostNetwork' is \
             true"
        );
        assert_eq!(created(&pod("hostNetwork", name)), [line]);
    }
    for name in ["kernel.shmmax", "fs.mqueue.x"] {
        let line = format!(
            "spec.securityContext.sysctls[0].name: Invalid value: {name:?}: may not be specified when 'hostIPC' is true"
        );
        assert_eq!(created(&pod("hostIPC", name)), [line]);
    }
}

#[test]
fn profiles_of_the_host_are_named() {
    refuses(&[
        (
            context(json!({"seccompProfile": {"type": "Localhost"}})),
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is \
             Localhost",
        ),
        (
            context(json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": " x"}})),
            "spec.securityContext.appArmorProfile.localhostProfile: Invalid value: \" x\": must not be padded with \
             whitespace",
        ),
    ]);
}

#[test]
fn processes_are_shared_with_the_pod_or_the_host() {
    refuses(&[(
        json!({"spec": {"hostPID": true, "shareProcessNamespace": true}}),
        "spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
    )]);
}

#[test]
fn a_pod_with_its_own_users_shares_nothing_else_with_the_host() {
    accepts(&[json!({"spec": {"hostUsers": false}})]);
    assert_eq!(
        created(&json!({"spec": {"hostUsers": false, "hostNetwork": true, "hostPID": true, "hostIPC": true}})),
        [
            "spec.hostNetwork: Forbidden: when `hostUsers` is false",
            "spec.HostPID: Forbidden: when `hostUsers` is false",
            "spec.HostIPC: Forbidden: when `hostUsers` is false",
        ]
    );
}
