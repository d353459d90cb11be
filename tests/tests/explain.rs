//! `eventide explain` as people and pipelines use it.

use std::process::Command;

use tests::{binary, eventide, eventide_reading, example, root};

fn pod(spec: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: pod\nspec:\n{spec}")
}

#[test]
fn every_example_is_explained_in_every_form() {
    let files = std::fs::read_dir(root().join("examples")).expect("examples");
    let manifests: Vec<String> = files
        .map(|file| file.expect("a file").path().display().to_string())
        .filter(|file| file.ends_with(".yaml"))
        .collect();
    assert!(manifests.len() >= 6);
    for file in manifests {
        let text = eventide(&["explain", "-f", &file]);
        assert_eq!((text.code, text.stderr.as_str()), (0, ""), "{file}");
        assert!(text.stdout.contains("deadline") && text.stdout.contains("LEAST TIME"), "{file}");
        let json = eventide(&["explain", "-f", &file, "-o", "json"]).json();
        assert!(!json["plans"][0]["containers"].as_array().expect("containers").is_empty(), "{file}");
        let svg = eventide(&["explain", "-f", &file, "-o", "svg"]);
        assert!(svg.stdout.starts_with("<svg ") && svg.stdout.ends_with("</svg>\n"), "{file}");
    }
}

#[test]
fn the_plan_of_a_sidecar_says_who_waits_for_whom_and_what_is_left() {
    let plan = eventide(&["explain", "-f", &example("sidecar.yaml"), "-o", "json"]).json()["plans"][0].clone();
    let names: Vec<&str> = plan["containers"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["app", "proxy", "logs"]);
    assert_eq!(plan["stages"][1]["waitsFor"][0], "app");
    assert_eq!(plan["stages"][2]["waitsFor"][0], "proxy");
    assert_eq!(plan["containers"][2]["leastTimeMillis"], 2_000);
    assert_eq!((&plan["deadlineMillis"], &plan["endMillis"]), (&45_000.into(), &47_000.into()));
}

#[test]
fn assumptions_and_grace_change_the_plan() {
    let arguments = ["explain", "-f", &example("nginx.yaml"), "--grace", "20", "--assume", "nginx=3s", "-o", "json"];
    let plan = eventide(&arguments).json()["plans"][0].clone();
    assert_eq!((&plan["graceSeconds"], &plan["endMillis"]), (&20.into(), &8_000.into()));
    assert_eq!(plan["containers"][0]["signal"]["signal"], "SIGQUIT");
    assert_eq!(plan["containers"][0]["signal"]["origin"], "spec");
    assert_eq!(plan["containers"][0]["killed"], false);
}

#[test]
fn several_documents_files_and_json_are_read_and_standard_input_too() {
    let two =
        format!("{}\n---\n{}", pod("  containers: [{name: a, image: a}]"), pod("  containers: [{name: b, image: b}]"));
    let run = eventide_reading(two.as_bytes(), &["explain", "-f", "-", "-f", &example("job.yaml"), "-o", "json"]);
    let plans = run.json()["plans"].as_array().unwrap().len();
    assert_eq!(plans, 3);
    let json =
        br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"},"spec":{"containers":[{"name":"a","image":"a"}]}}"#;
    assert_eq!(eventide_reading(json, &["explain", "-f", "-"]).code, 0);
}

#[test]
fn fail_on_turns_findings_into_an_exit_code() {
    let troubled = example("troubled.yaml");
    assert_eq!(eventide(&["explain", "-f", &troubled]).code, 0);
    assert_eq!(eventide(&["explain", "-f", &troubled, "--fail-on", "error"]).code, 1);
    assert_eq!(eventide(&["explain", "-f", &example("nginx.yaml"), "--fail-on", "warning"]).code, 0);
}

#[test]
fn the_findings_of_a_troubled_pod_are_named_with_their_fields() {
    let plan = eventide(&["explain", "-f", &example("troubled.yaml"), "-o", "json"]).json()["plans"][0].clone();
    let findings = plan["findings"].as_array().unwrap();
    let at = |field: &str| findings.iter().any(|finding| finding["field"].as_str().unwrap().starts_with(field));
    assert!(at("spec.containers[0].command"), "the shell");
    assert!(at("spec.containers[0].lifecycle.preStop"), "the hook");
    assert!(at("spec.containers[1].lifecycle.preStop"), "the tcpSocket hook");
    assert!(at("spec.containers[2].lifecycle.stopSignal"), "the signal");
    let complete = |finding: &serde_json::Value| {
        ["id", "severity", "field", "message", "remedy"].iter().all(|key| !finding[key].as_str().unwrap().is_empty())
    };
    assert!(findings.iter().all(complete));
}

#[test]
fn a_template_is_explained_with_its_own_paths() {
    let manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {}\n  template:\n    \
                    spec:\n      terminationGracePeriodSeconds: 0\n      containers: [{name: a, image: a}]\n";
    let run = eventide_reading(manifest.as_bytes(), &["explain", "-f", "-", "-o", "json"]);
    let findings = run.json()["plans"][0]["findings"].clone();
    let fields: Vec<&str> = findings.as_array().unwrap().iter().map(|f| f["field"].as_str().unwrap()).collect();
    assert!(fields.iter().all(|field| field.starts_with("spec.template.")), "{fields:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    // More than a pipe holds, so that writing goes on after the reader has left.
    let file = example("sidecar.yaml");
    let arguments: Vec<&str> = std::iter::repeat_n(["-f", file.as_str()], 100).flatten().collect();
    let size = eventide(&[&["explain"], &arguments[..]].concat()).stdout.len();
    assert!(size > 128 * 1024, "{size}");
    let script = "\"$0\" explain \"$@\" | head -n 1; exit \"${PIPESTATUS[0]}\"";
    let output = Command::new("bash").args(["-c", script]).arg(binary()).args(&arguments).output().expect("bash runs");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn every_command_has_help_with_an_example() {
    let help = eventide(&["--help"]).stdout;
    for command in ["explain", "completions"] {
        assert!(help.contains(command), "{command}");
        let help = eventide(&[command, "--help"]);
        assert!(help.code == 0 && help.stdout.contains("Example"), "{command}");
    }
}

#[test]
fn completions_are_written_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(eventide(&["completions", shell]).stdout.contains("explain"), "{shell}");
    }
}
