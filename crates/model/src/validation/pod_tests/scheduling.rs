//! Tolerations, gates, spread constraints, priorities.

use serde_json::{Value, json};

use super::{accepts, created, refuses};

fn tolerations(toleration: Value) -> Value {
    json!({"spec": {"tolerations": Value::Array(vec![toleration])}})
}

fn spread(constraints: Value) -> Value {
    let mut pod = json!({"metadata": {"labels": {"app": "a"}}, "spec": {}});
    pod["spec"]["topologySpreadConstraints"] = constraints;
    pod
}

#[test]
fn a_toleration_without_key_tolerates_everything() {
    accepts(&[
        tolerations(json!({"operator": "Exists"})),
        tolerations(json!({"key": "a", "value": "b"})),
        tolerations(json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1})),
    ]);
    refuses(&[
        (
            tolerations(json!({"operator": "Equal"})),
            "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which \
             means \"match all values and all keys\"",
        ),
        (
            tolerations(json!({"key": "a", "operator": "Exists", "value": "b"})),
            "spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
        ),
        (
            tolerations(json!({"key": "a", "tolerationSeconds": 1})),
            "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
        (
            tolerations(json!({"key": "a", "operator": "x"})),
            "spec.tolerations[0].operator: Unsupported value: \"x\": supported values: \"Equal\", \"Exists\"",
        ),
        (
            tolerations(json!({"key": "a", "operator": "Lt", "value": "1"})),
            "spec.tolerations[0].operator: Unsupported value: \"Lt\": supported values: \"Equal\", \"Exists\", \"Lt\", \
             \"Gt\"",
        ),
        (
            tolerations(json!({"key": "a", "effect": "x"})),
            "spec.tolerations[0].effect: Unsupported value: \"x\": supported values: \"NoSchedule\", \
             \"PreferNoSchedule\", \"NoExecute\"",
        ),
    ]);
}

#[test]
fn scheduling_gates_are_unique() {
    refuses(&[(
        json!({"spec": {"schedulingGates": [{"name": "a"}, {"name": "a"}]}}),
        "spec.schedulingGates[1]: Duplicate value: \"a\"",
    )]);
}

#[test]
fn readiness_gates_are_qualified_names() {
    accepts(&[json!({"spec": {"readinessGates": [{"conditionType": "a.io/b"}]}})]);
    let lines = created(&json!({"spec": {"readinessGates": [{"conditionType": "a/b/c"}]}}));
    assert!(lines[0].starts_with("spec.readinessGates[0].conditionType: Invalid value: \"a/b/c\""), "{lines:?}");
}

#[test]
fn the_preemption_policy_is_one_of_two() {
    refuses(&[
        (json!({"spec": {"preemptionPolicy": ""}}), "spec.preemptionPolicy: Required value"),
        (
            json!({"spec": {"preemptionPolicy": "x"}}),
            "spec.preemptionPolicy: Unsupported value: \"x\": supported values: \"PreemptLowerPriority\", \"Never\"",
        ),
    ]);
}

#[test]
fn spread_constraints_say_how_far_and_where() {
    let valid = json!({"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"});
    accepts(&[spread(json!([valid]))]);
    let with = |change: Value| {
        let mut constraint = valid.clone();
        super::merge(&mut constraint, &change);
        spread(json!([constraint]))
    };
    let path = "spec.topologySpreadConstraints[0]";
    let rows = [
        (json!({"maxSkew": 0}), format!("{path}.maxSkew: Invalid value: 0: must be greater than zero")),
        (json!({"topologyKey": ""}), format!("{path}.topologyKey: Required value: can not be empty")),
        (
            json!({"whenUnsatisfiable": "x"}),
            format!(
                "{path}.whenUnsatisfiable: Unsupported value: \"x\": supported values: \"DoNotSchedule\", \
                 \"ScheduleAnyway\""
            ),
        ),
        (
            json!({"whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1}),
            format!(
                "{path}.minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not \
                 ScheduleAnyway"
            ),
        ),
        (
            json!({"nodeTaintsPolicy": "x"}),
            format!("{path}.nodeTaintsPolicy: Unsupported value: \"x\": supported values: \"Honor\", \"Ignore\""),
        ),
        (
            json!({"matchLabelKeys": ["app"]}),
            format!("{path}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"),
        ),
        (
            json!({"matchLabelKeys": ["app"], "labelSelector": {"matchLabels": {"app": "a"}}}),
            format!("{path}[0]: Invalid value: \"app\": exists in both matchLabelKeys and labelSelector"),
        ),
    ];
    for (change, line) in rows {
        assert_eq!(created(&with(change.clone())), [line], "{change}");
    }
    assert_eq!(
        created(&spread(json!([valid, valid]))),
        ["spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{z, DoNotSchedule}\""]
    );
}
