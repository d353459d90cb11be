//! What manifests say and what is wrong with them, row by row.

use std::fmt::Write as _;

use proptest::prelude::{ProptestConfig, any, proptest};

use super::{Document, Kind, Limits, ManifestError, Workload, read};

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec:\n  containers:\n  - name: a\n";

fn good(text: &str) -> Vec<Document> {
    read(text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

fn bad(text: impl AsRef<[u8]>) -> String {
    match read(text.as_ref(), &Limits::default()) {
        Ok(documents) => panic!("accepted: {documents:?}"),
        Err(error) => error.to_string(),
    }
}

fn pod_with(lines: &str) -> String {
    format!("{POD}{lines}")
}

#[test]
fn a_pod_is_read_with_its_name_and_namespace() {
    let documents = good(POD);
    let [document] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!((document.index, document.line, document.kind), (1, 1, Kind::Pod));
    assert_eq!((document.name.as_deref(), document.namespace.as_deref()), (Some("web"), Some("shop")));
    assert_eq!(document.pod_path(), "");
    assert_eq!(document.workload.spec().unwrap().containers[0].name, "a");
}

#[test]
fn every_kind_gives_its_template_and_the_path_to_it() {
    for kind in Kind::ALL {
        let mut text = format!("apiVersion: {}\nkind: {kind}\nmetadata:\n  name: x\n", kind.api_version());
        let steps: Vec<&str> = kind.pod_path().split('.').filter(|step| !step.is_empty()).collect();
        for (depth, step) in steps.iter().enumerate() {
            writeln!(text, "{}{step}:", "  ".repeat(depth)).unwrap();
        }
        let margin = "  ".repeat(steps.len());
        write!(text, "{margin}metadata: {{name: x}}\n{margin}spec:\n{margin}  containers: [{{name: a}}]\n").unwrap();
        if kind == Kind::Pod || kind == Kind::PodTemplate {
            text = text.replacen("metadata:\n  name: x\n", "", 1);
        }
        let document = good(&text).remove(0);
        assert_eq!(document.kind, kind);
        assert_eq!(document.workload.spec().unwrap().containers[0].name, "a", "{kind}");
        assert_eq!(matches!(document.workload, Workload::Pod(_)), kind == Kind::Pod);
    }
}

#[test]
fn several_documents_are_read_and_empty_ones_are_skipped() {
    let text = format!("# a comment\n---\n{POD}---\n---\n# nothing\n---\n{POD}...\n{POD}");
    let places: Vec<(usize, usize)> = good(&text).iter().map(|d| (d.index, d.line)).collect();
    assert_eq!(places, [(1, 1), (2, 12), (3, 20)]);
}

#[test]
fn json_is_read_also_several_in_a_row() {
    let one = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[]}}"#;
    let documents = good(&format!("\n {one}\n{one}{one}"));
    assert_eq!(documents.iter().map(|d| (d.index, d.line)).collect::<Vec<_>>(), [(1, 2), (2, 3), (3, 3)]);
}

#[test]
fn a_list_is_expanded_also_inside_a_list() {
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#;
    let list = format!(r#"{{"apiVersion":"v1","kind":"List","metadata":{{}},"items":[{pod},{pod}]}}"#);
    assert_eq!(good(&list).len(), 2);
    let nested = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{list},{pod}]}}"#);
    assert_eq!(good(&nested).len(), 3);
    let broken = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  spce: {}\n";
    assert_eq!(bad(broken), "line 6, column 3: unknown field \"spce\", did you mean \"spec\"?");
}

#[test]
fn yaml_scalars_are_read_as_kubectl_reads_them() {
    let text = pod_with(
        "  hostNetwork: no\n  hostPID: on\n  terminationGracePeriodSeconds: 30.0\n  activeDeadlineSeconds: 3e1\n  \
         volumes:\n  - name: v\n    secret: {defaultMode: 0644}\n  overhead: {cpu: 1, memory: 0.5}\n",
    );
    let documents = good(&text);
    let spec = documents[0].workload.spec().unwrap();
    assert_eq!((spec.host_network, spec.host_pid), (Some(false), Some(true)));
    assert_eq!((spec.termination_grace_period_seconds, spec.active_deadline_seconds), (Some(30), Some(30)));
    assert_eq!(spec.volumes.as_ref().unwrap()[0].secret.as_ref().unwrap().default_mode, Some(420));
    let overhead: Vec<&str> = spec.overhead.as_ref().unwrap().values().map(|quantity| quantity.0.as_str()).collect();
    assert_eq!(overhead, ["1", "0.5"]);
}

