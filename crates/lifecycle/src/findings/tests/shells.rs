//! Findings about shells as first processes.

use serde_json::{Value, json};

use super::{Given, Severity};

fn command(command: &Value) -> Given {
    Given::web(json!({"command": command}))
}

#[test]
fn a_script_without_exec_and_trap_keeps_the_signal() {
    let id = "shell-keeps-signal";
    let finding = command(&json!(["/bin/sh", "-c", "prepare && app --port 80"])).the(id);
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.field, "spec.template.spec.containers[0].command");
    assert!(finding.message.contains("starts through sh") && finding.message.contains("grace period of 30 s is over"));
    for list in [
        json!(["bash", "-ec", "a; b"]),
        json!(["busybox", "sh", "-c", "while :; do app; done"]),
        json!(["bash", "-euo", "pipefail", "-c", "a | tee log"]),
        json!(["zsh", "-lc", "a &\nwait"]),
    ] {
        assert!(command(&list).has(id), "{list}");
    }
    assert!(Given::web(json!({"command": ["sh", "-c"], "args": ["a; b"]})).has(id), "args belong to the command");
}

#[test]
fn a_script_that_hands_over_or_handles_the_signal_does_not_keep_it() {
    for list in [
        json!(["sh", "-c", "prepare && exec app"]),
        json!(["sh", "-c", "trap 'kill $pid' TERM; app & pid=$!; wait"]),
        json!(["sh", "-c", "if [ -n \"$X\" ]; then exec a; else exec b; fi"]),
        json!(["sh", "-c", "echo done; exit 0"]),
        json!(["sh", "/entrypoint.sh"]),
        json!(["tini", "--", "sh", "-c", "a; b"]),
        json!(["app"]),
        json!(["sh", "-c", "app"]),
        json!([]),
    ] {
        assert!(!command(&list).has("shell-keeps-signal"), "{list}");
    }
    assert!(
        !Given::web(json!({"args": ["sh", "-c", "a; b"]})).has("shell-keeps-signal"),
        "the image's entry is unknown"
    );
}

#[test]
fn with_a_shared_process_namespace_the_shell_ends_and_the_program_is_killed() {
    let mut given = command(&json!(["sh", "-c", "a; b"]));
    given.spec.share_process_namespace = Some(true);
    assert!(given.the("shell-keeps-signal").message.contains("killed without having been told"));
}

#[test]
fn a_shell_around_one_command_may_or_may_not_step_aside() {
    let id = "shell-around-one-command";
    let finding = command(&json!(["sh", "-c", "app --port $PORT"])).the(id);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.message.contains("others do not (busybox)"));
    for list in [
        json!(["sh", "-c", "exec app"]),
        json!(["sh", "-c", "a; b"]),
        json!(["sh", "-c", "echo hello"]),
        json!(["app", "-c", "x"]),
    ] {
        assert!(!command(&list).has(id), "{list}");
    }
}
