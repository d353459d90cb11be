//! Bad input gets a clear error, exit code 2, and nothing else: no panic, no unbounded memory.

use std::io::Write;

use tests::{Run, eventide, eventide_reading, eventide_within, example};

fn refused(input: &[u8]) -> Run {
    let run = eventide_reading(input, &["explain", "-f", "-"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run
}

fn says(input: &[u8], words: &[&str]) {
    let run = refused(input);
    for word in words {
        assert!(run.stderr.contains(word), "{word:?} is not in {:?}", run.stderr);
    }
}

#[test]
fn a_refused_pod_gets_one_line_per_error_with_its_field_path() {
    let manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: Bad_Name}\nspec:\n  os: {name: linux}\n  containers:\n  \
                    - name: a\n    image: a\n    lifecycle: {stopSignal: SIGFOO, preStop: {sleep: {seconds: 99}}}\n";
    let run = refused(manifest.as_bytes());
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[0].contains("metadata.name: Invalid value: \"Bad_Name\""));
    assert!(lines[1].contains("spec.containers[0].lifecycle.preStop.sleep: Invalid value: 99: must be non-negative"));
    assert!(lines[2].contains("spec.containers[0].lifecycle.stopSignal: Unsupported value: \"SIGFOO\""));
}

#[test]
fn malformed_text_is_refused_with_line_and_column() {
    says(b"apiVersion: v1\nkind: Pod\nmetadata: {name: a\nspec: [", &["line 4"]);
    says(b"{\"apiVersion\": \"v1\",\n \"kind\": }", &["line 2", "column"]);
    says(b"apiVersion: v1\nkind: \xff\xfe\n", &["not UTF-8", "line 2"]);
    says(b"", &["holds no object"]);
}

#[test]
fn duplicate_keys_are_refused_with_their_place() {
    says(b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n", &["name", "line 5"]);
    says(b"{\"kind\":\"Pod\",\"kind\":\"Pod\"}", &["kind", "line 1"]);
}

#[test]
fn unknown_kinds_and_fields_are_refused_and_named() {
    says(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", &["ConfigMap", "Pod", "Deployment"]);
    let typo = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, imgae: a}]\n";
    says(typo, &["spec.containers[0].imgae", "did you mean \"image\"", "line 5"]);
}

#[test]
fn ten_thousand_levels_of_nesting_are_refused() {
    let open = "[".repeat(10_000);
    says(format!("apiVersion: v1\nkind: Pod\nspec: {open}").as_bytes(), &["nested deeper"]);
    let close = "]".repeat(10_000);
    says(format!("{{\"kind\":{open}{close}}}").as_bytes(), &["nested deeper"]);
    let mut block = String::from("apiVersion: v1\nkind: Pod\nspec:\n");
    (1..10_000).for_each(|level| block.push_str(&format!("{}a:\n", " ".repeat(level))));
    refused(block.as_bytes());
}

#[test]
fn a_hundred_megabytes_are_refused_within_bounded_memory() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let line = vec![b'#'; 1 << 20];
    (0..100).for_each(|_| file.write_all(&line).expect("room on disk"));
    let path = file.path().display().to_string();
    let run = eventide_within(512 * 1024, &["explain", "-f", &path]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("larger than"), "{}", run.stderr);
}

#[test]
fn an_alias_bomb_is_refused_within_bounded_memory() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let row = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bomb.as_bytes()).expect("room on disk");
    let run = eventide_within(1024 * 1024, &["explain", "-f", &file.path().display().to_string()]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let nginx = example("nginx.yaml");
    let rows: [(&[&str], &str); 6] = [
        (&["explain"], "--filename"),
        (&["explain", "-f", &nginx, "--grace", "soon"], "--grace"),
        (&["explain", "-f", &nginx, "--assume", "ngnix=1s"], "the pod has no container \"ngnix\" (it has: nginx)"),
        (&["explain", "-f", &nginx, "--assume", "nginx=soon"], "is no duration"),
        (&["explain", "-f", &nginx, "--feature-gates", "NoSuch=true"], "unrecognized feature gate: NoSuch"),
        (&["explian", "-f", &nginx], "explain"),
    ];
    for (arguments, words) in rows {
        let run = eventide(arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let run = eventide(&["explain", "-f", "no-such-file.yaml"]);
    assert!(run.code == 2 && run.stderr.contains("no-such-file.yaml: No such file"), "{}", run.stderr);
    let run = eventide(&["explain", "-f", "."]);
    assert!(run.code == 2 && run.stderr.contains("is a directory"), "{}", run.stderr);
}

#[test]
fn with_its_gate_off_a_stop_signal_is_refused_and_the_gate_is_named() {
    let run = eventide(&["explain", "-f", &example("nginx.yaml"), "--feature-gates", "ContainerStopSignals=false"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("spec.containers[0].lifecycle.stopSignal: Forbidden"), "{}", run.stderr);
    assert!(run.stderr.contains("ContainerStopSignals"), "{}", run.stderr);
}

#[test]
fn with_its_gate_off_a_zero_sleep_is_refused_and_the_gate_is_named() {
    let gate = "PodLifecycleSleepActionAllowZero=false";
    let run = eventide(&["explain", "-f", &example("zero-sleep.yaml"), "--feature-gates", gate]);
    assert_eq!(run.code, 2);
    let words = "must be greater than 0 and less than terminationGracePeriodSeconds (10). Please enable \
                 PodLifecycleSleepActionAllowZero feature gate if you need a sleep of zero duration.";
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn every_mistake_in_every_file_is_reported_together() {
    let run = eventide(&["explain", "-f", "missing-1.yaml", "-f", "missing-2.yaml", "-f", &example("nginx.yaml")]);
    assert_eq!((run.code, run.stderr.lines().count()), (2, 2), "{}", run.stderr);
}
