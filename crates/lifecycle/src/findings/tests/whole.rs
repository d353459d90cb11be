//! What holds for all findings: ids, order, any input, speed.

use std::collections::BTreeSet;

use model::field::Path;
use serde_json::json;

use super::{Given, Severity, Subject, Workload};
use crate::findings::{ids, of_pod};

/// The tests beside this one.
const TESTS: [&str; 7] = [
    include_str!("grace.rs"),
    include_str!("handlers.rs"),
    include_str!("lengths.rs"),
    include_str!("order.rs"),
    include_str!("shells.rs"),
    include_str!("sidecars.rs"),
    include_str!("signals.rs"),
];

#[test]
fn ids_are_unique_kebab_case_and_tested() {
    let mut seen = BTreeSet::new();
    for id in ids() {
        assert!(seen.insert(id), "{id} twice");
        assert!(id.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())), "{id}");
        assert!(TESTS.iter().any(|text| text.contains(&format!("\"{id}\""))), "{id} has no test");
    }
}

#[test]
fn a_pod_that_ends_well_has_no_findings() {
    let good = Given::spec(json!({
        "terminationGracePeriodSeconds": 30,
        "os": {"name": "linux"},
        "initContainers": [{"name": "envoy", "image": "envoyproxy/envoy:v1", "restartPolicy": "Always"}],
        "containers": [{
            "name": "web",
            "image": "nginx:1.27",
            "ports": [{"containerPort": 80}],
            "lifecycle": {"preStop": {"sleep": {"seconds": 5}}, "stopSignal": "SIGQUIT"},
        }],
    }));
    assert_eq!(good.findings(), []);
}

#[test]
fn the_worst_comes_first_then_the_order_of_fields() {
    let bad = |name: &str| json!({"name": name, "image": "nginx", "ports": [{"containerPort": 1}], "command": ["sh", "-c", "a; b"]});
    let mut containers: Vec<serde_json::Value> = (0..12).map(|n| bad(&format!("c{n}"))).collect();
    containers.push(json!({"name": "x", "lifecycle": {"stopSignal": "SIGSTOP"}}));
    let given = Given::containers(&json!(containers)).ranks("").grace(3600);
    let findings = given.findings();
    assert!(findings.is_sorted_by(|a, b| a.severity >= b.severity));
    assert_eq!(findings[0].id, "stop-signal-does-not-end");
    assert_eq!(findings[1].id, "exit-ranks-odd", "metadata comes before containers");
    let shells: Vec<String> =
        findings.iter().filter(|f| f.severity == Severity::Warning).skip(1).map(|f| f.field.clone()).collect();
    let expected: Vec<String> = (0..12).map(|n| format!("spec.template.spec.containers[{n}].command")).collect();
    assert_eq!(shells, expected, "[10] comes after [9]");
    let infos: Vec<&str> = findings.iter().filter(|f| f.severity == Severity::Info).map(|f| f.id).take(3).collect();
    assert_eq!(infos, ["grace-very-long", "image-prefers-other-signal", "no-time-for-endpoints"]);
}

#[test]
fn findings_are_written_in_camel_case_with_small_severities() {
    let finding = Given::sleep(30).the("sleep-equals-grace");
    let written = serde_json::to_value(&finding).expect("a finding is plain data");
    assert_eq!((&written["id"], &written["severity"]), (&json!("sleep-equals-grace"), &json!("warning")));
    assert_eq!(written["container"], "web");
    assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Error);
    assert!([Severity::Info, Severity::Warning, Severity::Error].iter().all(|s| json!(s) == s.name()));
}

#[test]
fn a_bare_pod_without_metadata_has_plain_paths() {
    let given = Given::sleep(30);
    let subject = Subject {
        metadata: None,
        spec: &given.spec,
        workload: Workload::Pod,
        path: Path::root(),
        gates: given.gates,
        reserve: given.reserve,
        grace_seconds: None,
    };
    assert_eq!(of_pod(&subject)[0].field, "spec.containers[0].lifecycle.preStop");
}

#[test]
fn what_validation_would_refuse_is_looked_at_without_panic() {
    let hooks = [
        json!({}),
        json!({"exec": {}}),
        json!({"exec": {"command": []}}),
        json!({"exec": {"command": [""]}}),
        json!({"exec": {"command": ["sh", "-c", "'\"`$("]}}),
        json!({"httpGet": {"port": ""}}),
        json!({"sleep": {"seconds": -1}}),
        json!({"sleep": {"seconds": i64::MAX}}),
        json!({"exec": {"command": ["sleep", "99999999999999999"]}}),
    ];
    for grace in [i64::MIN, -1, 0, 1, 30, i64::MAX] {
        for hook in &hooks {
            let lifecycle = json!({"preStop": hook, "postStart": hook, "stopSignal": ""});
            let same = json!({"name": "", "image": "@:/", "lifecycle": lifecycle, "restartPolicy": "Always"});
            let spec = json!({"initContainers": [same, same], "containers": [same, same], "os": {"name": "plan9"}});
            let given = Given::spec(spec).ranks(r#"{"": 7, "x": 1}"#).grace(grace);
            assert!(given.findings().iter().all(|finding| !finding.message.is_empty() && !finding.remedy.is_empty()));
        }
    }
    assert_eq!(Given::spec(json!({"containers": []})).findings(), []);
}
