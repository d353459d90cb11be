//! Which priority a pod gets, class by class.

use serde_json::{Value, json};

use super::*;
use crate::test_support::with;

fn class(name: &str, value: i32, fields: Value) -> PriorityClass {
    serde_json::from_value(with(json!({"metadata": {"name": name}, "value": value}), fields)).unwrap()
}

fn given(spec: Value, class: &PriorityClass) -> Result<Value, String> {
    let mut spec: PodSpec = serde_json::from_value(with(json!({"containers": []}), spec)).unwrap();
    give(&mut spec, class)?;
    Ok(json!([spec.priority_class_name, spec.priority, spec.preemption_policy]))
}

#[test]
fn a_pod_gets_the_priority_of_its_class_and_may_not_claim_another() {
    let high = class("high", 7, json!({"preemptionPolicy": "Never"}));
    assert_eq!(given(json!({}), &high), Ok(json!(["high", 7, "Never"])));
    assert_eq!(given(json!({"priority": 7, "preemptionPolicy": "Never"}), &high), Ok(json!(["high", 7, "Never"])));
    assert_eq!(given(json!({}), &PriorityClass::default()), Ok(json!([null, 0, "PreemptLowerPriority"])));
    let claimed = given(json!({"priority": 8}), &high).unwrap_err();
    assert!(claimed.starts_with("the integer value of priority (8) must not be provided in pod spec;"), "{claimed}");
    let claimed = given(json!({"preemptionPolicy": "PreemptLowerPriority"}), &high).unwrap_err();
    assert!(claimed.starts_with("the string value of PreemptionPolicy (PreemptLowerPriority) must not"), "{claimed}");
}

#[test]
fn of_two_default_classes_the_lower_one_counts() {
    let default = json!({"globalDefault": true});
    let classes = [
        class("high", 9, default.clone()),
        class("low", 3, default),
        class("lowest", 1, json!({"globalDefault": false})),
    ];
    assert_eq!(default_class(&classes.iter().collect::<Vec<_>>()).unwrap().metadata.name.as_deref(), Some("low"));
    assert_eq!(default_class::<&PriorityClass>(&[]), None);
}

#[test]
fn an_update_that_leaves_the_priority_out_keeps_it() {
    let old: Pod =
        serde_json::from_value(json!({"spec": {"containers": [], "priority": 5, "preemptionPolicy": "Never"}}))
            .unwrap();
    let mut new = PodSpec::default();
    keep(&mut new, &old);
    assert_eq!((new.priority, new.preemption_policy.as_deref()), (Some(5), Some("Never")));
    new.priority = Some(6);
    keep(&mut new, &old);
    assert_eq!(new.priority, Some(6), "validation refuses the change, not this step");
}
