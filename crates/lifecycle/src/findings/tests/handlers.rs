//! Findings about hooks that fail, cannot fail, or need a shell.

use serde_json::{Value, json};

use super::{Given, Severity};

fn post_start(handler: &Value) -> Given {
    Given::web(json!({"lifecycle": {"postStart": handler}}))
}

/// 4.5.1
#[test]
fn a_tcp_socket_hook_always_fails() {
    let handler = json!({"tcpSocket": {"port": 80}});
    let before = Given::pre_stop(&handler).the("tcp-socket-hook");
    assert_eq!((before.severity, before.container.as_deref()), (Severity::Error, Some("web")));
    assert!(before.message.contains("the stop signal is sent at once"));
    let after = post_start(&handler).the("tcp-socket-hook");
    assert_eq!(after.field, "spec.template.spec.containers[0].lifecycle.postStart");
    assert!(after.message.contains("stopped right after it started"));
    let exec_first = json!({"exec": {"command": ["x"]}, "tcpSocket": {"port": 80}});
    assert!(!Given::pre_stop(&exec_first).has("tcp-socket-hook"), "the exec handler is the one that runs");
    assert!(!Given::pre_stop(&json!({})).has("tcp-socket-hook"));
}

/// 4.3.2
#[test]
fn a_hook_that_names_a_port_nobody_declares_always_fails() {
    let hook = |port: Value, name: &str| {
        let ports = json!([{"name": name, "containerPort": 8080}]);
        let get = json!({"httpGet": {"path": "/", "port": port}});
        Given::web(json!({"ports": ports, "lifecycle": {"preStop": get, "postStart": get}}))
    };
    let found = hook(json!("admin"), "web").all("hook-port-not-declared");
    assert_eq!(found.len(), 2, "both hooks");
    assert!(found.iter().all(|finding| finding.severity == Severity::Error));
    assert!(found[0].message.contains("asks for port \"admin\""), "{}", found[0].message);
    for declared in [json!("web"), json!(9), json!("8081")] {
        assert!(!hook(declared, "web").has("hook-port-not-declared"));
    }
}

/// 4.3.6
#[test]
fn an_http_hook_succeeds_with_any_status() {
    let finding = Given::pre_stop(&json!({"httpGet": {"path": "/quit", "port": 80}})).the("http-hook-ignores-status");
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.message.contains("even 404 or 500: a wrong path (/quit) goes unnoticed"));
    let failing = Given::pre_stop(&json!({"httpGet": {"path": "/quit", "port": "nowhere"}}));
    assert!(!failing.has("http-hook-ignores-status") && !Given::sleep(5).has("http-hook-ignores-status"));
}

/// 4.2.4
#[test]
fn a_line_for_a_shell_is_no_program() {
    let id = "hook-is-shell-line";
    let words = Given::exec(&["nginx -s quit"]).the(id);
    assert_eq!(words.severity, Severity::Error);
    assert!(words.message.contains("looks for a program named \"nginx -s quit\""), "{}", words.message);
    assert_eq!(words.remedy, r#"Write one element per word: command: ["nginx", "-s", "quit"]."#);
    let line = Given::exec(&["sleep", "5", "&&", "nginx", "-s", "quit"]).the(id);
    assert!(line.remedy.contains(r#"["/bin/sh", "-c", "sleep 5 && nginx -s quit"]"#), "{}", line.remedy);
    assert!(post_start(&json!({"exec": {"command": ["kill", "$(cat", "/run/pid)"]}})).has(id));
}

#[test]
fn a_list_with_its_own_shell_is_no_shell_line() {
    for command in [&["sh", "-c", "a && b | c"][..], &["nginx", "-s", "quit"], &["find", "/", "-exec", "rm", ";"]] {
        assert!(!Given::exec(command).has("hook-is-shell-line"), "{command:?}");
    }
    assert!(!Given::sleep(5).has("hook-is-shell-line"));
}

#[test]
fn a_hook_that_needs_a_shell_says_so_louder_where_there_is_none() {
    let id = "hook-needs-shell";
    let with_image = |image: &str, command: &[&str]| {
        Given::web(json!({"image": image, "lifecycle": {"preStop": {"exec": {"command": command}}}}))
    };
    let script = ["/bin/sh", "-c", "drain; quit"];
    assert_eq!(with_image("debian:12", &script).severity(id), Some(Severity::Info));
    let bare = with_image("gcr.io/distroless/static-debian12", &script).the(id);
    assert_eq!(bare.severity, Severity::Warning);
    assert!(bare.message.contains("needs the shell sh, but images such as gcr.io/distroless/static-debian12"));
    let sleep = with_image("cgr.dev/chainguard/go:latest", &["sleep", "5"]).the(id);
    assert!(sleep.message.contains("needs the program sleep") && sleep.remedy.contains("{sleep: {seconds: 5}}"));
    assert!(!with_image("debian:12", &["sh", "-c", "sleep 5"]).has(id), "sleep-as-command says it");
    assert!(!with_image("debian:12", &["/drain"]).has(id) && !with_image("scratch", &["/drain"]).has(id));
    assert!(!with_image("gcr.io/distroless/base:debug", &["sleep", "5"]).has(id));
}
