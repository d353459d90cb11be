//! Daemon sets: a pod on every node.
//!
//! Upstream also counts generations of the template inside the spec; `apps/v1` carries that only in an annotation, which
//! is stored as it comes.

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus, DaemonSetUpdateStrategy};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use lifecycle::deletion::Propagation;
use lifecycle::moment::Moment;
use model::defaults::{default_template, fill};
use model::field::{Errors, Path};
use model::prepare::prepare_template;
use model::validation::{Workload, int_or_percent_value, validate_at_most_all, validate_int_or_percent};
use serde_json::json;

use super::workload::{self, Subject};
use crate::kind::{Facts, Kind, Part, Scene, Subresource, bump_generation};
use crate::table::{Column, Row, age_cell, container_cells, labels_cell, name_cell, selector_cell};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Desired", "How many nodes should run the pod."),
    Column::integer("Current", "How many of these nodes run it."),
    Column::integer("Ready", "How many nodes run it and have it ready."),
    Column::integer("Up-to-date", "How many nodes run it from the present template."),
    Column::integer("Available", "How many nodes have had it ready for long enough."),
    Column::text("Node Selector", "Which nodes run the pod, by their labels."),
    Column::AGE,
    Column::CONTAINERS,
    Column::IMAGES,
    Column::SELECTOR,
];

pub struct DaemonSets;

impl Kind for DaemonSets {
    type Object = DaemonSet;

    const FACTS: Facts = Facts {
        short_names: &["ds"],
        categories: &["all"],
        subresources: &[Subresource::STATUS],
        propagation: Some(Propagation::Background),
        ..Facts::namespaced("apps", "v1", "DaemonSet", "daemonsets", "daemonset")
    };

    fn default(set: &mut DaemonSet) {
        let spec = &mut set.spec;
        let strategy = spec.update_strategy.get_or_insert_default();
        fill(&mut strategy.type_, "RollingUpdate");
        if strategy.type_.as_deref() == Some("RollingUpdate") {
            let rolling = strategy.rolling_update.get_or_insert_default();
            rolling.max_unavailable.get_or_insert(IntOrString::Int(1));
            rolling.max_surge.get_or_insert(IntOrString::Int(0));
        }
        spec.revision_history_limit.get_or_insert(10);
        default_template(&mut spec.template);
    }

    fn prepare_for_create(set: &mut DaemonSet, _scene: &Scene) {
        set.status = Some(DaemonSetStatus::default());
        set.metadata.generation = Some(1);
        prepare_template(&mut set.spec.template, None);
    }

    fn validate(set: &DaemonSet, scene: &Scene, errors: &mut Errors) {
        validate_spec(set, None, scene, errors);
    }

    fn prepare_for_update(new: &mut DaemonSet, old: &DaemonSet, _scene: &Scene) {
        new.status.clone_from(&old.status);
        prepare_template(&mut new.spec.template, Some(&old.spec.template));
        bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
    }

