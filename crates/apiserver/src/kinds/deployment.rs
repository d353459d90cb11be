//! Deployments: replica sets that follow each other.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, DeploymentStrategy};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use lifecycle::deletion::Propagation;
use lifecycle::moment::Moment;
use model::defaults::{default_template, fill};
use model::field::{Errors, Path};
use model::prepare::prepare_template;
use model::selector::Labels;
use model::validation::{Workload, int_or_percent_value, same, validate_at_most_all, validate_int_or_percent};
use serde_json::json;

use super::workload::{self, Subject};
use crate::kind::{Facts, Kind, Part, Scale, Scene, Subresource};
use crate::table::{Column, Row, age_cell, container_cells, name_cell};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", "Pods that are ready, of those there should be."),
    Column::text("Up-to-date", "Pods that are made from the present template."),
    Column::text("Available", "Pods that have been ready for long enough."),
    Column::AGE,
    Column::CONTAINERS,
    Column::IMAGES,
    Column::SELECTOR,
];

pub struct Deployments;

impl Kind for Deployments {
    type Object = Deployment;

    const FACTS: Facts = Facts {
        short_names: &["deploy"],
        categories: &["all"],
        subresources: &[Subresource::STATUS, Subresource::Scale],
        propagation: Some(Propagation::Background),
        ..Facts::namespaced("apps", "v1", "Deployment", "deployments", "deployment")
    };

    fn default(deployment: &mut Deployment) {
        let spec = &mut deployment.spec;
        spec.replicas.get_or_insert(1);
        let strategy = spec.strategy.get_or_insert_default();
        fill(&mut strategy.type_, "RollingUpdate");
        if strategy.type_.as_deref() == Some("RollingUpdate") {
            let quarter = || IntOrString::String("25%".to_owned());
            let rolling = strategy.rolling_update.get_or_insert_default();
            rolling.max_unavailable.get_or_insert_with(quarter);
            rolling.max_surge.get_or_insert_with(quarter);
        }
        spec.revision_history_limit.get_or_insert(10);
        spec.progress_deadline_seconds.get_or_insert(600);
        default_template(&mut spec.template);
    }

    fn prepare_for_create(deployment: &mut Deployment, _scene: &Scene) {
        deployment.status = Some(DeploymentStatus::default());
        deployment.metadata.generation = Some(1);
        prepare_template(&mut deployment.spec.template, None);
    }

    fn validate(deployment: &Deployment, scene: &Scene, errors: &mut Errors) {
        validate_spec(deployment, None, scene, errors);
    }

    /// Annotations are copied to replica sets, so they count as the spec does.
    fn prepare_for_update(new: &mut Deployment, old: &Deployment, _scene: &Scene) {
        new.status.clone_from(&old.status);
        prepare_template(&mut new.spec.template, Some(&old.spec.template));
        if !same(&new.spec, &old.spec) || !same(&new.metadata.annotations, &old.metadata.annotations) {
            new.metadata.generation = Some(old.metadata.generation.unwrap_or_default() + 1);
        }
    }

