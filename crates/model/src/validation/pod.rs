//! When a pod or a pod template is valid, as a whole.
//!
//! The object must have its defaults and must have been prepared ([`crate::prepare`]): what upstream fills in or merges
//! before it validates is not repeated here.

use k8s_openapi::api::core::v1::{Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::annotations::{
    AppArmorAnnotation, validate_apparmor_agreement, validate_pod_annotations, validate_seccomp_agreement,
};
use super::containers::validate_containers_of_pod;
use super::kept::Kept;
use super::labels::validate_labels;
use super::metadata::{NameRule, Scope, validate_annotations, validate_metadata};
use super::pod_spec::{Context, Subject, validate_pod_spec};
use super::{Options, formats};
use crate::field::{Errors, Path};
use crate::gates::FeatureGates;

/// A pod that is about to be created.
pub fn validate_pod(pod: &Pod, gates: FeatureGates) -> Errors {
    let mut errors = Errors::new();
    let no_spec = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&no_spec);
    let options = Options::new(gates, None);
    validate_metadata_and_spec(&pod.metadata, spec, &options, &Kept::for_create(), &mut errors);
    let root = Path::root();
    let path = root.child("spec");
    if spec.ephemeral_containers.as_ref().is_some_and(|containers| !containers.is_empty()) {
        errors.forbidden(path.child("ephemeralContainers"), "cannot be set on create");
    }
    let assigned = spec.node_name.as_deref().is_some_and(|node| !node.is_empty());
    if assigned && spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
        errors.forbidden(path.child("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    let annotations = pod.metadata.annotations.as_ref();
    validate_seccomp_agreement(annotations, spec, path, &mut errors);
    validate_apparmor_agreement(annotations, spec, AppArmorAnnotation::BecomesField, path, &mut errors);
    errors
}

/// What holds for every pod, new or updated.
pub(super) fn validate_metadata_and_spec(
    meta: &ObjectMeta,
    spec: &PodSpec,
    options: &Options,
    kept: &Kept,
    errors: &mut Errors,
) {
    let root = Path::root();
    let meta_path = root.child("metadata");
    validate_metadata(meta, Scope::Namespaced, NameRule::DnsSubdomain, meta_path, errors);
    validate_pod_annotations(meta.annotations.as_ref(), spec, kept, meta_path.child("annotations"), errors);
    let path = root.child("spec");
    let context = Context { subject: Subject::Pod, options, kept, meta: Some(meta) };
    validate_pod_spec(spec, &context, path, errors);
    validate_tokens_have_account(spec, path, errors);
    if let Some(seconds) = spec.termination_grace_period_seconds {
        formats::not_negative(seconds, path.child("terminationGracePeriodSeconds"), errors);
    }
    validate_containers_of_pod(&spec.containers, path.child("containers"), errors);
    let init_containers = spec.init_containers.as_deref().unwrap_or_default();
    validate_containers_of_pod(init_containers, path.child("initContainers"), errors);
}

fn validate_tokens_have_account(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    if spec.service_account_name.as_deref().is_some_and(|account| !account.is_empty()) {
        return;
    }
    let volumes = path.child("volumes");
    for (i, volume) in spec.volumes.iter().flatten().enumerate() {
        let Some(projected) = &volume.projected else { continue };
        let volume_path = volumes.index(i);
        let sources = volume_path.child("projected.sources");
        for (j, source) in projected.sources.iter().flatten().enumerate() {
            if source.service_account_token.is_some() {
                let detail = "must not be specified when serviceAccountName is not set";
                errors.forbidden(sources.index(j).child("serviceAccountToken"), detail);
            }
        }
    }
}

/// The kinds of objects that hold a pod template, each with its own wishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
}

/// A pod template inside a workload. `old` is the template it replaces, and `path` names it (`spec.template`).
pub fn validate_template(
    template: &PodTemplateSpec,
    old: Option<&PodTemplateSpec>,
    workload: Workload,
    path: Path<'_>,
    gates: FeatureGates,
) -> Errors {
    let mut errors = Errors::new();
    let no_meta = ObjectMeta::default();
    let no_spec = PodSpec::default();
    let meta = template.metadata.as_ref().unwrap_or(&no_meta);
    let spec = template.spec.as_ref().unwrap_or(&no_spec);
    let options = Options::new(gates, old.and_then(|old| old.spec.as_ref()));
    let kept = old.map_or_else(Kept::for_create, |old| {
        Kept::for_update(old.metadata.as_ref().unwrap_or(&no_meta), old.spec.as_ref().unwrap_or(&no_spec))
    });
    let annotations = meta.annotations.as_ref();
    let spec_path = path.child("spec");
    validate_labels(meta.labels.as_ref(), path.child("labels"), &mut errors);
    validate_annotations(annotations, path.child("annotations"), &mut errors);
    validate_pod_annotations(annotations, spec, &kept, path.child("annotations"), &mut errors);
    let context = Context { subject: Subject::Template, options: &options, kept: &kept, meta: None };
    validate_pod_spec(spec, &context, spec_path, &mut errors);
    validate_seccomp_agreement(annotations, spec, spec_path, &mut errors);
    validate_apparmor_agreement(annotations, spec, AppArmorAnnotation::StaysAnnotation, spec_path, &mut errors);
    if spec.ephemeral_containers.as_ref().is_some_and(|containers| !containers.is_empty()) {
        let path = spec_path.child("ephemeralContainers");
        errors.forbidden(path, "ephemeral containers not allowed in pod template");
    }
    validate_fit(spec, workload, spec_path, &mut errors);
    errors
}

/// Restart policy and deadline must suit the workload.
fn validate_fit(spec: &PodSpec, workload: Workload, path: Path<'_>, errors: &mut Errors) {
    let supported: &[&str] = match workload {
        Workload::Job => return validate_fit_for_job(spec, path, errors),
        Workload::PodTemplate => return,
        Workload::DaemonSet
        | Workload::Deployment
        | Workload::ReplicaSet
        | Workload::ReplicationController
        | Workload::StatefulSet => &["Always"],
    };
    let policy = spec.restart_policy.as_deref().unwrap_or_default();
    formats::choice(policy, supported, path.child("restartPolicy"), errors);
    if spec.active_deadline_seconds.is_some() {
        let kind = match workload {
            // Deployments share the check of replica sets.
            Workload::Deployment => Workload::ReplicaSet,
            other => other,
        };
        let detail = format!("activeDeadlineSeconds in {kind:?} is not Supported");
        errors.forbidden(path.child("activeDeadlineSeconds"), &detail);
    }
}

fn validate_fit_for_job(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let path = path.child("restartPolicy");
    match spec.restart_policy.as_deref().unwrap_or_default() {
        "" | "Always" => {
            errors.required(path, "valid values: \"OnFailure\", \"Never\"");
        }
        other => formats::choice(other, &["OnFailure", "Never"], path, errors),
    }
}