    fn validate_update(new: &DaemonSet, old: &DaemonSet, scene: &Scene, errors: &mut Errors) {
        workload::validate_same_selector(&new.spec.selector, &old.spec.selector, errors);
        validate_spec(new, Some(&old.spec.template), scene, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut DaemonSet, old: &DaemonSet, _scene: &Scene) {
        new.spec = old.spec.clone();
    }

    fn validate_part_update(_part: Part, new: &DaemonSet, old: &DaemonSet, _scene: &Scene, errors: &mut Errors) {
        let (status, before) = (new.status.clone().unwrap_or_default(), old.status.clone().unwrap_or_default());
        let root = Path::root();
        let counts = [
            ("currentNumberScheduled", Some(status.current_number_scheduled.into())),
            ("numberMisscheduled", Some(status.number_misscheduled.into())),
            ("desiredNumberScheduled", Some(status.desired_number_scheduled.into())),
            ("numberReady", Some(status.number_ready.into())),
            ("observedGeneration", status.observed_generation),
            ("updatedNumberScheduled", status.updated_number_scheduled.map(i64::from)),
            ("numberAvailable", status.number_available.map(i64::from)),
            ("numberUnavailable", status.number_unavailable.map(i64::from)),
            ("collisionCount", status.collision_count.map(i64::from)),
        ];
        workload::validate_counts(&counts, root.child("status"), errors);
        workload::validate_collisions(status.collision_count, before.collision_count, errors);
    }

    fn warnings(new: &DaemonSet, old: Option<&DaemonSet>) -> Vec<String> {
        workload::warnings(&new.metadata, old.map(|old| &old.metadata), &new.spec.template)
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(set: &DaemonSet, now: Moment) -> Row {
        let (metadata, template) = (&set.metadata, &set.spec.template);
        let status = set.status.clone().unwrap_or_default();
        let [names, images] = container_cells(Some(template));
        Row::of([
            name_cell(metadata),
            status.desired_number_scheduled.into(),
            status.current_number_scheduled.into(),
            status.number_ready.into(),
            status.updated_number_scheduled.unwrap_or_default().into(),
            status.number_available.unwrap_or_default().into(),
            labels_cell(template.spec.as_ref().and_then(|spec| spec.node_selector.as_ref())),
            age_cell(metadata, now),
            names,
            images,
            selector_cell(Some(&set.spec.selector)),
        ])
    }
}

fn validate_spec(set: &DaemonSet, old: Option<&PodTemplateSpec>, scene: &Scene, errors: &mut Errors) {
    let (spec, root) = (&set.spec, Path::root());
    let path = root.child("spec");
    let (selector, template) = (&spec.selector, &spec.template);
    workload::validate_subject(&Subject { selector, template, old, workload: Workload::DaemonSet }, scene, errors);
    workload::validate_counts(&[("minReadySeconds", spec.min_ready_seconds.map(i64::from))], path, errors);
    let strategy = spec.update_strategy.clone().unwrap_or_default();
    validate_strategy(&strategy, path.child("updateStrategy"), errors);
    workload::validate_counts(&[("revisionHistoryLimit", spec.revision_history_limit.map(i64::from))], path, errors);
}

fn validate_strategy(strategy: &DaemonSetUpdateStrategy, path: Path<'_>, errors: &mut Errors) {
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref(), &strategy.rolling_update) {
        (Some("OnDelete"), _) => {}
        (Some("RollingUpdate"), None) => errors.required(rolling, ""),
        (Some("RollingUpdate"), Some(update)) => {
            let unavailable = update.max_unavailable.clone().unwrap_or_default();
            let surge = update.max_surge.clone().unwrap_or_default();
            let both = [("maxUnavailable", &unavailable), ("maxSurge", &surge)];
            both.iter().for_each(|(field, value)| validate_int_or_percent(value, rolling.child(field), errors));
            both.iter().for_each(|(field, value)| validate_at_most_all(value, rolling.child(field), errors));
            match (int_or_percent_value(&unavailable) != 0, int_or_percent_value(&surge) != 0) {
                (true, true) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.invalid(rolling.child("maxSurge"), json!(surge), detail);
                }
                (false, false) => errors.required(rolling.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"),
                (true, false) | (false, true) => {}
            }
        }
        (_, _) => errors.not_supported(path, json!(strategy), &["RollingUpdate", "OnDelete"]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, defaults_of, part_errors, updated, with, workload};

    #[test]
    fn one_node_at_a_time_is_updated() {
        let spec = defaults_of::<DaemonSets>(workload())["spec"].clone();
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
        assert_eq!((&spec["updateStrategy"], &spec["revisionHistoryLimit"]), (&strategy, &json!(10)));
    }

    #[test]
    fn strategies_and_selectors_are_checked() {
        let rolling = |update: Value| json!({"spec": {"updateStrategy": {"rollingUpdate": update}}});
        assert_refused::<DaemonSets>(
            &workload(),
            &[
                (rolling(json!({"maxSurge": "10%", "maxUnavailable": 0})), &[]),
                (
                    rolling(json!({"maxSurge": 1})),
                    &[
                        "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
                    ],
                ),
                (
                    rolling(json!({"maxUnavailable": 0})),
                    &[
                        "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
                    ],
                ),
                (
                    json!({"spec": {"updateStrategy": {"type": "X"}}}),
                    &[
                        "spec.updateStrategy: Unsupported value: {\"type\":\"X\"}: supported values: \"RollingUpdate\", \"OnDelete\"",
                    ],
                ),
                (
                    json!({"spec": {"selector": null}}),
                    &[
                        "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
                    ],
                ),
                (
                    json!({"spec": {"revisionHistoryLimit": -1}}),
                    &["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
                ),
            ],
        );
    }

    #[test]
    fn a_status_holds_no_negative_numbers() {
        let status = json!({"status": {"numberReady": -1, "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0}});
        let errors = part_errors::<DaemonSets>(Part::Status, with(&workload(), status), workload());
        assert_eq!(errors, ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"]);
    }

    #[test]
    fn rows_and_generations() {
        let status = json!({"numberReady": 1, "currentNumberScheduled": 2, "desiredNumberScheduled": 3, "numberMisscheduled": 0, "updatedNumberScheduled": 4, "numberAvailable": 5});
        let patch = json!({"status": status, "spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}});
        let expected = json!(["w", 3, 2, 1, 4, 5, "a=b", "60m", "c", "x:1", "app=a"]);
        assert_eq!(Value::from(cells::<DaemonSets>(with(&workload(), patch.clone()))), expected);
        let new = updated::<DaemonSets>(with(&workload(), patch), workload());
        assert_eq!((new.metadata.generation, new.status.unwrap().number_ready), (Some(2), 0));
    }
}