#[test]
fn null_is_not_set_as_in_go() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  creationTimestamp: null\n  labels: {x: null}\n\
                spec:\n  nodeName: null\n  containers:\n  - null\n  - name: null\n    args: null\nstatus: {}\n";
    let documents = good(text);
    let spec = documents[0].workload.spec().unwrap();
    assert_eq!(spec.containers.len(), 2);
    assert_eq!((spec.node_name.as_deref(), spec.containers[1].name.as_str()), (None, ""));
    assert_eq!(documents[0].workload.metadata().unwrap().labels.as_ref().unwrap()["x"], "");
}

#[test]
fn anchors_aliases_and_merge_keys_are_expanded() {
    let text = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - &base\n    name: a\n    image: x\n  \
                - <<: *base\n    name: b\n  - *base\n";
    let containers = &good(text)[0].workload.spec().unwrap().containers.clone();
    let read: Vec<(&str, Option<&str>)> = containers.iter().map(|c| (c.name.as_str(), c.image.as_deref())).collect();
    assert_eq!(read, [("a", Some("x")), ("b", Some("x")), ("a", Some("x"))]);
}

#[test]
fn unknown_fields_are_all_reported_with_what_was_probably_meant() {
    let text = pod_with("    comand: [x]\n    lifecycle:\n      prestop: {}\n      zzz: 1\n  hostNetwrk: true\n");
    assert_eq!(
        bad(text),
        "line 7, column 5: unknown field \"spec.containers[0].comand\", did you mean \"command\"?\n\
         line 9, column 7: unknown field \"spec.containers[0].lifecycle.prestop\", did you mean \"preStop\"?\n\
         line 10, column 7: unknown field \"spec.containers[0].lifecycle.zzz\"\n\
         line 11, column 3: unknown field \"spec.hostNetwrk\", did you mean \"hostNetwork\"?"
    );
}

#[test]
fn wrong_types_name_the_field_and_what_was_expected() {
    let rows = [
        (
            "    ports: [{containerPort: http}]\n",
            "line 7, column 14: spec.containers[0].ports[0].containerPort: Invalid value: \
             expected a 32-bit integer, found string \"http\"",
        ),
        (
            "    env:\n    - name: A\n      value: 8080\n",
            "line 9, column 7: spec.containers[0].env[0].value: Invalid value: \
             expected a string, found integer `8080`",
        ),
        (
            "    lifecycle: graceful\n",
            "line 7, column 5: spec.containers[0].lifecycle: Invalid value: \
             expected an object (Lifecycle), found a string",
        ),
        (
            "    args: --x\n",
            "line 7, column 5: spec.containers[0].args: Invalid value: expected a list, found a string",
        ),
        (
            "  terminationGracePeriodSeconds: 1.5\n",
            "line 7, column 3: spec.terminationGracePeriodSeconds: Invalid value: \
             expected a 64-bit integer, found floating point `1.5`",
        ),
        (
            "  priority: 3000000000\n",
            "line 7, column 3: spec.priority: Invalid value: \
             expected a 32-bit integer, found integer `3000000000`",
        ),
        (
            "  nodeSelector: {disk: true}\n",
            "line 7, column 18: spec.nodeSelector.disk: Invalid value: \
             expected a string, found boolean `true`",
        ),
    ];
    for (lines, message) in rows {
        assert_eq!(bad(pod_with(lines)), message);
    }
}

#[test]
fn a_type_error_does_not_hide_the_unknown_fields_before_it() {
    let text = pod_with("    comand: [x]\n    stdin: maybe\n");
    let error = bad(text);
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(error.contains("unknown field \"spec.containers[0].comand\""), "{error}");
    assert!(error.contains("spec.containers[0].stdin: Invalid value"), "{error}");
}

