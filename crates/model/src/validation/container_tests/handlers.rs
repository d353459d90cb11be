//! The actions of hooks and probes.

use serde_json::{Value, json};

use super::{assert_rows, container_errors};

fn hooks(hook: Value) -> Value {
    json!({"lifecycle": {"preStop": hook}})
}

/// 2.2.1
#[test]
fn a_hook_or_probe_without_an_action_is_refused() {
    assert_rows(&[
        (hooks(json!({})), &["lifecycle.preStop: Required value: must specify a handler type"]),
        (json!({"livenessProbe": {}}), &["livenessProbe: Required value: must specify a handler type"]),
    ]);
}

/// 2.2.1
#[test]
fn of_several_actions_the_first_is_checked_and_the_others_are_refused() {
    let all = json!({"sleep": {"seconds": -1}, "tcpSocket": {"port": 0}, "httpGet": {"port": 0}, "exec": {}});
    assert_eq!(
        container_errors(hooks(all)),
        [
            "lifecycle.preStop.exec.command: Required value",
            "lifecycle.preStop.httpGet: Forbidden: may not specify more than 1 handler type",
            "lifecycle.preStop.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type",
        ]
    );
    let probe = json!({"startupProbe": {"grpc": {"port": 0}, "tcpSocket": {"port": 1}}});
    let expected = ["startupProbe.grpc: Forbidden: may not specify more than 1 handler type"];
    assert_eq!(container_errors(probe), expected);
}

/// 2.2.2
#[test]
fn a_command_is_not_empty() {
    assert_rows(&[
        (hooks(json!({"exec": {"command": ["a"]}})), &[]),
        (hooks(json!({"exec": {"command": []}})), &["lifecycle.preStop.exec.command: Required value"]),
        (hooks(json!({"exec": {}})), &["lifecycle.preStop.exec.command: Required value"]),
    ]);
}

/// 2.2.3
#[test]
fn an_http_request_has_a_port_a_scheme_and_well_formed_header_names() {
    let http = |fields: Value| hooks(json!({"httpGet": fields}));
    assert_rows(&[
        (http(json!({"port": 80})), &[]),
        (http(json!({"port": "web", "scheme": "HTTPS", "httpHeaders": [{"name": "X-A", "value": "ü"}]})), &[]),
        (
            http(json!({"port": 65536})),
            &["lifecycle.preStop.httpGet.port: Invalid value: 65536: must be between 1 and 65535, inclusive"],
        ),
        (
            http(json!({"port": "a-very-long-name"})),
            &[
                "lifecycle.preStop.httpGet.port: Invalid value: \"a-very-long-name\": must be no more than 15 characters",
            ],
        ),
        (
            http(json!({"port": "80"})),
            &["lifecycle.preStop.httpGet.port: Invalid value: \"80\": must contain at least one letter (a-z)"],
        ),
        (
            http(json!({"port": 1, "scheme": "http"})),
            &["lifecycle.preStop.httpGet.scheme: Unsupported value: \"http\": supported values: \"HTTP\", \"HTTPS\""],
        ),
        (
            http(json!({"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]})),
            &["lifecycle.preStop.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of \
               alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"],
        ),
    ]);
}

/// 2.2.4
#[test]
fn a_tcp_hook_is_accepted_if_its_port_is_one() {
    assert_rows(&[
        (hooks(json!({"tcpSocket": {"port": 1}})), &[]),
        (
            hooks(json!({"tcpSocket": {"port": -1}})),
            &["lifecycle.preStop.tcpSocket.port: Invalid value: -1: must be between 1 and 65535, inclusive"],
        ),
    ]);
}

/// 2.2.5
#[test]
fn a_named_port_need_not_exist_in_the_container() {
    assert_rows(&[(hooks(json!({"httpGet": {"port": "nowhere"}})), &[])]);
}

/// 2.2.6
#[test]
fn both_hooks_follow_the_same_rules_and_either_may_sleep() {
    assert_rows(&[
        (json!({"lifecycle": {"postStart": {"sleep": {"seconds": 1}}, "preStop": {"sleep": {"seconds": 1}}}}), &[]),
        (
            json!({"lifecycle": {"postStart": {"exec": {}}, "preStop": {"exec": {}}}}),
            &["lifecycle.postStart.exec.command: Required value", "lifecycle.preStop.exec.command: Required value"],
        ),
    ]);
}

fn probe(fields: &[(&str, i64)]) -> Value {
    let mut probe = json!({"exec": {"command": ["a"]}});
    for (name, value) in fields {
        probe[*name] = json!(value);
    }
    probe
}

/// 2.5.4
#[test]
fn liveness_and_startup_probes_may_have_a_grace_period_of_at_least_a_second() {
    let grace = |seconds: i64| probe(&[("terminationGracePeriodSeconds", seconds)]);
    assert_rows(&[
        (json!({"livenessProbe": grace(1), "startupProbe": grace(i64::MAX)}), &[]),
        (
            json!({"livenessProbe": grace(0)}),
            &["livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            json!({"startupProbe": grace(-1)}),
            &["startupProbe.terminationGracePeriodSeconds: Invalid value: -1: must be greater than 0"],
        ),
    ]);
}

/// 2.5.4
#[test]
fn readiness_probes_have_no_grace_period() {
    let errors = container_errors(json!({"readinessProbe": probe(&[("terminationGracePeriodSeconds", 5)])}));
    let expected =
        "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes";
    assert_eq!(errors, [expected]);
}

/// 2.5.4
#[test]
fn liveness_and_startup_probes_succeed_at_once() {
    let twice = probe(&[("successThreshold", 2)]);
    assert_rows(&[
        (json!({"readinessProbe": twice}), &[]),
        (json!({"livenessProbe": twice}), &["livenessProbe.successThreshold: Invalid value: 2: must be 1"]),
        (json!({"startupProbe": twice}), &["startupProbe.successThreshold: Invalid value: 2: must be 1"]),
    ]);
}

/// 2.5.4
#[test]
fn numbers_of_probes_are_not_negative() {
    for field in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        let errors = container_errors(json!({"readinessProbe": probe(&[(field, -1)])}));
        let expected = format!("readinessProbe.{field}: Invalid value: -1: must be greater than or equal to 0");
        assert_eq!(errors, [expected]);
    }
}