    fn validate_update(new: &Deployment, old: &Deployment, scene: &Scene, errors: &mut Errors) {
        validate_spec(new, Some(&old.spec.template), scene, errors);
        workload::validate_same_selector(&new.spec.selector, &old.spec.selector, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut Deployment, old: &Deployment, _scene: &Scene) {
        new.spec = old.spec.clone();
        new.metadata.labels.clone_from(&old.metadata.labels);
    }

    fn validate_part_update(_part: Part, new: &Deployment, old: &Deployment, _scene: &Scene, errors: &mut Errors) {
        let (status, before) = (new.status.clone().unwrap_or_default(), old.status.clone().unwrap_or_default());
        let root = Path::root();
        let counts = [
            ("observedGeneration", status.observed_generation),
            ("replicas", status.replicas.map(i64::from)),
            ("updatedReplicas", status.updated_replicas.map(i64::from)),
            ("readyReplicas", status.ready_replicas.map(i64::from)),
            ("availableReplicas", status.available_replicas.map(i64::from)),
            ("unavailableReplicas", status.unavailable_replicas.map(i64::from)),
            ("terminatingReplicas", status.terminating_replicas.map(i64::from)),
            ("collisionCount", status.collision_count.map(i64::from)),
        ];
        workload::validate_counts(&counts, root.child("status"), errors);
        let parts = [
            ("updatedReplicas", status.updated_replicas),
            ("readyReplicas", status.ready_replicas),
            ("availableReplicas", status.available_replicas),
        ];
        workload::validate_at_most_replicas(&parts, status.replicas.unwrap_or_default(), errors);
        workload::validate_available(status.available_replicas, status.ready_replicas, "readyReplicas", errors);
        workload::validate_collisions(status.collision_count, before.collision_count, errors);
    }

    fn warnings(new: &Deployment, old: Option<&Deployment>) -> Vec<String> {
        let mut warnings = if old.is_none() { workload::name_warnings(&new.metadata) } else { Vec::new() };
        warnings.extend(workload::warnings(&new.metadata, old.map(|old| &old.metadata), &new.spec.template));
        warnings
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(deployment: &Deployment, now: Moment) -> Row {
        let (metadata, spec) = (&deployment.metadata, &deployment.spec);
        let status = deployment.status.clone().unwrap_or_default();
        let (ready, desired) = (status.ready_replicas.unwrap_or_default(), spec.replicas.unwrap_or_default());
        let [names, images] = container_cells(Some(&spec.template));
        // Unlike that of other workloads, an empty selector is shown as it is.
        let selector = Labels::from_object(Some(&spec.selector));
        Row::of([
            name_cell(metadata),
            format!("{ready}/{desired}").into(),
            status.updated_replicas.unwrap_or_default().into(),
            status.available_replicas.unwrap_or_default().into(),
            age_cell(metadata, now),
            names,
            images,
            selector.map_or_else(|_| "<invalid>".to_owned(), |labels| labels.to_string()).into(),
        ])
    }

    fn scale(deployment: &Deployment) -> Option<Scale> {
        let observed = deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or_default();
        Some(workload::scale(deployment.spec.replicas, observed, &deployment.spec.selector))
    }

    fn set_replicas(deployment: &mut Deployment, replicas: i32) {
        deployment.spec.replicas = Some(replicas);
    }
}

fn validate_spec(deployment: &Deployment, old: Option<&PodTemplateSpec>, scene: &Scene, errors: &mut Errors) {
    let (spec, root) = (&deployment.spec, Path::root());
    let path = root.child("spec");
    workload::validate_counts(&[("replicas", spec.replicas.map(i64::from))], path, errors);
    let (selector, template) = (&spec.selector, &spec.template);
    workload::validate_subject(&Subject { selector, template, old, workload: Workload::Deployment }, scene, errors);
    validate_strategy(&spec.strategy.clone().unwrap_or_default(), path.child("strategy"), errors);
    let counts = [
        ("minReadySeconds", spec.min_ready_seconds.map(i64::from)),
        ("revisionHistoryLimit", spec.revision_history_limit.map(i64::from)),
        ("progressDeadlineSeconds", spec.progress_deadline_seconds.map(i64::from)),
    ];
    workload::validate_counts(&counts, path, errors);
    if let Some(deadline) = spec.progress_deadline_seconds
        && deadline <= spec.min_ready_seconds.unwrap_or_default()
    {
        errors.invalid(path.child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds");
    }
}

fn validate_strategy(strategy: &DeploymentStrategy, path: Path<'_>, errors: &mut Errors) {
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref(), &strategy.rolling_update) {
        (Some("Recreate"), None) => {}
        (Some("Recreate"), Some(_)) => {
            errors.forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'");
        }
        (Some("RollingUpdate"), None) => errors.required(rolling, "this should be defaulted and never be nil"),
        (Some("RollingUpdate"), Some(update)) => {
            let unavailable = update.max_unavailable.clone().unwrap_or_default();
            let surge = update.max_surge.clone().unwrap_or_default();
            validate_int_or_percent(&unavailable, rolling.child("maxUnavailable"), errors);
            validate_int_or_percent(&surge, rolling.child("maxSurge"), errors);
            if int_or_percent_value(&unavailable) == 0 && int_or_percent_value(&surge) == 0 {
                let path = rolling.child("maxUnavailable");
                errors.invalid(path, json!(unavailable), "may not be 0 when `maxSurge` is 0");
            }
            validate_at_most_all(&unavailable, rolling.child("maxUnavailable"), errors);
        }
        (_, _) => errors.not_supported(path, json!(strategy), &["Recreate", "RollingUpdate"]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::kinds::test_support::{
        assert_refused, assert_update_refused, cells, created, defaults_of, part_errors, part_errors_over, updated,
        with, workload,
    };

    #[test]
    fn a_deployment_rolls_a_quarter_at_a_time() {
        let spec = defaults_of::<Deployments>(workload())["spec"].clone();
        assert_eq!(
            spec["strategy"],
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
        );
        let numbers = ["replicas", "revisionHistoryLimit", "progressDeadlineSeconds"].map(|field| spec[field].clone());
        assert_eq!(numbers, [json!(1), json!(10), json!(600)]);
        let recreate = with(&workload(), json!({"spec": {"strategy": {"type": "Recreate"}}}));
        assert_eq!(defaults_of::<Deployments>(recreate)["spec"]["strategy"], json!({"type": "Recreate"}));
    }

    #[test]
    fn strategies_and_deadlines_are_checked() {
        let rolling = |update: Value| json!({"spec": {"strategy": {"rollingUpdate": update}}});
        assert_refused::<Deployments>(
            &workload(),
            &[
                (rolling(json!({"maxSurge": 0, "maxUnavailable": 1})), &[]),
                (rolling(json!({"maxSurge": "200%", "maxUnavailable": "100%"})), &[]),
                (
                    rolling(json!({"maxSurge": 0, "maxUnavailable": "0%"})),
                    &[
                        "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
                    ],
                ),
                (
                    rolling(json!({"maxUnavailable": "101%"})),
                    &[
                        "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
                    ],
                ),
                (
                    rolling(json!({"maxSurge": -1})),
                    &["spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0"],
                ),
                (
                    json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {}}}}),
                    &[
                        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
                    ],
                ),
                (
                    json!({"spec": {"strategy": {"type": "X"}}}),
                    &[
                        "spec.strategy: Unsupported value: {\"type\":\"X\"}: supported values: \"Recreate\", \"RollingUpdate\"",
                    ],
                ),
                (
                    json!({"spec": {"minReadySeconds": 600}}),
                    &["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
                ),
                (json!({"spec": {"minReadySeconds": 599}}), &[]),
                (
                    json!({"spec": {"template": {"spec": {"activeDeadlineSeconds": 5}}}}),
                    &[
                        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn the_selector_stays_and_annotations_begin_a_generation() {
        let labels = json!({"app": "a", "b": "c"});
        let patch =
            json!({"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}});
        let expected =
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"a\",\"b\":\"c\"}}: field is immutable";
        assert_update_refused::<Deployments>(&workload(), &[(patch, &[expected])]);
        let generation = |patch| updated::<Deployments>(with(&workload(), patch), workload()).metadata.generation;
        assert_eq!(generation(json!({"metadata": {"labels": {"a": "b"}}})), Some(1));
        assert_eq!(generation(json!({"metadata": {"annotations": {"a": "b"}}})), Some(2));
        assert_eq!(generation(json!({"spec": {"paused": true}})), Some(2));
    }

    #[test]
    fn a_status_counts_pods_that_are_there_and_collisions_upwards() {
        let status = |status: Value| with(&workload(), json!({"status": status}));
        let errors =
            part_errors::<Deployments>(Part::Status, status(json!({"replicas": 1, "updatedReplicas": 2})), workload());
        assert_eq!(errors, ["status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas"]);
        let mut old = created::<Deployments>(workload());
        old.status = Some(DeploymentStatus { collision_count: Some(3), ..DeploymentStatus::default() });
        let errors = part_errors_over::<Deployments>(Part::Status, status(json!({"collisionCount": 2})), &old);
        assert_eq!(errors, ["status.collisionCount: Invalid value: 2: cannot be decremented"]);
        assert_eq!(part_errors_over::<Deployments>(Part::Status, status(json!({"collisionCount": 3})), &old), [""; 0]);
    }

    #[test]
    fn a_row_shows_how_far_it_is() {
        let patch = json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}});
        let expected = json!(["w", "1/3", 2, 1, "60m", "c", "x:1", "app=a"]);
        assert_eq!(Value::from(cells::<Deployments>(with(&workload(), patch))), expected);
    }
}