#[test]
fn objects_that_hold_no_pod_are_refused_with_their_place() {
    let rows = [
        (
            "apiVersion: v1\nkind: Service\n",
            "line 2, column 1: kind \"Service\" (v1) holds no pod; kinds that are understood: Pod, PodTemplate, \
             ReplicationController, Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob, and a v1 List of them",
        ),
        (
            "apiVersion: extensions/v1beta1\nkind: Deployment\n",
            "line 1, column 1: apiVersion of a Deployment must be apps/v1, found \"extensions/v1beta1\"",
        ),
        ("kind: Pod\n", "line 1, column 1: apiVersion is not set"),
        ("apiVersion: v1\n", "line 1, column 1: kind is not set"),
        ("apiVersion: v1\nkind: 7\n", "line 2, column 1: kind must be a string, found a number"),
        ("- a\n", "line 1, column 1: expected an object with apiVersion and kind, found a list"),
        ("just words\n", "line 1, column 1: expected an object with apiVersion and kind, found a string"),
        (
            "apiVersion: v1\nkind: List\nitems: {}\n",
            "line 3, column 1: items of a List must be a list, found an object",
        ),
        (
            "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 1\n",
            "line 3, column 1: spec.template: Required value",
        ),
        ("apiVersion: batch/v1\nkind: CronJob\n", "line 1, column 1: spec.jobTemplate.spec.template: Required value"),
        ("", "the manifest holds no object"),
        ("# only a comment\n---\n", "the manifest holds no object"),
        ("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}", "the manifest holds no object"),
    ];
    for (text, message) in rows {
        assert_eq!(bad(text), message, "{text}");
    }
    let second = format!("{POD}---\napiVersion: v1\nkind: Secret\n");
    assert!(bad(second).starts_with("document 2, line 9, column 1: kind \"Secret\" (v1) holds no pod"));
}

