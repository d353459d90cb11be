//! Jobs as upstream defaults, labels, refuses and shows them.

use serde_json::{Value, json};

use super::Jobs;
use crate::kind::{Kind, Part};
use crate::kinds::test_support::{
    assert_refused, assert_update_refused, cells, created, defaults_of, part_errors, updated, with,
};

fn job() -> Value {
    json!({
        "metadata": {"name": "j", "namespace": "default", "uid": "u-1"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x:1"}]}}},
    })
}

/// The same, as a client would read it and send it back.
fn stored() -> Value {
    let labels = json!({
        "batch.kubernetes.io/controller-uid": "u-1", "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u-1", "job-name": "j",
    });
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}});
    with(
        &job(),
        json!({"spec": {"completions": 1, "selector": selector, "template": {"metadata": {"labels": labels}}}}),
    )
}

#[test]
fn one_pod_has_to_succeed_unless_the_job_says_otherwise() {
    let rows = [
        (json!({}), (json!(1), json!(1), json!(6))),
        (json!({"parallelism": 3}), (json!(null), json!(3), json!(6))),
        (json!({"completions": 3}), (json!(3), json!(1), json!(6))),
        (json!({"backoffLimitPerIndex": 1}), (json!(1), json!(1), json!(i32::MAX))),
    ];
    for (patch, expected) in rows {
        let spec = defaults_of::<Jobs>(with(&job(), json!({"spec": patch})))["spec"].clone();
        let found = (spec["completions"].clone(), spec["parallelism"].clone(), spec["backoffLimit"].clone());
        assert_eq!(found, expected, "{patch}");
        let rest = (&spec["completionMode"], &spec["suspend"], &spec["podReplacementPolicy"], &spec["manualSelector"]);
        assert_eq!(rest, (&json!("NonIndexed"), &json!(false), &json!("TerminatingOrFailed"), &json!(false)));
    }
}

#[test]
fn pods_are_labelled_with_the_job_and_selected_by_its_uid() {
    let job = created::<Jobs>(job());
    let spec = serde_json::to_value(job.spec).unwrap();
    assert_eq!(spec["selector"], stored()["spec"]["selector"]);
    assert_eq!(spec["template"]["metadata"], stored()["spec"]["template"]["metadata"]);
    assert_eq!(job.metadata.generation, Some(1));
}

#[test]
fn selectors_of_others_are_refused() {
    let labels = json!({"spec": {"template": {"metadata": {"labels": {"job-name": "x"}}}}});
    let selector =
        json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}});
    assert_refused::<Jobs>(
        &job(),
        &[
            (with(&selector, json!({"spec": {"manualSelector": true}})), &[]),
            (
                labels,
                &[
                    "spec.template.metadata.labels[job-name]: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"u-1\",\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u-1\",\"job-name\":\"x\"}: must be 'j'",
                ],
            ),
            (
                selector,
                &[
                    "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u-1\"}}: `selector` not auto-generated",
                ],
            ),
            (
                json!({"spec": {"manualSelector": true}}),
                &[
                    "spec.selector: Required value",
                    "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                ],
            ),
        ],
    );
}

