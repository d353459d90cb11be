//! Priority classes: names for priorities.

use k8s_openapi::api::scheduling::v1::PriorityClass;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::validation::formats::{self, IMMUTABLE};
use serde_json::json;

use crate::kind::{Facts, Kind, Scene};
use crate::table::{Column, Row, age_cell, name_cell};

const SYSTEM_PREFIX: &str = "system-";
const USER_MAX: i32 = 1_000_000_000;
/// The classes that are there from the start, and nothing else under their prefix.
const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-node-critical", 2 * USER_MAX + 1000), ("system-cluster-critical", 2 * USER_MAX)];

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Value", "The priority that pods of this class get."),
    Column::boolean("Global-Default", "Whether pods without a class get this one."),
    Column::AGE,
    Column::text("PreemptionPolicy", "Whether pods of this class may push others away."),
];

pub struct PriorityClasses;

impl Kind for PriorityClasses {
    type Object = PriorityClass;

    const FACTS: Facts = Facts {
        short_names: &["pc"],
        ..Facts::cluster("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass")
    };

    fn default(class: &mut PriorityClass) {
        class.preemption_policy.get_or_insert_with(|| "PreemptLowerPriority".to_owned());
    }

    fn prepare_for_create(class: &mut PriorityClass, _scene: &Scene) {
        class.metadata.generation = Some(1);
    }

    fn validate(class: &PriorityClass, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        let name = class.metadata.name.as_deref().unwrap_or_default();
        let value = class.value.unwrap_or_default();
        if name.starts_with(SYSTEM_PREFIX) {
            if let Some(fault) = system_fault(name, value, class.global_default == Some(true)) {
                let detail = format!(
                    "priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {fault}"
                );
                errors.forbidden(root.child("metadata.name"), &detail);
            }
        } else if value > USER_MAX {
            let detail = format!("maximum allowed value of a user defined priority is {USER_MAX}");
            errors.forbidden(root.child("value"), &detail);
        }
        if let Some(policy) = &class.preemption_policy {
            let path = root.child("preemptionPolicy");
            formats::required_choice(policy, &["PreemptLowerPriority", "Never"], path, errors);
        }
    }

    fn validate_update(new: &PriorityClass, old: &PriorityClass, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        if new.value.unwrap_or_default() != old.value.unwrap_or_default() {
            errors.forbidden(root.child("value"), "may not be changed in an update.");
        }
        if new.preemption_policy != old.preemption_policy {
            errors.invalid(root.child("preemptionPolicy"), json!(new.preemption_policy), IMMUTABLE);
        }
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(class: &PriorityClass, now: Moment) -> Row {
        let metadata = &class.metadata;
        Row::of([
            name_cell(metadata),
            class.value.unwrap_or_default().into(),
            (class.global_default == Some(true)).into(),
            age_cell(metadata, now),
            class.preemption_policy.clone().unwrap_or_default().into(),
        ])
    }
}

fn system_fault(name: &str, value: i32, global_default: bool) -> Option<String> {
    match SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, right)) if *right != value => Some(format!("value of {name} PriorityClass must be {right}")),
        Some(_) if global_default => Some(format!("globalDefault of {name} PriorityClass must be false")),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::kinds::test_support::{assert_refused, assert_update_refused, cells};

    fn class() -> Value {
        json!({"metadata": {"name": "p"}, "value": 5})
    }

    #[test]
    fn high_priorities_and_the_prefix_belong_to_the_system() {
        let reserved = |fault: &str| {
            format!(
                "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: {fault}"
            )
        };
        let unknown = reserved("system-x is not a known system priority class");
        let value = reserved("value of system-node-critical PriorityClass must be 2000001000");
        let global = reserved("globalDefault of system-node-critical PriorityClass must be false");
        let node = json!({"name": "system-node-critical"});
        assert_refused::<PriorityClasses>(
            &class(),
            &[
                (json!({"value": USER_MAX}), &[]),
                (
                    json!({"value": USER_MAX + 1}),
                    &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
                ),
                (json!({"metadata": {"name": "system-x"}}), &[&unknown]),
                (json!({"metadata": node}), &[&value]),
                (json!({"metadata": node, "value": 2_000_001_000, "globalDefault": true}), &[&global]),
                (json!({"metadata": node, "value": 2_000_001_000}), &[]),
                (
                    json!({"preemptionPolicy": "X"}),
                    &[
                        "preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\"",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn the_value_stays() {
        assert_update_refused::<PriorityClasses>(
            &class(),
            &[
                (json!({"globalDefault": true}), &[]),
                (json!({"value": 6}), &["value: Forbidden: may not be changed in an update."]),
                (
                    json!({"preemptionPolicy": "Never"}),
                    &["preemptionPolicy: Invalid value: \"Never\": field is immutable"],
                ),
            ],
        );
    }

    #[test]
    fn a_row_shows_the_value() {
        assert_eq!(
            Value::from(cells::<PriorityClasses>(class())),
            json!(["p", 5, false, "60m", "PreemptLowerPriority"])
        );
    }
}
