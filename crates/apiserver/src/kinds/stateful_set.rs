//! Stateful sets: pods that keep their names and volumes.

mod validation;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use lifecycle::deletion::Propagation;
use lifecycle::moment::Moment;
use model::defaults::{default_template, fill};
use model::field::Errors;
use model::prepare::prepare_template;

use super::workload;
use crate::kind::{Facts, Kind, NameRule, Part, Scale, Scene, Subresource, bump_generation};
use crate::table::{Column, Row, age_cell, container_cells, name_cell};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", "Pods that are ready, of those there should be."),
    Column::AGE,
    Column::CONTAINERS,
    Column::IMAGES,
];

pub struct StatefulSets;

impl Kind for StatefulSets {
    type Object = StatefulSet;

    const FACTS: Facts = Facts {
        short_names: &["sts"],
        categories: &["all"],
        names: NameRule::DnsLabel,
        subresources: &[Subresource::STATUS, Subresource::Scale],
        propagation: Some(Propagation::Background),
        ..Facts::namespaced("apps", "v1", "StatefulSet", "statefulsets", "statefulset")
    };

    fn default(set: &mut StatefulSet) {
        let spec = &mut set.spec;
        fill(&mut spec.pod_management_policy, "OrderedReady");
        let strategy = spec.update_strategy.get_or_insert_default();
        if strategy.type_.as_deref().unwrap_or_default().is_empty() {
            strategy.type_ = Some("RollingUpdate".to_owned());
            strategy.rolling_update.get_or_insert_default();
        }
        if let (Some("RollingUpdate"), Some(rolling)) = (strategy.type_.as_deref(), &mut strategy.rolling_update) {
            rolling.partition.get_or_insert(0);
            rolling.max_unavailable.get_or_insert(IntOrString::Int(1));
        }
        let retention = spec.persistent_volume_claim_retention_policy.get_or_insert_default();
        fill(&mut retention.when_deleted, "Retain");
        fill(&mut retention.when_scaled, "Retain");
        spec.replicas.get_or_insert(1);
        spec.revision_history_limit.get_or_insert(10);
        for claim in spec.volume_claim_templates.iter_mut().flatten() {
            fill(&mut claim.spec.get_or_insert_default().volume_mode, "Filesystem");
            fill(&mut claim.status.get_or_insert_default().phase, "Pending");
        }
        default_template(&mut spec.template);
    }

    fn prepare_for_create(set: &mut StatefulSet, _scene: &Scene) {
        set.status = Some(StatefulSetStatus::default());
        set.metadata.generation = Some(1);
        prepare_template(&mut set.spec.template, None);
    }

    fn validate(set: &StatefulSet, scene: &Scene, errors: &mut Errors) {
        validation::validate_new(set, scene, errors);
    }

    fn prepare_for_update(new: &mut StatefulSet, old: &StatefulSet, _scene: &Scene) {
        new.status.clone_from(&old.status);
        prepare_template(&mut new.spec.template, Some(&old.spec.template));
        bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
    }

