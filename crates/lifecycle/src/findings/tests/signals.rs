//! Findings about stop signals.

use model::gates::Gate;
use serde_json::json;

use super::{Given, Severity};

fn signal(name: &str) -> Given {
    Given::web(json!({"lifecycle": {"stopSignal": name}}))
}

#[test]
fn a_signal_that_suspends_for_good_is_an_error() {
    let finding = signal("SIGSTOP").the("stop-signal-does-not-end");
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(finding.field, "spec.template.spec.containers[0].lifecycle.stopSignal");
    assert_eq!(
        finding.message,
        "The stop signal SIGSTOP suspends web and cannot be handled: it stays suspended until SIGKILL after 30 s."
    );
}

#[test]
fn a_signal_that_does_not_end_a_process_is_a_warning() {
    for name in ["SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGCHLD", "SIGCLD", "SIGURG", "SIGWINCH"] {
        assert_eq!(signal(name).severity("stop-signal-does-not-end"), Some(Severity::Warning), "{name}");
    }
    for name in ["SIGTERM", "SIGQUIT", "SIGUSR1", "SIGKILL", "SIGRTMIN+3", "nonsense", ""] {
        assert!(!signal(name).has("stop-signal-does-not-end"), "{name}");
    }
}

#[test]
fn apache_ends_on_a_change_of_window_size() {
    for image in ["httpd:2.4", "registry/php:8.3-apache"] {
        let given = Given::web(json!({"image": image, "lifecycle": {"stopSignal": "SIGWINCH"}}));
        assert_eq!(given.severity("stop-signal-does-not-end"), Some(Severity::Info), "{image}");
    }
    let fpm = Given::web(json!({"image": "php:8.3-fpm", "lifecycle": {"stopSignal": "SIGWINCH"}}));
    assert_eq!(fpm.severity("stop-signal-does-not-end"), Some(Severity::Warning));
}

/// I4
#[test]
fn a_process_that_does_not_end_holds_up_later_ranks_until_the_reserve() {
    let container = |name: &str| json!({"name": name, "image": "x", "lifecycle": {"stopSignal": "SIGURG"}});
    let containers = json!([container("a"), container("b"), container("c")]);
    let found = Given::containers(&containers).ranks(r#"{"b": 1, "c": 2}"#).all("stop-signal-does-not-end");
    let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert!(
        messages[0]
            .ends_with("rank 0 (rank 0 exits first): the later ranks wait for it until 4 s before the deadline.")
    );
    assert!(messages[1].ends_with("the later ranks wait for it until 2 s before the deadline."), "{}", messages[1]);
    assert!(messages[2].ends_with("SIGKILL follows after 30 s."), "nobody waits for the last rank");
}

#[test]
fn sigkill_leaves_nothing_to_handle() {
    assert_eq!(signal("SIGKILL").severity("stop-signal-kills"), Some(Severity::Warning));
    assert!(!signal("SIGTERM").has("stop-signal-kills") && !Given::web(json!({})).has("stop-signal-kills"));
}

#[test]
fn a_signal_behind_a_closed_gate_is_not_used() {
    let mut given = signal("SIGKILL");
    assert!(!given.has("stop-signal-not-used"));
    given.gates = given.gates.without(Gate::ContainerStopSignals);
    let finding = given.the("stop-signal-not-used");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("The stop signal SIGKILL of web is not used"), "{}", finding.message);
    assert!(!given.has("stop-signal-kills"), "a signal that is not used kills nobody");
}

#[test]
fn a_well_known_image_may_prefer_another_signal() {
    let id = "image-prefers-other-signal";
    let rows = [
        ("nginx:1.27", "SIGQUIT"),
        ("registry.example/web/openresty@sha256:00", "SIGQUIT"),
        ("httpd", "SIGWINCH"),
        ("bitnami/php-fpm", "SIGQUIT"),
        ("php:8.3-fpm-alpine", "SIGQUIT"),
        ("haproxy:3.0", "SIGUSR1"),
        ("postgres:17", "SIGINT"),
    ];
    for (image, preferred) in rows {
        let finding = Given::web(json!({"image": image})).the(id);
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.remedy.contains(&format!("stopSignal: {preferred}")), "{image}: {}", finding.remedy);
    }
}

#[test]
fn an_image_has_no_preference_where_somebody_has_chosen() {
    let id = "image-prefers-other-signal";
    let quiet = [
        json!({"image": "nginx", "lifecycle": {"stopSignal": "SIGTERM"}}),
        json!({"image": "nginx", "lifecycle": {"preStop": {"exec": {"command": ["nginx", "-s", "quit"]}}}}),
        json!({"image": "php:8.3-cli"}),
        json!({"image": "nginx-exporter"}),
        json!({"image": "nginx/agent"}),
        json!({"image": "redis"}),
    ];
    for fields in quiet {
        assert!(!Given::web(fields.clone()).has(id), "{fields}");
    }
    let mut windows = Given::web(json!({"image": "nginx"}));
    windows.spec.os.as_mut().expect("an os").name = "windows".into();
    assert!(!windows.has(id));
}
