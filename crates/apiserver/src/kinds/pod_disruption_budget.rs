//! Disruption budgets: how many pods may be evicted at a time.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::validation::formats;
use model::validation::{InvalidValues, validate_at_most_all, validate_int_or_percent, validate_selector};
use serde_json::json;

use super::workload::validate_counts;
use crate::kind::{Facts, Kind, NameRule, Part, Scene, Subresource, UpdateRule, bump_generation};
use crate::table::{Column, Row, age_cell, name_cell};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Min Available", "How many pods must stay."),
    Column::text("Max Unavailable", "How many pods may be gone."),
    Column::integer("Allowed Disruptions", "How many pods may be evicted now."),
    Column::AGE,
];

pub struct PodDisruptionBudgets;

impl Kind for PodDisruptionBudgets {
    type Object = PodDisruptionBudget;

    const FACTS: Facts = Facts {
        short_names: &["pdb"],
        names: NameRule::PathSegment,
        subresources: &[Subresource::STATUS],
        update: UpdateRule { may_create: false, may_skip_version: false },
        ..Facts::namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget")
    };

    fn prepare_for_create(budget: &mut PodDisruptionBudget, _scene: &Scene) {
        budget.status = Some(PodDisruptionBudgetStatus::default());
        budget.metadata.generation = Some(1);
    }

    fn validate(budget: &PodDisruptionBudget, _scene: &Scene, errors: &mut Errors) {
        if let Some(spec) = &budget.spec {
            validate_spec(spec, errors);
        }
    }

    fn prepare_for_update(new: &mut PodDisruptionBudget, old: &PodDisruptionBudget, _scene: &Scene) {
        new.status.clone_from(&old.status);
        bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
    }

    fn validate_update(new: &PodDisruptionBudget, _old: &PodDisruptionBudget, scene: &Scene, errors: &mut Errors) {
        Self::validate(new, scene, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut PodDisruptionBudget, old: &PodDisruptionBudget, _scene: &Scene) {
        new.spec.clone_from(&old.spec);
    }

    fn validate_part_update(
        _part: Part,
        new: &PodDisruptionBudget,
        _old: &PodDisruptionBudget,
        _scene: &Scene,
        errors: &mut Errors,
    ) {
        let Some(status) = &new.status else { return };
        let root = Path::root();
        let counts = [
            ("disruptionsAllowed", status.disruptions_allowed.map(i64::from)),
            ("currentHealthy", status.current_healthy.map(i64::from)),
            ("desiredHealthy", status.desired_healthy.map(i64::from)),
            ("expectedPods", status.expected_pods.map(i64::from)),
        ];
        validate_counts(&counts, root.child("status"), errors);
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(budget: &PodDisruptionBudget, now: Moment) -> Row {
        let metadata = &budget.metadata;
        let spec = budget.spec.clone().unwrap_or_default();
        let allowed = budget.status.as_ref().and_then(|status| status.disruptions_allowed).unwrap_or_default();
        Row::of([
            name_cell(metadata),
            shown(spec.min_available).into(),
            shown(spec.max_unavailable).into(),
            allowed.into(),
            age_cell(metadata, now),
        ])
    }
}

fn shown(amount: Option<IntOrString>) -> String {
    match amount {
        None => "N/A".to_owned(),
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(text)) => text,
    }
}

fn validate_spec(spec: &PodDisruptionBudgetSpec, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("spec");
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        errors.invalid(path, json!(spec), "minAvailable and maxUnavailable cannot be both set");
    }
    for (field, amount) in [("minAvailable", &spec.min_available), ("maxUnavailable", &spec.max_unavailable)] {
        if let Some(amount) = amount {
            validate_int_or_percent(amount, path.child(field), errors);
            validate_at_most_all(amount, path.child(field), errors);
        }
    }
    validate_selector(spec.selector.as_ref(), InvalidValues::Refused, path.child("selector"), errors);
    if let Some(policy) = &spec.unhealthy_pod_eviction_policy {
        let path = path.child("unhealthyPodEvictionPolicy");
        formats::choice(policy, &["AlwaysAllow", "IfHealthyBudget"], path, errors);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, part_errors, updated, with};

    fn budget() -> Value {
        json!({"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"a": "b"}}}})
    }

    #[test]
    fn budgets_are_checked() {
        let spec = |spec: Value| json!({"spec": spec});
        assert_refused::<PodDisruptionBudgets>(
            &budget(),
            &[
                (spec(json!({"minAvailable": "100%"})), &[]),
                (
                    spec(json!({"minAvailable": "101%"})),
                    &["spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"],
                ),
                (
                    spec(json!({"maxUnavailable": -1})),
                    &["spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"],
                ),
                (
                    spec(json!({"selector": null, "minAvailable": 1, "maxUnavailable": 1})),
                    &[
                        "spec: Invalid value: {\"maxUnavailable\":1,\"minAvailable\":1}: minAvailable and maxUnavailable cannot be both set",
                    ],
                ),
                (
                    spec(json!({"unhealthyPodEvictionPolicy": "X"})),
                    &[
                        "spec.unhealthyPodEvictionPolicy: Unsupported value: \"X\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\"",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn zero_is_a_budget() {
        let generation = |patch| updated::<PodDisruptionBudgets>(with(&budget(), patch), budget()).metadata.generation;
        assert_eq!(generation(json!({})), Some(1));
        assert_eq!(generation(json!({"spec": {"maxUnavailable": 0}})), Some(2));
    }

    #[test]
    fn statuses_and_rows() {
        let status = with(&budget(), json!({"status": {"expectedPods": -1}}));
        let errors = part_errors::<PodDisruptionBudgets>(Part::Status, status, budget());
        assert_eq!(errors, ["status.expectedPods: Invalid value: -1: must be greater than or equal to 0"]);
        let full = with(&budget(), json!({"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}}));
        assert_eq!(Value::from(cells::<PodDisruptionBudgets>(full)), json!(["b", "50%", "N/A", 2, "60m"]));
    }
}
