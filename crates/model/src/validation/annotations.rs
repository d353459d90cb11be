//! Annotations that mean something on a pod: mirror pods, deletion cost, and the older ways to write tolerations,
//! seccomp and AppArmor profiles.

use std::collections::{BTreeMap, HashSet};

use k8s_openapi::api::core::v1::{AppArmorProfile, Pod, PodSpec, SeccompProfile, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::formats;
use super::kept::Kept;
use super::scheduling::validate_tolerations;
use super::security_profiles::validate_app_armor;
use super::visit::{ContainerView, all_containers};
use crate::field::{Errors, Path, go_quoted};
use crate::signal::Os;

pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APPARMOR_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";

type Annotations = BTreeMap<String, String>;

pub(super) fn validate_pod_annotations(
    annotations: Option<&Annotations>,
    spec: &PodSpec,
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let Some(annotations) = annotations else { return };
    if let Some(value) = annotations.get(MIRROR)
        && spec.node_name.as_deref().unwrap_or_default().is_empty()
    {
        errors.invalid(path.key(MIRROR), value.as_str(), "must set spec.nodeName if mirror pod annotation is set");
    }
    validate_tolerations_annotation(annotations, kept, path, errors);
    if !kept.invalid_deletion_cost && !has_valid_deletion_cost(annotations) {
        errors.invalid(path.key(DELETION_COST), annotations[DELETION_COST].as_str(), "must be a 32bit integer");
    }
    validate_seccomp_annotations(annotations, path, errors);
    validate_apparmor_annotations(annotations, spec, path, errors);
}

/// Mirror and AppArmor annotations are fixed once the pod exists.
pub(super) fn validate_pod_annotations_update(new: &Pod, old: &Pod, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let none = Annotations::new();
    let no_spec = PodSpec::default();
    let spec = new.spec.as_ref().unwrap_or(&no_spec);
    let new = new.metadata.annotations.as_ref().unwrap_or(&none);
    let old = old.metadata.annotations.as_ref().unwrap_or(&none);
    for (key, _) in old.iter().filter(|(key, value)| new.get(*key) != Some(value)) {
        if key.starts_with(APPARMOR_CONTAINER) {
            errors.forbidden(path.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(path.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for key in new.keys().filter(|key| !old.contains_key(*key)) {
        if key.starts_with(APPARMOR_CONTAINER) {
            errors.forbidden(path.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(path.key(key), "may not add mirror pod annotation");
        }
    }
    validate_pod_annotations(Some(new), spec, kept, path, errors);
}

pub(super) fn is_mirror(meta: &ObjectMeta) -> bool {
    meta.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR))
}

pub(super) fn has_valid_deletion_cost(annotations: &Annotations) -> bool {
    annotations.get(DELETION_COST).is_none_or(|cost| {
        let first_is_fine = cost == "0" || cost.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
        first_is_fine && cost.parse::<i32>().is_ok()
    })
}

fn validate_tolerations_annotation(annotations: &Annotations, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let value = annotations.get(TOLERATIONS).map(String::as_str).unwrap_or_default();
    if value.is_empty() {
        return;
    }
    match serde_json::from_str::<Option<Vec<Toleration>>>(value) {
        Ok(tolerations) => {
            validate_tolerations(&tolerations.unwrap_or_default(), kept, path.child(TOLERATIONS), errors);
        }
        Err(error) => errors.invalid(path, TOLERATIONS, &error.to_string()),
    }
}

fn validate_seccomp_annotations(annotations: &Annotations, path: Path<'_>, errors: &mut Errors) {
    for (key, value) in annotations {
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            validate_seccomp_value(value, path.child(key), errors);
        }
    }
}

fn validate_seccomp_value(value: &str, path: Path<'_>, errors: &mut Errors) {
    match (value, value.strip_prefix("localhost/")) {
        ("runtime/default" | "docker/default" | "unconfined", _) => {}
        (_, Some(profile)) => formats::descending_path(profile, path, errors),
        _ => errors.invalid(path, value, "must be a valid seccomp profile"),
    }
}

fn validate_apparmor_annotations(annotations: &Annotations, spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let mut names: Option<HashSet<&str>> = None;
    for (key, value) in annotations {
        let Some(container) = key.strip_prefix(APPARMOR_CONTAINER) else { continue };
        let names = names.get_or_insert_with(|| all_containers(spec).map(|container| container.name).collect());
        if !names.contains(container) {
            errors.invalid(path.key(key), container, "container not found");
        }
        let known = matches!(value.as_str(), "" | "runtime/default" | "unconfined") || value.starts_with("localhost/");
        if !known {
            errors.invalid(
                path.key(key),
                value.as_str(),
                &format!("invalid AppArmor profile name: {}", go_quoted(value)),
            );
        }
    }
}

/// Where a pod or container has a seccomp profile in both places, they must agree.
pub(super) fn validate_seccomp_agreement(
    annotations: Option<&Annotations>,
    spec: &PodSpec,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let Some(annotations) = annotations else { return };
    let pod_profile = spec.security_context.as_ref().and_then(|context| context.seccomp_profile.as_ref());
    if let (Some(profile), Some(annotation)) = (pod_profile, annotations.get(SECCOMP_POD)) {
        let context = path.child("securityContext");
        seccomp_agrees(annotation, profile, context.child("seccompProfile"), errors);
    }
    for container in all_containers(spec) {
        let profile = container.security_context.and_then(|context| context.seccomp_profile.as_ref());
        let annotation = annotations.get(&format!("{SECCOMP_CONTAINER}{}", container.name));
        if let (Some(profile), Some(annotation)) = (profile, annotation) {
            let list = path.child(container.list);
            let context = list.index(container.index);
            let context = context.child("securityContext");
            seccomp_agrees(annotation, profile, context.child("seccompProfile"), errors);
        }
    }
}

fn seccomp_agrees(annotation: &str, profile: &SeccompProfile, path: Path<'_>, errors: &mut Errors) {
    let type_agrees = match profile.type_.as_str() {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => matches!(annotation, "runtime/default" | "docker/default"),
        "Localhost" => annotation.starts_with("localhost/"),
        _ => true,
    };
    if !type_agrees {
        errors.forbidden(path.child("type"), "seccomp type in annotation and field must match");
    } else if profile.type_ == "Localhost"
        && annotation.strip_prefix("localhost/") != profile.localhost_profile.as_deref()
    {
        errors.forbidden(path.child("localhostProfile"), "seccomp profile in annotation and field must match");
    }
}

/// Whether a valid AppArmor annotation of a container without a field is read as that field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppArmorAnnotation {
    /// On a new pod: upstream copies it before validation, so it cannot disagree with the pod's field.
    BecomesField,
    /// In a template it stays what it is.
    StaysAnnotation,
}

/// Where a container has an AppArmor profile, own or the pod's, in both places, they must agree. Windows has none.
pub(super) fn validate_apparmor_agreement(
    annotations: Option<&Annotations>,
    spec: &PodSpec,
    reading: AppArmorAnnotation,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let Some(annotations) = annotations else { return };
    if spec.os.as_ref().is_some_and(|os| os.name == Os::Windows.name()) {
        return;
    }
    let pod_profile = spec.security_context.as_ref().and_then(|context| context.app_armor_profile.as_ref());
    for container in all_containers(spec) {
        let own = container.security_context.and_then(|context| context.app_armor_profile.as_ref());
        let Some(profile) = own.or(pod_profile) else { continue };
        let Some(annotation) = annotations.get(&format!("{APPARMOR_CONTAINER}{}", container.name)) else { continue };
        let copied = reading == AppArmorAnnotation::BecomesField && own.is_none() && apparmor_is_valid(annotation);
        if !copied {
            apparmor_agrees(annotation, profile, container, path, errors);
        }
    }
}

/// Whether an annotation's value names a profile that a field could hold.
fn apparmor_is_valid(annotation: &str) -> bool {
    let (type_, localhost_profile) = match (annotation, annotation.strip_prefix("localhost/")) {
        ("unconfined", _) => ("Unconfined", None),
        ("runtime/default", _) => ("RuntimeDefault", None),
        (_, Some(file)) => ("Localhost", Some(file.to_owned())),
        _ => return false,
    };
    let profile = AppArmorProfile { type_: type_.to_owned(), localhost_profile };
    let mut errors = Errors::new();
    validate_app_armor(&profile, Path::root(), &mut errors);
    errors.is_empty()
}

fn apparmor_agrees(
    annotation: &str,
    profile: &AppArmorProfile,
    container: ContainerView<'_>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let list = path.child(container.list);
    let at = list.index(container.index);
    let at = at.child("securityContext");
    let at = at.child("appArmorProfile");
    let type_agrees = match profile.type_.as_str() {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => annotation == "runtime/default",
        "Localhost" => annotation.starts_with("localhost/"),
        _ => true,
    };
    if !type_agrees {
        errors.forbidden(at.child("type"), "apparmor type in annotation and field must match");
    } else if profile.type_ == "Localhost"
        && annotation.strip_prefix("localhost/") != profile.localhost_profile.as_deref()
    {
        errors.forbidden(at.child("localhostProfile"), "apparmor profile in annotation and field must match");
    }
}
