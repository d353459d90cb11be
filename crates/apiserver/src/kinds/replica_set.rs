//! Replica sets: a number of pods that are alike.

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use lifecycle::deletion::Propagation;
use lifecycle::moment::Moment;
use model::defaults::default_template;
use model::field::{Errors, Path};
use model::prepare::prepare_template;
use model::validation::Workload;

use super::workload::{self, Subject};
use crate::kind::{Facts, Kind, Part, Scale, Scene, Subresource, bump_generation};
use crate::table::{Column, Row, age_cell, container_cells, name_cell, selector_cell};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Desired", "How many pods there should be."),
    Column::integer("Current", "How many pods there are."),
    Column::integer("Ready", "How many of them are ready."),
    Column::AGE,
    Column::CONTAINERS,
    Column::IMAGES,
    Column::SELECTOR,
];

pub struct ReplicaSets;

impl Kind for ReplicaSets {
    type Object = ReplicaSet;

    const FACTS: Facts = Facts {
        short_names: &["rs"],
        categories: &["all"],
        subresources: &[Subresource::STATUS, Subresource::Scale],
        propagation: Some(Propagation::Background),
        ..Facts::namespaced("apps", "v1", "ReplicaSet", "replicasets", "replicaset")
    };

    fn default(set: &mut ReplicaSet) {
        set.spec.replicas.get_or_insert(1);
        default_template(set.spec.template.get_or_insert_default());
    }

    fn prepare_for_create(set: &mut ReplicaSet, _scene: &Scene) {
        set.status = Some(ReplicaSetStatus::default());
        set.metadata.generation = Some(1);
        prepare_template(set.spec.template.get_or_insert_default(), None);
    }

    fn validate(set: &ReplicaSet, scene: &Scene, errors: &mut Errors) {
        validate_spec(set, None, scene, errors);
    }

    fn prepare_for_update(new: &mut ReplicaSet, old: &ReplicaSet, _scene: &Scene) {
        new.status.clone_from(&old.status);
        prepare_template(new.spec.template.get_or_insert_default(), old.spec.template.as_ref());
        bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
    }

