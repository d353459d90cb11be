//! Findings about how long preStop hooks take.

use serde_json::json;

use super::{Given, Severity};

#[test]
fn a_hook_without_limit_may_eat_the_whole_grace() {
    let finding = Given::exec(&["/bin/drain", "--all"]).the("hook-without-limit");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.field, "spec.template.spec.containers[0].lifecycle.preStop");
    assert_eq!(finding.container.as_deref(), Some("web"));
    assert_eq!(
        finding.message,
        "The exec hook of web may take all 30 s of the grace period, because nothing limits it; the process then has 2 s \
         between its stop signal and SIGKILL."
    );
    assert!(finding.remedy.contains(r#"command: ["timeout", "15", "/bin/drain", "--all"]"#), "{}", finding.remedy);
    let get = Given::pre_stop(&json!({"httpGet": {"path": "/drain", "port": 80}})).the("hook-without-limit");
    assert!(get.message.starts_with("The httpGet hook of web") && get.remedy.starts_with("Let /drain answer at once"));
    assert!(Given::exec(&["timeout", "30", "/bin/drain"]).the("hook-without-limit").message.contains("limit of 30 s"));
}

#[test]
fn a_hook_with_a_limit_or_a_known_length_is_not_without_limit() {
    let limited = [
        Given::exec(&["timeout", "20", "/bin/drain"]),
        Given::exec(&["sh", "-c", "sleep 5"]),
        Given::exec(&["sleep", "infinity"]),
        Given::sleep(5),
        Given::exec(&["drain && quit"]),
        Given::pre_stop(&json!({"httpGet": {"path": "/", "port": "nowhere"}})),
        Given::exec(&["/bin/drain"]).grace(0),
        Given::web(json!({"lifecycle": {"postStart": {"exec": {"command": ["/bin/warm-up"]}}}})),
    ];
    assert!(limited.iter().all(|given| !given.has("hook-without-limit")));
}

#[test]
fn a_sleep_command_as_long_as_the_grace_is_an_error() {
    let id = "sleep-command-outlasts-grace";
    for command in [&["sleep", "30"][..], &["/bin/sh", "-c", "sleep 1m"], &["sleep", "infinity"], &["sleep", "30s"]] {
        assert_eq!(Given::exec(command).severity(id), Some(Severity::Error), "{command:?}");
    }
    let finding = Given::exec(&["sleep", "45"]).the(id);
    assert!(finding.message.contains("sleeps for 45 s, the grace period is 30 s"), "{}", finding.message);
    assert!(finding.remedy.contains("{sleep: {seconds: 5}}") && finding.remedy.contains("to 75"), "{}", finding.remedy);
}

#[test]
fn a_sleep_command_within_the_grace_does_not_outlast_it() {
    let id = "sleep-command-outlasts-grace";
    assert!(!Given::exec(&["sleep", "29"]).has(id) && !Given::sleep(30).has(id));
    assert!(!Given::exec(&["sleep 30"]).has(id) && !Given::exec(&["sleep", "30"]).grace(0).has(id));
}

#[test]
fn a_sleep_longer_than_the_grace_of_the_delete_is_cut_off() {
    let mut given = Given::sleep(20);
    assert!(!given.has("sleep-exceeds-grace"));
    given.grace_seconds = Some(5);
    let finding = given.the("sleep-exceeds-grace");
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.message.contains("cut off after 5 s of 20 s"), "{}", finding.message);
}

#[test]
fn a_sleep_equal_to_the_grace_leaves_only_the_floor() {
    let finding = Given::sleep(30).the("sleep-equals-grace");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("takes all 30 s of the grace period; the process then has 2 s"));
    assert!(!Given::sleep(29).has("sleep-equals-grace") && !Given::sleep(31).has("sleep-equals-grace"));
    assert!(!Given::sleep(30).has("stopped-too-late"), "one finding is enough");
}

#[test]
fn a_sleep_over_four_fifths_of_the_grace_is_worth_knowing() {
    let id = "sleep-most-of-grace";
    let finding = Given::sleep(25).the(id);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.message.contains("takes 25 s of the 30 s") && finding.message.contains("then has 5 s"));
    assert!(Given::sleep(29).the(id).message.contains("then has 2 s"), "never less than the floor");
    assert!(Given::exec(&["sleep", "25"]).has(id));
    assert!(!Given::sleep(24).has(id) && !Given::sleep(30).has(id) && !Given::sleep(0).has(id));
}

#[test]
fn a_sleep_as_a_command_may_be_the_built_in_one() {
    let id = "sleep-as-command";
    let finding = Given::exec(&["/bin/sh", "-c", "sleep 2.5"]).the(id);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.message.contains("wait for 2.5 s") && finding.remedy.contains("{sleep: {seconds: 3}}"));
    assert!(!Given::sleep(5).has(id) && !Given::exec(&["sh", "-c", "sleep 5; drain"]).has(id));
    assert!(!Given::exec(&["sleep", "30"]).has(id), "the error says it");
}