    fn validate_update(new: &StatefulSet, old: &StatefulSet, scene: &Scene, errors: &mut Errors) {
        validation::validate_update(new, old, scene, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut StatefulSet, old: &StatefulSet, _scene: &Scene) {
        new.spec = old.spec.clone();
    }

    fn validate_part_update(_part: Part, new: &StatefulSet, old: &StatefulSet, _scene: &Scene, errors: &mut Errors) {
        validation::validate_status(new, old, errors);
    }

    fn warnings(new: &StatefulSet, old: Option<&StatefulSet>) -> Vec<String> {
        let mut warnings = workload::warnings(&new.metadata, old.map(|old| &old.metadata), &new.spec.template);
        if new.spec.revision_history_limit.is_some_and(|limit| limit < 0) {
            let words = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
            warnings.push(words.to_owned());
        }
        warnings
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(set: &StatefulSet, now: Moment) -> Row {
        let metadata = &set.metadata;
        let ready = set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or_default();
        let desired = set.spec.replicas.unwrap_or_default();
        let [names, images] = container_cells(Some(&set.spec.template));
        let progress = format!("{ready}/{desired}");
        Row::of([name_cell(metadata), progress.into(), age_cell(metadata, now), names, images])
    }

    fn scale(set: &StatefulSet) -> Option<Scale> {
        let observed = set.status.as_ref().map_or(0, |status| status.replicas);
        Some(workload::scale(set.spec.replicas, observed, &set.spec.selector))
    }

    fn set_replicas(set: &mut StatefulSet, replicas: i32) {
        set.spec.replicas = Some(replicas);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{
        assert_refused, assert_update_refused, cells, defaults_of, part_errors, read, with, workload,
    };

    fn claim(spec: &Value) -> Value {
        json!([{"metadata": {"name": "data"}, "spec": spec}])
    }

    #[test]
    fn pods_come_in_order_and_volumes_stay() {
        let claims = claim(&json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}));
        let sent = with(&workload(), json!({"spec": {"volumeClaimTemplates": claims}}));
        let spec = defaults_of::<StatefulSets>(sent)["spec"].clone();
        assert_eq!(spec["podManagementPolicy"], "OrderedReady");
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}});
        assert_eq!(spec["updateStrategy"], strategy);
        let retention = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
        assert_eq!(spec["persistentVolumeClaimRetentionPolicy"], retention);
        assert_eq!(spec["volumeClaimTemplates"][0]["spec"]["volumeMode"], "Filesystem");
        assert_eq!(spec["volumeClaimTemplates"][0]["status"]["phase"], "Pending");
        let on_delete = with(&workload(), json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}));
        assert_eq!(defaults_of::<StatefulSets>(on_delete)["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
    }

    #[test]
    fn specs_are_checked() {
        let spec = |spec: Value| json!({"spec": spec});
        let mount = json!([{"name": "c", "image": "x:1", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]);
        let good = claim(&json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}));
        assert_refused::<StatefulSets>(
            &workload(),
            &[
                (spec(json!({"volumeClaimTemplates": good, "template": {"spec": {"containers": mount}}})), &[]),
                (
                    spec(json!({"volumeClaimTemplates": claim(&json!({}))})),
                    &[
                        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
                        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
                    ],
                ),
                (
                    spec(json!({"podManagementPolicy": "X"})),
                    &["spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'"],
                ),
                (
                    spec(json!({"updateStrategy": {"type": "X"}})),
                    &["spec.updateStrategy: Invalid value: {\"type\":\"X\"}: must be 'RollingUpdate' or 'OnDelete'"],
                ),
                (
                    spec(json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}})),
                    &[
                        "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'",
                    ],
                ),
                (
                    spec(json!({"updateStrategy": {"rollingUpdate": {"partition": -1, "maxUnavailable": "0%"}}})),
                    &[
                        "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
                        "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": cannot be 0",
                    ],
                ),
                (
                    spec(json!({"persistentVolumeClaimRetentionPolicy": {"whenScaled": "X"}})),
                    &[
                        "spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: \"X\": supported values: \"Retain\", \"Delete\"",
                    ],
                ),
                (
                    spec(json!({"replicas": -1, "ordinals": {"start": -1}})),
                    &[
                        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                        "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn what_pods_were_made_of_stays() {
        assert_update_refused::<StatefulSets>(
            &with(&workload(), json!({"spec": {"serviceName": "a"}})),
            &[
                (json!({"spec": {"replicas": 5}}), &[]),
                (
                    json!({"spec": {"serviceName": "b"}}),
                    &["spec.serviceName: Invalid value: \"b\": field is immutable"],
                ),
                (
                    json!({"spec": {"podManagementPolicy": "Parallel"}}),
                    &["spec.podManagementPolicy: Invalid value: \"Parallel\": field is immutable"],
                ),
            ],
        );
    }

    #[test]
    fn statuses_rows_and_warnings() {
        let status =
            json!({"status": {"replicas": 1, "readyReplicas": 0, "availableReplicas": 1, "currentReplicas": 2}});
        assert_eq!(
            part_errors::<StatefulSets>(Part::Status, with(&workload(), status), workload()),
            [
                "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
            ]
        );
        let patch =
            json!({"spec": {"replicas": 3, "revisionHistoryLimit": -1}, "status": {"replicas": 2, "readyReplicas": 1}});
        let sent = with(&workload(), patch);
        assert_eq!(cells::<StatefulSets>(sent.clone()), ["w", "1/3", "60m", "c", "x:1"]);
        assert_eq!(StatefulSets::warnings(&read::<StatefulSets>(sent), None).len(), 1);
    }
}