#[test]
fn specs_are_checked() {
    let spec = |spec: Value| json!({"spec": spec});
    assert_refused::<Jobs>(
        &job(),
        &[
            (
                spec(json!({"backoffLimit": -1, "ttlSecondsAfterFinished": -1})),
                &[
                    "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
                    "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
                ],
            ),
            (
                spec(json!({"completionMode": "Indexed", "parallelism": 100_001})),
                &[
                    "spec.completions: Required value: when completion mode is Indexed",
                    "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
                ],
            ),
            (
                spec(
                    json!({"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001, "backoffLimitPerIndex": 1}),
                ),
                &[
                    "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
                    "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index",
                ],
            ),
            (
                spec(json!({"completionMode": "X"})),
                &["spec.completionMode: Unsupported value: \"X\": supported values: \"NonIndexed\", \"Indexed\""],
            ),
            (
                spec(json!({"backoffLimitPerIndex": 1})),
                &["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
            ),
            (
                spec(json!({"template": {"spec": {"restartPolicy": "Always"}}})),
                &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
            ),
            (
                spec(json!({"podReplacementPolicy": "X"})),
                &[
                    "spec.podReplacementPolicy: Unsupported value: \"X\": supported values: \"Failed\", \"TerminatingOrFailed\"",
                ],
            ),
            (
                json!({"metadata": {"name": "a".repeat(62)}, "spec": {"completionMode": "Indexed", "completions": 1}}),
                &[&format!(
                    "metadata.name: Invalid value: \"{0}\": will not able to create pod with invalid DNS label: {0}-0",
                    "a".repeat(62)
                )],
            ),
        ],
    );
}

#[test]
fn failure_policies_are_checked() {
    let rule = |rule: Value| json!({"spec": {"podFailurePolicy": {"rules": [rule]}}});
    let root = "spec.podFailurePolicy.rules[0]";
    let both = format!("{root}: Invalid value: null: specifying one of OnExitCodes and OnPodConditions is required");
    let zero = format!("{root}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator");
    let order = format!("{root}.onExitCodes.values: Invalid value: [1,0]: must be ordered");
    let name = format!(
        "{root}.onExitCodes.containerName: Invalid value: \"x\": must be one of the container or initContainer names in the pod template"
    );
    let index = format!("{root}.action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set");
    let codes = json!({"operator": "In", "values": [1]});
    assert_refused::<Jobs>(
        &job(),
        &[
            (rule(json!({"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]})), &[]),
            (rule(json!({"action": "Ignore"})), &[&both]),
            (rule(json!({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 0]}})), &[&zero, &order]),
            (
                rule(
                    json!({"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0], "containerName": "x"}}),
                ),
                &[&name],
            ),
            (rule(json!({"action": "FailIndex", "onExitCodes": codes})), &[&index]),
            (
                with(
                    &rule(json!({"action": "Ignore", "onExitCodes": codes})),
                    json!({"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}),
                ),
                &[
                    "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported when podFailurePolicy is specified",
                ],
            ),
        ],
    );
}

#[test]
fn only_how_fast_and_how_long_may_change() {
    assert_update_refused::<Jobs>(
        &stored(),
        &[
            (json!({"spec": {"parallelism": 2, "suspend": true, "ttlSecondsAfterFinished": 0}}), &[]),
            (json!({"spec": {"completions": 5}}), &["spec.completions: Invalid value: 5: field is immutable"]),
            (
                json!({"spec": {"selector": {"matchLabels": {"job-name": "j"}}}}),
                &[
                    "spec.selector: Invalid value: {\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"u-1\",\"job-name\":\"j\"}}: field is immutable",
                ],
            ),
        ],
    );
    let selected = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}});
    let suspended = with(&stored(), json!({"spec": {"suspend": true}}));
    assert_update_refused::<Jobs>(&suspended, &[(selected.clone(), &[])]);
    let running = crate::kinds::test_support::update_errors::<Jobs>(with(&stored(), selected), stored());
    assert!(
        matches!(running.as_slice(), [error] if error.starts_with("spec.template: Invalid value: ")),
        "{running:?}"
    );
    let ttl = with(&stored(), json!({"spec": {"ttlSecondsAfterFinished": 0}}));
    assert_eq!(updated::<Jobs>(ttl, stored()).metadata.generation, Some(2));
}

#[test]
fn statuses_are_checked() {
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let status =
        |status: Value| part_errors::<Jobs>(Part::Status, with(&stored(), json!({"status": status})), stored());
    assert_eq!(status(json!({"active": -1})), ["status.active: Invalid value: -1: must be greater than or equal to 0"]);
    assert_eq!(
        status(json!({"conditions": [condition("Complete")], "active": 1})),
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.startTime: Required value: startTime is required for finished job",
        ]
    );
    let mut old = created::<Jobs>(job());
    old.status = serde_json::from_value(json!({"failed": 2, "conditions": [condition("FailureTarget")]})).unwrap();
    let errors = crate::kinds::test_support::part_errors_over::<Jobs>(
        Part::Status,
        with(&stored(), json!({"status": {"failed": 1}})),
        &old,
    );
    assert_eq!(
        errors,
        [
            "status.conditions: Invalid value: null: cannot disable the terminal FailureTarget=True condition",
            "status.failed: Invalid value: 1: cannot decrease the failed counter",
        ]
    );
}

#[test]
fn a_row_shows_how_far_it_is() {
    let patch = json!({"status": {"succeeded": 1, "startTime": "1970-01-01T00:00:00Z", "completionTime": "1970-01-01T00:00:09Z",
        "conditions": [{"type": "Complete", "status": "True"}]}});
    let full = with(&stored(), patch);
    let selector = "batch.kubernetes.io/controller-uid=u-1";
    assert_eq!(cells::<Jobs>(full.clone()), ["j", "Complete", "1/1", "9s", "60m", "c", "x:1", selector]);
    assert_eq!(cells::<Jobs>(job())[1..4], ["Running", "0/1", ""]);
    let parallel = with(&job(), json!({"spec": {"parallelism": 3}}));
    assert_eq!(cells::<Jobs>(parallel)[2], "0/1 of 3");
    let fields = Jobs::selectable_fields(&crate::kinds::test_support::read::<Jobs>(full));
    assert_eq!(fields, [("status.successful", "1".into())]);
}
