//! Which stop signals are valid, by operating system and kind of container.

use serde_json::{Value, json};

use super::{container, errors_in};
use crate::signal::{Os, Signal};

fn with_signal(os: Value, signal: &str) -> Value {
    json!({"os": os, "containers": [container(json!({"lifecycle": {"stopSignal": signal}}))]})
}

fn errors(os: &str, signal: &str) -> Vec<String> {
    errors_in(with_signal(json!({"name": os}), signal))
}

/// 2.4.4
#[test]
fn a_stop_signal_needs_an_operating_system() {
    let expected = "spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty \
                    `spec.os.name`";
    assert_eq!(errors_in(with_signal(Value::Null, "SIGTERM")), [expected]);
}

/// 2.4.5
#[test]
fn windows_knows_two_stop_signals() {
    assert!(errors("windows", "SIGTERM").is_empty() && errors("windows", "SIGKILL").is_empty());
    assert_eq!(
        errors("windows", "SIGUSR1"),
        ["spec.containers[0].lifecycle.stopSignal: Unsupported value: \"SIGUSR1\": supported values: \"SIGKILL\", \
          \"SIGTERM\""]
    );
}

/// 2.4.6
#[test]
fn linux_knows_every_stop_signal_and_lists_them_in_byte_order() {
    for signal in Signal::all() {
        assert!(errors("linux", signal.name()).is_empty(), "{signal}");
    }
    let names = Signal::names(Os::Linux).join("\", \"");
    assert_eq!(
        errors("linux", "SIGFOO"),
        [format!(
            "spec.containers[0].lifecycle.stopSignal: Unsupported value: \"SIGFOO\": supported values: \"{names}\""
        )]
    );
}

/// 2.4.7
#[test]
fn names_of_stop_signals_are_exact() {
    for name in ["sigterm", "TERM", "15", "SIGRTMIN+0", "SIGRTMIN+16", "SIGRTMAX-15", " SIGTERM"] {
        assert_eq!(errors("linux", name).len(), 1, "{name}");
    }
    for name in ["SIGRTMIN", "SIGRTMIN+15", "SIGRTMAX-14", "SIGRTMAX"] {
        assert!(errors("linux", name).is_empty(), "{name}");
    }
}

/// 2.4.8
#[test]
fn an_unknown_operating_system_is_no_second_mistake_of_the_stop_signal() {
    assert!(errors("plan9", "SIGFOO").is_empty());
}

/// 2.4.9
#[test]
fn an_empty_stop_signal_is_unsupported_and_not_unset() {
    assert!(errors("windows", "")[0].contains("Unsupported value: \"\""));
}

/// 2.4.10
#[test]
fn containers_without_hooks_have_no_stop_signal() {
    let pod = json!({
        "os": {"name": "linux"},
        "containers": [container(json!({}))],
        "initContainers": [
            {"name": "i", "image": "x", "lifecycle": {"stopSignal": "SIGFOO"}},
            {"name": "s", "image": "x", "restartPolicy": "Always", "lifecycle": {"stopSignal": "SIGINT"}},
        ],
        "ephemeralContainers": [{"name": "e", "image": "x", "lifecycle": {"stopSignal": "SIGFOO"}}],
    });
    assert_eq!(
        errors_in(pod),
        [
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without \
             restartPolicy=Always",
            "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
        ]
    );
}

/// 2.4.11
#[test]
fn a_stop_signal_needs_no_hook() {
    assert!(errors("linux", "SIGINT").is_empty());
}

/// 2.4.12
#[test]
fn linux_accepts_signals_that_cannot_be_handled() {
    assert!(errors("linux", "SIGKILL").is_empty() && errors("linux", "SIGSTOP").is_empty());
}
