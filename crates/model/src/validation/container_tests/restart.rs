//! Restart policies of containers and their rules.

use serde_json::{Value, json};

use super::{assert_rows, container, container_errors, errors_in};

fn rules(count: usize, codes: usize) -> Value {
    let rule = json!({"action": "Restart", "exitCodes": {"operator": "In", "values": vec![1; codes]}});
    json!({"restartPolicy": "Never", "restartPolicyRules": vec![rule; count]})
}

/// 2.1.5
#[test]
fn containers_may_have_one_of_three_restart_policies() {
    for policy in ["Always", "Never", "OnFailure"] {
        assert!(container_errors(json!({"restartPolicy": policy})).is_empty());
        let init = json!([{"name": "i", "image": "x", "restartPolicy": policy}]);
        assert!(errors_in(json!({"containers": [container(json!({}))], "initContainers": init})).is_empty());
    }
    assert_rows(&[(
        json!({"restartPolicy": "Sometimes"}),
        &["restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"Never\", \"OnFailure\""],
    )]);
}

/// 2.1.6
#[test]
fn restart_rules_need_a_policy() {
    let missing = "restartPolicy: Required value: must specify restartPolicy when restart rules are used";
    assert_rows(&[
        (json!({"restartPolicyRules": []}), &[]),
        (
            json!({"restartPolicyRules": [{"action": "Restart"}]}),
            &[missing, "restartPolicyRules[0].exitCodes: Required value: must be specified"],
        ),
    ]);
}

/// 2.1.6
#[test]
fn rules_of_an_init_container_without_a_policy_are_not_looked_at() {
    let init = json!([{"name": "i", "image": "x", "restartPolicyRules": [{"action": "Explode"}]}]);
    assert_eq!(
        errors_in(json!({"containers": [container(json!({}))], "initContainers": init})),
        [
            "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used"
        ]
    );
}

/// 2.1.6
#[test]
fn there_are_at_most_20_rules_of_at_most_255_codes() {
    assert_rows(&[
        (rules(20, 255), &[]),
        (rules(21, 1), &["restartPolicyRules: Too many: 21: must have at most 20 items"]),
        (rules(1, 256), &["restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items"]),
    ]);
}

/// 2.1.6
#[test]
fn a_rule_has_a_known_action_and_operator() {
    assert_rows(&[
        (
            json!({"restartPolicy": "Never", "restartPolicyRules": [
                {"action": "RestartAllContainers", "exitCodes": {"operator": "NotIn", "values": [0]}},
            ]}),
            &[],
        ),
        (
            json!({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Explode", "exitCodes": {"operator": ""}}]}),
            &[
                "restartPolicyRules[0].action: Unsupported value: \"Explode\": supported values: \"Restart\", \
                 \"RestartAllContainers\"",
                "restartPolicyRules[0].exitCodes.operator: Unsupported value: \"\": supported values: \"In\", \"NotIn\"",
            ],
        ),
    ]);
}
