//! Findings about grace periods, and about containers that would need more of one.

use serde_json::{Value, json};

use super::{Given, Severity, Workload};

#[test]
fn a_grace_of_zero_runs_no_hook_and_leaves_two_seconds() {
    let finding = Given::web(json!({})).grace(0).the("grace-zero");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.field, "spec.template.spec.terminationGracePeriodSeconds");
    assert!(finding.message.contains("no preStop hook runs, and every process has 2 s"));
    assert!(!Given::web(json!({})).grace(1).has("grace-zero"));
    assert!(!Given::web(json!({})).grace(-1).has("grace-zero"), "negative means one second");
    let mut delete = Given::web(json!({}));
    delete.grace_seconds = Some(0);
    assert!(delete.the("grace-zero").remedy.contains("Delete without a grace period of 0"));
}

#[test]
fn a_hook_with_a_grace_of_zero_never_runs() {
    let finding = Given::sleep(5).grace(0).the("hook-never-runs");
    assert_eq!((finding.severity, finding.container.as_deref()), (Severity::Error, Some("web")));
    assert!(!Given::sleep(5).has("hook-never-runs"));
    assert!(!Given::sleep(0).grace(0).has("hook-never-runs"), "a sleep of zero does nothing anyway");
    let post_start = json!({"lifecycle": {"postStart": {"sleep": {"seconds": 5}}}});
    assert!(!Given::web(post_start).grace(0).has("hook-never-runs"));
}

#[test]
fn a_grace_above_ten_minutes_is_longer_than_others_wait() {
    let finding = Given::web(json!({})).grace(3600).the("grace-very-long");
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.message.contains("3600 s") && finding.message.contains("600 s"));
    assert!(!Given::web(json!({})).grace(600).has("grace-very-long"));
}

#[test]
fn a_probe_with_more_grace_than_its_pod_is_told() {
    let probe = |kind: &str, seconds: i64| Given::web(json!({kind: {"terminationGracePeriodSeconds": seconds}}));
    for kind in ["livenessProbe", "startupProbe"] {
        let finding = probe(kind, 60).the("probe-grace-longer");
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.field, format!("spec.template.spec.containers[0].{kind}.terminationGracePeriodSeconds"));
        assert!(finding.message.contains("60 s") && finding.message.contains("30 s"));
        assert!(!probe(kind, 30).has("probe-grace-longer"));
    }
    let grace = json!({"terminationGracePeriodSeconds": 90});
    let both = Given::web(json!({"livenessProbe": grace, "startupProbe": grace})).the("probe-grace-longer");
    assert!(both.message.contains("90 s when its livenessProbe fails and 90 s when its startupProbe fails"));
}

#[test]
fn a_container_with_ports_needs_time_to_leave_its_endpoints() {
    let id = "no-time-for-endpoints";
    let ports = json!([{"containerPort": 80}]);
    let finding = Given::web(json!({"ports": ports})).the(id);
    assert_eq!(finding.severity, Severity::Info);
    assert!(finding.remedy.contains("{preStop: {sleep: {seconds: 5}}}"));
    assert!(Given::web(json!({"ports": ports})).in_a(Workload::Pod).has(id));
    assert!(Given::web(json!({"ports": ports})).grace(6).the(id).remedy.contains("seconds: 2"));
    let quiet = [
        Given::web(json!({"ports": ports})).in_a(Workload::Job),
        Given::web(json!({"ports": ports, "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}})),
        Given::web(json!({"ports": ports})).grace(0),
        Given::web(json!({"ports": []})),
        Given::web(json!({})),
    ];
    assert!(quiet.iter().all(|given| !given.has(id)));
}

fn sleeper(name: &str, handler: &Value) -> Value {
    json!({"name": name, "image": "x", "lifecycle": {"preStop": handler}})
}

#[test]
fn sleeps_that_add_up_beyond_the_grace_stop_somebody_too_late() {
    let id = "stopped-too-late";
    let two = |first: Value, second: Value| {
        Given::containers(&json!([sleeper("a", &first), sleeper("b", &second)])).ranks(r#"{"b": 1}"#)
    };
    let sleep = |seconds: i64| json!({"sleep": {"seconds": seconds}});
    let finding = two(sleep(20), sleep(20)).the(id);
    assert_eq!((finding.severity, finding.container.as_deref()), (Severity::Error, Some("b")));
    assert_eq!(finding.field, "spec.template.spec.containers[1].lifecycle.preStop");
    assert!(finding.message.contains("because it waits for a: its preStop hook is cut off"), "{}", finding.message);
    assert!(finding.remedy.contains("at least 42"), "{}", finding.remedy);
    let as_command = json!({"exec": {"command": ["sleep", "20"]}});
    assert!(two(as_command, sleep(20)).has(id), "a sleep command counts like a sleep");
    assert!(!two(sleep(10), sleep(10)).has(id));
    let unordered = json!([sleeper("a", &sleep(20)), sleeper("b", &sleep(20))]);
    assert!(!Given::containers(&unordered).has(id), "without ranks both sleep at the same time");
}

#[test]
fn a_sidecar_behind_a_hook_that_takes_everything_is_stopped_too_late() {
    let id = "stopped-too-late";
    let pod = |seconds: i64| {
        let proxy = json!({"name": "proxy", "image": "x", "restartPolicy": "Always"});
        let web = sleeper("web", &json!({"sleep": {"seconds": seconds}}));
        let spec = json!({"terminationGracePeriodSeconds": 30, "initContainers": [proxy], "containers": [web]});
        Given::spec(spec)
    };
    let finding = pod(30).the(id);
    assert_eq!(finding.container.as_deref(), Some("proxy"));
    assert_eq!(finding.field, "spec.template.spec.initContainers[0]");
    assert!(finding.message.contains("because it waits for web: its process has 2 s until SIGKILL"));
    assert!(!pod(29).has(id));
    assert!(!pod(30).grace(0).has(id), "hook-never-runs says it");
}