#[test]
fn malformed_text_is_refused_with_line_and_column() {
    let rows = [
        ("a: [1\nb: 2\n", "line 2, column 2: malformed YAML: "),
        ("a: \"x\n", "line 2, column 1: malformed YAML: "),
        ("a: b: c\n", "line 1, column 5: malformed YAML: "),
        ("a: *nowhere\n", "line 1, column 4: malformed YAML: "),
        ("a: 1\n\tb: 2\n", "line 1, column 4: malformed YAML: "),
        ("a: .inf\n", "line 1, column 4: malformed YAML: "),
        ("{\"a\": }\n", "line 1, column 7: malformed JSON: expected value"),
        ("{\"a\": 1\n", "line 2, column 1: malformed JSON: EOF while parsing an object"),
        ("{\"a\": 1} x\n", "document 2, line 1, column 10: malformed JSON: expected value"),
        ("{\"é\": }\n", "line 1, column 7: malformed JSON: expected value"),
        ("{\"a\": 1e999}\n", "line 1, column 11: malformed JSON: number out of range"),
    ];
    let wrong: Vec<String> = rows
        .into_iter()
        .filter(|(text, start)| !bad(text).starts_with(start))
        .map(|(text, start)| format!("{text:?}\n  {start}\n  {}", bad(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn duplicate_keys_are_refused_with_line_and_column() {
    let rows = [
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: key \"a\" stands twice in the same object"),
        ("x:\n- {a: 1, 'a': 2}\n", "line 2, column 10: key \"a\" stands twice in the same object"),
        ("{\"a\": 1,\n \"a\": 2}", "line 2, column 4: key \"a\" stands twice in the same object"),
        ("{\"x\": [{\"\\u0061\": 1, \"a\": 2}]}", "line 1, column 24: key \"a\" stands twice in the same object"),
    ];
    for (text, message) in rows {
        assert_eq!(bad(text), message, "{text}");
    }
    let second = format!("{POD}---\na: 1\na: 2\n");
    assert_eq!(bad(second), "document 2, line 9, column 1: key \"a\" stands twice in the same object");
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_their_place() {
    assert_eq!(bad(b"a: 1\nb: \xc3\x28"), "line 2, column 4: not UTF-8: byte 0xc3 at offset 8");
    assert_eq!(bad(b"\xff\xfea\0"), "line 1, column 1: not UTF-8: byte 0xff at offset 0");
    assert_eq!(bad("é: \u{1}".as_bytes()).split(':').next(), Some("line 1, column 4"));
    assert_eq!(good(&format!("\u{feff}{POD}")).len(), 1);
}

#[test]
fn ten_thousand_levels_are_refused_and_fifty_are_not() {
    let block = |levels: usize| (0..levels).fold(String::new(), |text, i| text + &" ".repeat(i) + "a:\n");
    let flow = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let json = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
    for text in [block(2_000), flow(10_000), json(10_000), flow(51), json(51), block(51)] {
        let error = read(text.as_bytes(), &Limits::default()).unwrap_err();
        assert!(matches!(error, ManifestError::TooDeep { max_depth: 50, .. }), "{error}");
    }
    assert!(bad(json(10_000)).starts_with("line 1, column "));
    for text in [flow(50), json(50), block(50)] {
        let error = read(text.as_bytes(), &Limits::default()).unwrap_err();
        assert!(!matches!(error, ManifestError::TooDeep { .. }), "{error}");
    }
    let unclosed = "[".repeat(10_000);
    assert!(matches!(read(unclosed.as_bytes(), &Limits::default()), Err(ManifestError::TooDeep { .. })));
}

#[test]
fn nesting_that_aliases_add_up_is_counted() {
    let mut text = "a0: &a0 1\n".to_owned();
    for i in 1..60 {
        let before = i - 1;
        writeln!(text, "a{i}: &a{i} {}*a{before}{}", "[".repeat(40), "]".repeat(40)).unwrap();
    }
    let error = read(text.as_bytes(), &Limits::default()).unwrap_err();
    assert!(matches!(error, ManifestError::TooDeep { .. }), "{error}");
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..12 {
        let before = i - 1;
        writeln!(text, "a{i}: &a{i} [{}]", vec![format!("*a{before}"); 10].join(", ")).unwrap();
    }
    let limits = Limits { max_values: 10_000, ..Limits::default() };
    let error = read(text.as_bytes(), &limits).unwrap_err();
    assert!(matches!(error, ManifestError::TooManyValues { .. }), "{error}");
}

#[test]
fn what_is_beyond_a_limit_is_refused() {
    let limits = Limits { max_bytes: 200, max_depth: 8, max_documents: 1, max_values: 12, max_fields: 130 };
    let error = |text: &str| read(text.as_bytes(), &limits).unwrap_err().to_string();
    assert_eq!(error(&"x".repeat(201)), "the manifest is larger than 200 bytes, the most that is read");
    assert_eq!(error(&r#"{"apiVersion":"v1","kind":"Pod"}"#.repeat(2)), "more than 1 documents, the most that is read");
    let list = pod_with("  hostAliases: [1, 2, 3]\n");
    assert_eq!(error(&list), "line 7, column 20: more than 12 values, aliases expanded, the most that is read");
    let containers = pod_with("  - {}\n  - {}\n");
    assert_eq!(
        error(&containers),
        "line 8, column 5: spec.containers[2]: the objects up to here have more than 130 fields, the most that is read"
    );
}

#[test]
fn what_was_read_reads_back_from_its_json() {
    let rich = pod_with(
        "    lifecycle: {stopSignal: SIGUSR1, preStop: {sleep: {seconds: 0}}}\n    resources: {limits: {cpu: 1}}\n  \
         tolerations: [{operator: Exists}]\n",
    );
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n      \
                    containers: [{name: a, livenessProbe: {httpGet: {port: http}}}]\n";
    for text in [rich.as_str(), template] {
        let first = good(text).remove(0);
        let again = good(&first.to_json().to_string()).remove(0);
        assert_eq!(first.workload.spec(), again.workload.spec());
        assert_eq!((first.name, first.namespace), (again.name, again.namespace));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes, &Limits::default());
    }

    #[test]
    fn arbitrary_marks_never_panic(text in "[\\[\\]{}:,&*!|>'\"%@#\\-? \n\tab01<.\\\\]{0,60}") {
        let _ = read(text.as_bytes(), &Limits::default());
    }

    #[test]
    fn a_damaged_pod_never_panics(at in 0..POD.len(), byte in any::<u8>(), cut in 0..POD.len()) {
        let mut bytes = POD.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = read(&bytes, &Limits::default());
        bytes.truncate(cut);
        let _ = read(&bytes, &Limits::default());
    }
}
