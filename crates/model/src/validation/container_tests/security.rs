//! Security contexts of containers.

use serde_json::{Value, json};

use super::{Options, assert_rows, container, errors_in, errors_with, spec, with_container};
use crate::gates::FeatureGates;

fn security(fields: Value) -> Value {
    json!({"securityContext": fields})
}

#[test]
fn users_and_groups_are_32_bit_numbers() {
    assert_rows(&[
        (security(json!({"runAsUser": 0, "runAsGroup": 2147483647})), &[]),
        (
            security(json!({"runAsUser": -1, "runAsGroup": 2147483648_i64})),
            &[
                "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
            ],
        ),
    ]);
}

#[test]
fn privileged_containers_are_allowed_unless_the_cluster_says_otherwise() {
    let pod = spec(with_container(security(json!({"privileged": true}))));
    let mut options = Options::new(FeatureGates::ALL_ON, None);
    assert!(errors_with(&pod, &options).is_empty());
    options.privileged = false;
    assert_eq!(
        errors_with(&pod, &options),
        ["spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"]
    );
}

#[test]
fn whoever_may_not_gain_privileges_does_not_have_them_all() {
    assert_rows(&[(
        security(json!({"privileged": true, "allowPrivilegeEscalation": false})),
        &["securityContext: Invalid value: {\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\
           \"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\
           \"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\
           \"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and \
           `privileged` to true"],
    )]);
}

#[test]
fn proc_is_unmasked_only_in_a_user_namespace_of_the_pod() {
    let unmasked = container(security(json!({"procMount": "Unmasked"})));
    assert!(errors_in(json!({"hostUsers": false, "containers": [unmasked]})).is_empty());
    assert_rows(&[
        (
            security(json!({"procMount": "Unmasked"})),
            &["securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`"],
        ),
        (
            security(json!({"procMount": "x"})),
            &["securityContext.procMount: Unsupported value: \"x\": supported values: \"Default\", \"Unmasked\""],
        ),
    ]);
}

#[test]
fn profiles_on_the_node_are_named_and_others_are_not() {
    let seccomp = |fields: Value| security(json!({"seccompProfile": fields}));
    let app_armor = |fields: Value| security(json!({"appArmorProfile": fields}));
    assert_rows(&[
        (seccomp(json!({"type": "Localhost", "localhostProfile": "a/b"})), &[]),
        (
            seccomp(json!({"type": "Localhost"})),
            &["securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is \
               Localhost"],
        ),
        (
            seccomp(json!({"type": "Unconfined", "localhostProfile": "a"})),
            &["securityContext.seccompProfile.localhostProfile: Invalid value: {\"Type\":\"Unconfined\",\
               \"LocalhostProfile\":\"a\"}: can only be set when seccomp type is Localhost"],
        ),
        (
            app_armor(json!({"type": "Localhost", "localhostProfile": " a"})),
            &["securityContext.appArmorProfile.localhostProfile: Invalid value: \" a\": must not be padded with \
               whitespace"],
        ),
        (
            app_armor(json!({"type": "Localhost", "localhostProfile": "a".repeat(4096)})),
            &["securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"],
        ),
        (
            app_armor(json!({})),
            &["securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set"],
        ),
    ]);
}

#[test]
fn windows_users_have_an_optional_domain() {
    let refused = |name: &str, reason: &str| {
        let errors = super::container_errors(security(json!({"windowsOptions": {"runAsUserName": name}})));
        let shown = Value::from(name);
        let expected = format!("securityContext.windowsOptions.runAsUserName: Invalid value: {shown}: {reason}");
        assert_eq!(errors, [expected]);
    };
    for name in ["user", "DOMAIN\\user", "a.example.com\\user"] {
        assert_rows(&[(security(json!({"windowsOptions": {"runAsUserName": name}})), &[])]);
    }
    refused("", "runAsUserName cannot be an empty string");
    refused("a\\b\\c", "runAsUserName cannot contain more than one backslash");
    refused("\\b", "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    refused("a\\", "runAsUserName's User cannot be empty");
    refused("a\\..", "runAsUserName's User cannot contain only periods or spaces");
    refused("a@b", r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#);
}
