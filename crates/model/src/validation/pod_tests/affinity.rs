//! Node affinity, pod affinity, pod anti-affinity.

use serde_json::{Value, json};

use super::{accepts, refuses};

fn required_node(term: Value) -> Value {
    let selector = json!({"nodeSelectorTerms": Value::Array(vec![term])});
    json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}})
}

fn required_pod(term: Value) -> Value {
    json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": Value::Array(vec![term])}}}})
}

#[test]
fn node_requirements_have_as_many_values_as_their_operator_takes() {
    let requirement = |operator: &str, values: Value| {
        required_node(json!({"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}))
    };
    accepts(&[
        requirement("In", json!(["a", "b"])),
        requirement("Exists", json!([])),
        requirement("Gt", json!(["1"])),
        required_node(json!({})),
    ]);
    const AT: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution\
                      .nodeSelectorTerms[0].matchExpressions[0]";
    let rows = [
        ("In", json!([]), "values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
        (
            "Exists",
            json!(["a"]),
            "values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        (
            "Lt",
            json!(["1", "2"]),
            "values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
        ),
        ("x", json!(["a"]), "operator: Invalid value: \"x\": not a valid selector operator"),
    ];
    for (operator, values, error) in rows {
        refuses(&[(requirement(operator, values), &format!("{AT}.{error}"))]);
    }
}

#[test]
fn nodes_are_selected_by_the_field_name_only() {
    let field = |key: &str, operator: &str| {
        required_node(json!({"matchFields": [{"key": key, "operator": operator, "values": ["n"]}]}))
    };
    const AT: &str =
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]";
    accepts(&[field("metadata.name", "NotIn")]);
    refuses(&[
        (
            field("metadata.uid", "In"),
            &format!("{AT}.key: Invalid value: \"metadata.uid\": not a valid field selector key"),
        ),
        (
            field("metadata.name", "Exists"),
            &format!("{AT}.operator: Invalid value: \"Exists\": not a valid selector operator"),
        ),
    ]);
}

#[test]
fn a_required_node_selector_has_terms() {
    refuses(&[(
        json!({"spec": {"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
        }}}}),
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: \
         must have at least one node selector term",
    )]);
}

#[test]
fn weights_are_from_1_to_100() {
    let weighted = |weight: i32| {
        json!({"spec": {"affinity": {"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": {}}]
        }}}})
    };
    accepts(&[weighted(1), weighted(100)]);
    for weight in [0, 101] {
        let line = format!(
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: \
             {weight}: must be in the range 1-100"
        );
        refuses(&[(weighted(weight), &line)]);
    }
}

#[test]
fn label_keys_need_a_selector_and_are_not_selected_twice() {
    const AT: &str = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
    let labelled = |term: Value| {
        let mut pod = required_pod(term);
        pod["metadata"] = json!({"labels": {"app": "a"}});
        pod
    };
    accepts(&[labelled(json!({"topologyKey": "z", "matchLabelKeys": ["app"], "labelSelector": {}}))]);
    refuses(&[
        (
            labelled(json!({"topologyKey": "z", "matchLabelKeys": ["app"]})),
            &format!("{AT}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"),
        ),
        (
            labelled(json!({
                "topologyKey": "z", "matchLabelKeys": ["app"], "labelSelector": {"matchLabels": {"app": "x"}}
            })),
            &format!("{AT}[0]: Invalid value: \"app\": exists in both matchLabelKeys and labelSelector"),
        ),
        (
            json!({"spec": required_pod(json!({
                "topologyKey": "z", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"], "labelSelector": {}
            }))["spec"]}),
            &format!(
                "{AT}.matchLabelKeys[0]: Invalid value: \"a\": exists in both matchLabelKeys and mismatchLabelKeys"
            ),
        ),
    ]);
}