    fn validate_update(new: &ReplicaSet, old: &ReplicaSet, scene: &Scene, errors: &mut Errors) {
        validate_spec(new, old.spec.template.as_ref(), scene, errors);
        workload::validate_same_selector(&new.spec.selector, &old.spec.selector, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut ReplicaSet, old: &ReplicaSet, _scene: &Scene) {
        new.spec = old.spec.clone();
    }

    fn validate_part_update(_part: Part, new: &ReplicaSet, _old: &ReplicaSet, _scene: &Scene, errors: &mut Errors) {
        let Some(status) = &new.status else { return };
        let root = Path::root();
        let counts = [
            ("replicas", Some(status.replicas.into())),
            ("fullyLabeledReplicas", status.fully_labeled_replicas.map(i64::from)),
            ("readyReplicas", status.ready_replicas.map(i64::from)),
            ("availableReplicas", status.available_replicas.map(i64::from)),
            ("observedGeneration", status.observed_generation),
            ("terminatingReplicas", status.terminating_replicas.map(i64::from)),
        ];
        workload::validate_counts(&counts, root.child("status"), errors);
        let parts = [
            ("fullyLabeledReplicas", status.fully_labeled_replicas),
            ("readyReplicas", status.ready_replicas),
            ("availableReplicas", status.available_replicas),
        ];
        workload::validate_at_most_replicas(&parts, status.replicas, errors);
        workload::validate_available(status.available_replicas, status.ready_replicas, "readyReplicas", errors);
    }

    fn warnings(new: &ReplicaSet, old: Option<&ReplicaSet>) -> Vec<String> {
        let mut warnings = if old.is_none() { workload::name_warnings(&new.metadata) } else { Vec::new() };
        let template = new.spec.template.clone().unwrap_or_default();
        warnings.extend(workload::warnings(&new.metadata, old.map(|old| &old.metadata), &template));
        warnings
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(set: &ReplicaSet, now: Moment) -> Row {
        let (metadata, spec, no_status) = (&set.metadata, &set.spec, ReplicaSetStatus::default());
        let status = set.status.as_ref().unwrap_or(&no_status);
        let [names, images] = container_cells(spec.template.as_ref());
        Row::of([
            name_cell(metadata),
            spec.replicas.unwrap_or_default().into(),
            status.replicas.into(),
            status.ready_replicas.unwrap_or_default().into(),
            age_cell(metadata, now),
            names,
            images,
            selector_cell(Some(&spec.selector)),
        ])
    }

    fn scale(set: &ReplicaSet) -> Option<Scale> {
        let observed = set.status.as_ref().map_or(0, |status| status.replicas);
        Some(workload::scale(set.spec.replicas, observed, &set.spec.selector))
    }

    fn set_replicas(set: &mut ReplicaSet, replicas: i32) {
        set.spec.replicas = Some(replicas);
    }
}

fn validate_spec(set: &ReplicaSet, old: Option<&PodTemplateSpec>, scene: &Scene, errors: &mut Errors) {
    let (spec, root, no_template) = (&set.spec, Path::root(), PodTemplateSpec::default());
    let counts =
        [("replicas", spec.replicas.map(i64::from)), ("minReadySeconds", spec.min_ready_seconds.map(i64::from))];
    workload::validate_counts(&counts, root.child("spec"), errors);
    let template = spec.template.as_ref().unwrap_or(&no_template);
    let subject = Subject { selector: &spec.selector, template, old, workload: Workload::ReplicaSet };
    workload::validate_subject(&subject, scene, errors);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{
        assert_refused, assert_update_refused, cells, created, part_errors, read, updated, with, workload,
    };

    fn set() -> Value {
        workload()
    }

    #[test]
    fn there_is_one_pod_unless_more_are_asked_for() {
        let set = created::<ReplicaSets>(with(&set(), json!({"status": {"replicas": 7}})));
        assert_eq!(set.spec.replicas, Some(1));
        assert_eq!(set.metadata.generation, Some(1));
        assert_eq!(set.status, Some(ReplicaSetStatus::default()));
        let spec = set.spec.template.unwrap().spec.unwrap();
        assert_eq!(spec.termination_grace_period_seconds, Some(30));
    }

    #[test]
    fn counts_selectors_and_templates_are_checked() {
        assert_refused::<ReplicaSets>(
            &set(),
            &[
                (
                    json!({"spec": {"replicas": -1, "minReadySeconds": -1}}),
                    &[
                        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                        "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                    ],
                ),
                (
                    json!({"spec": {"selector": null}}),
                    &[
                        "spec.selector: Required value",
                        "spec.template.metadata.labels: Invalid value: {\"app\":\"a\"}: `selector` does not match template `labels`",
                    ],
                ),
                (
                    json!({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}}),
                    &[
                        "spec.selector.matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator",
                        "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"a\"},\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Is\"}]}: invalid label selector",
                    ],
                ),
                (
                    json!({"spec": {"template": {"metadata": null}}}),
                    &[
                        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
                    ],
                ),
                (
                    json!({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}),
                    &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""],
                ),
                (
                    json!({"spec": {"template": {"spec": {"containers": []}}}}),
                    &["spec.template.spec.containers: Required value"],
                ),
            ],
        );
    }

    #[test]
    fn the_selector_stays_and_a_new_spec_begins_a_generation() {
        let other = json!({"app": "a", "b": "c"});
        let patch = json!({"spec": {"selector": {"matchLabels": other}, "template": {"metadata": {"labels": other}}}});
        let expected =
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"a\",\"b\":\"c\"}}: field is immutable";
        assert_update_refused::<ReplicaSets>(&set(), &[(patch, &[expected])]);
        let generation = |patch| updated::<ReplicaSets>(with(&set(), patch), set()).metadata.generation;
        assert_eq!(generation(json!({"metadata": {"annotations": {"a": "b"}}})), Some(1));
        assert_eq!(generation(json!({"spec": {"replicas": 0}})), Some(2));
    }

    #[test]
    fn a_status_counts_no_more_pods_than_there_are() {
        let status =
            json!({"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 2, "observedGeneration": -1}});
        assert_eq!(
            part_errors::<ReplicaSets>(Part::Status, with(&set(), status), set()),
            [
                "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
            ]
        );
    }

    #[test]
    fn rows_scales_and_warnings() {
        let full = with(&set(), json!({"spec": {"replicas": 3}, "status": {"replicas": 2, "readyReplicas": 1}}));
        let expected = json!(["w", 3, 2, 1, "60m", "c", "x:1", "app=a"]);
        assert_eq!(Value::from(cells::<ReplicaSets>(full.clone())), expected);
        let mut object = read::<ReplicaSets>(full);
        let scale = Scale { desired: 3, observed: 2, selector: "app=a".to_owned() };
        assert_eq!(ReplicaSets::scale(&object), Some(scale));
        ReplicaSets::set_replicas(&mut object, 5);
        assert_eq!(object.spec.replicas, Some(5));
        assert_eq!(ReplicaSets::warnings(&object, None), [""; 0]);
        object.metadata.name = Some("a.b".to_owned());
        object.spec.template.as_mut().unwrap().spec.as_mut().unwrap().termination_grace_period_seconds = Some(-1);
        let warnings = ReplicaSets::warnings(&object, None);
        assert!(warnings[0].starts_with("metadata.name: this is used in Pod names"), "{warnings:?}");
        assert!(warnings[1].starts_with("spec.template.spec.terminationGracePeriodSeconds: must be >= 0"));
        assert_eq!(ReplicaSets::warnings(&object, Some(&object)), [""; 0]);
    }
}
