//! When a stateful set is valid.

use std::borrow::Cow;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, PodTemplateSpec, Volume};
use model::field::{Errors, Path};
use model::validation::formats::{self, IMMUTABLE};
use model::validation::{Workload, int_or_percent_value, same, validate_at_most_all, validate_int_or_percent};
use serde_json::{Value, json};

use crate::kind::Scene;
use crate::kinds::workload::{self, Subject};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) fn validate_new(set: &StatefulSet, scene: &Scene, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("spec");
    validate_policies(&set.spec, path, errors);
    let claims = path.child("volumeClaimTemplates");
    for (i, claim) in set.spec.volume_claim_templates.iter().flatten().enumerate() {
        validate_claim(claim, claims.index(i).child("spec"), errors);
    }
    validate_rest(&set.spec, path, errors);
    if let Some(name) = set.spec.service_name.as_deref().filter(|name| !name.is_empty()) {
        formats::dns_label(name, path.child("serviceName"), errors);
    }
    validate_template(&set.spec, None, scene, errors);
}

/// Claims and the name of the service cannot change, so they are not looked at again.
pub(super) fn validate_update(new: &StatefulSet, old: &StatefulSet, scene: &Scene, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("spec");
    validate_policies(&new.spec, path, errors);
    validate_rest(&new.spec, path, errors);
    validate_template(&new.spec, Some(&old.spec.template), scene, errors);
    workload::validate_same_selector(&new.spec.selector, &old.spec.selector, errors);
    if !same(&new.spec.volume_claim_templates, &old.spec.volume_claim_templates) {
        let shown = json!(new.spec.volume_claim_templates);
        errors.invalid(path.child("volumeClaimTemplates"), shown, IMMUTABLE);
    }
    let texts = [
        ("serviceName", &new.spec.service_name, &old.spec.service_name),
        ("podManagementPolicy", &new.spec.pod_management_policy, &old.spec.pod_management_policy),
    ];
    for (field, new, old) in texts {
        let (new, old) = (new.as_deref().unwrap_or_default(), old.as_deref().unwrap_or_default());
        if new != old {
            errors.invalid(path.child(field), Value::from(new), IMMUTABLE);
        }
    }
}

fn validate_policies(spec: &StatefulSetSpec, path: Path<'_>, errors: &mut Errors) {
    match spec.pod_management_policy.as_deref().unwrap_or_default() {
        "" => errors.required(path.child("podManagementPolicy"), ""),
        "OrderedReady" | "Parallel" => {}
        other => {
            let detail = "must be 'OrderedReady' or 'Parallel'";
            errors.invalid(path.child("podManagementPolicy"), Value::from(other), detail);
        }
    }
    let strategy = spec.update_strategy.clone().unwrap_or_default();
    validate_strategy(&strategy, path.child("updateStrategy"), errors);
    if let Some(retention) = &spec.persistent_volume_claim_retention_policy {
        let path = path.child("persistentVolumeClaimRetentionPolicy");
        for (field, policy) in [("whenDeleted", &retention.when_deleted), ("whenScaled", &retention.when_scaled)] {
            let policy = policy.as_deref().unwrap_or_default();
            formats::choice(policy, &["Retain", "Delete"], path.child(field), errors);
        }
    }
}

fn validate_strategy(strategy: &StatefulSetUpdateStrategy, path: Path<'_>, errors: &mut Errors) {
    let rolling = path.child("rollingUpdate");
    match (strategy.type_.as_deref().unwrap_or_default(), &strategy.rolling_update) {
        ("", _) => errors.required(path, ""),
        ("OnDelete" | "RollingUpdate", None) => {}
        ("OnDelete", Some(update)) => {
            errors.invalid(rolling, json!(update), "only allowed for updateStrategy 'RollingUpdate'");
        }
        ("RollingUpdate", Some(update)) => {
            formats::not_negative(update.partition.unwrap_or_default().into(), rolling.child("partition"), errors);
            let Some(unavailable) = &update.max_unavailable else { return };
            let path = rolling.child("maxUnavailable");
            validate_int_or_percent(unavailable, path, errors);
            if int_or_percent_value(unavailable) == 0 {
                errors.invalid(path, json!(unavailable), "cannot be 0");
            }
            validate_at_most_all(unavailable, path, errors);
        }
        (_, _) => errors.invalid(path, json!(strategy), "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

/// What every claim has to say; the rest is for whoever provides the volumes.
fn validate_claim(claim: &PersistentVolumeClaim, path: Path<'_>, errors: &mut Errors) {
    let spec = claim.spec.clone().unwrap_or_default();
    let modes = spec.access_modes.unwrap_or_default();
    if modes.is_empty() {
        errors.required(path.child("accessModes"), "at least 1 access mode is required");
    }
    for mode in &modes {
        formats::choice(mode, &ACCESS_MODES, path.child("accessModes"), errors);
    }
    let requests = spec.resources.and_then(|resources| resources.requests).unwrap_or_default();
    if !requests.contains_key("storage") {
        errors.required(path.child("resources").key("storage"), "");
    }
}

fn validate_rest(spec: &StatefulSetSpec, path: Path<'_>, errors: &mut Errors) {
    let counts = [
        ("replicas", spec.replicas.map(i64::from)),
        ("minReadySeconds", spec.min_ready_seconds.map(i64::from)),
        ("ordinals.start", spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).map(i64::from)),
    ];
    workload::validate_counts(&counts, path, errors);
}

fn validate_template(spec: &StatefulSetSpec, old: Option<&PodTemplateSpec>, scene: &Scene, errors: &mut Errors) {
    let template = with_claims(spec);
    let (selector, template) = (&spec.selector, template.as_ref());
    workload::validate_subject(&Subject { selector, template, old, workload: Workload::StatefulSet }, scene, errors);
}

/// The template as its pods will be: volumes come from the claims, and the names from the set.
fn with_claims(spec: &StatefulSetSpec) -> Cow<'_, PodTemplateSpec> {
    let claims = spec.volume_claim_templates.as_deref().unwrap_or_default();
    let mut template = Cow::Borrowed(&spec.template);
    if spec
        .template
        .spec
        .as_ref()
        .is_none_or(|pod| claims.is_empty() && pod.subdomain.is_none() && pod.hostname.is_none())
    {
        return template;
    }
    if let Some(pod) = &mut template.to_mut().spec {
        (pod.subdomain, pod.hostname) = (None, None);
        let names: Vec<String> = claims.iter().filter_map(|claim| claim.metadata.name.clone()).collect();
        let own = pod.volumes.take().into_iter().flatten().filter(|volume| !names.contains(&volume.name));
        let volumes: Vec<Volume> = names.iter().map(|name| claimed(name)).chain(own).collect();
        pod.volumes = Some(volumes);
    }
    template
}

fn claimed(name: &str) -> Volume {
    let claim = PersistentVolumeClaimVolumeSource { claim_name: name.to_owned(), read_only: None };
    Volume { name: name.to_owned(), persistent_volume_claim: Some(claim), ..Volume::default() }
}

pub(super) fn validate_status(new: &StatefulSet, old: &StatefulSet, errors: &mut Errors) {
    let (status, before) = (new.status.clone().unwrap_or_default(), old.status.clone().unwrap_or_default());
    let root = Path::root();
    let counts = [
        ("replicas", Some(status.replicas.into())),
        ("readyReplicas", status.ready_replicas.map(i64::from)),
        ("currentReplicas", status.current_replicas.map(i64::from)),
        ("updatedReplicas", status.updated_replicas.map(i64::from)),
        ("availableReplicas", status.available_replicas.map(i64::from)),
        ("observedGeneration", status.observed_generation),
        ("collisionCount", status.collision_count.map(i64::from)),
    ];
    workload::validate_counts(&counts, root.child("status"), errors);
    let parts = [
        ("readyReplicas", status.ready_replicas),
        ("currentReplicas", status.current_replicas),
        ("updatedReplicas", status.updated_replicas),
        ("availableReplicas", status.available_replicas),
    ];
    workload::validate_at_most_replicas(&parts, status.replicas, errors);
    workload::validate_available(status.available_replicas, status.ready_replicas, "status.readyReplicas", errors);
    workload::validate_collisions(status.collision_count, before.collision_count, errors);
}
