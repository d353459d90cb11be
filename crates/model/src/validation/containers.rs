//! Rules for the main containers, and the rules that containers of every kind share.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::Value;

use super::container_security::validate_security_context;
use super::env::{validate_env, validate_env_from};
use super::lifecycle::validate_lifecycle;
use super::ports::{validate_host_port_conflicts, validate_ports};
use super::probes::validate_probes;
use super::resources::{ResourceNames, validate_requirements, validate_resize_policy};
use super::restart::validate_restart_policy;
use super::surroundings::Surroundings;
use super::volume_mounts::{validate_volume_devices, validate_volume_mounts};
use super::{Options, VolumeNames};
use crate::field::{Errors, Path};
use crate::text;

/// Checks `spec.containers`, which `path` names.
pub(crate) fn validate_containers(
    spec: &PodSpec,
    volumes: &VolumeNames,
    path: Path<'_>,
    options: &Options,
    errors: &mut Errors,
) {
    if spec.containers.is_empty() {
        errors.required(path, "");
        return;
    }
    let pod = Surroundings::of(spec, volumes, options);
    let mut names = BTreeSet::new();
    for (i, container) in spec.containers.iter().enumerate() {
        let path = path.index(i);
        validate_any_container(container, &pod, path, errors);
        if !names.insert(container.name.as_str()) {
            errors.duplicate(path.child("name"), &container.name);
        }
        if let Some(lifecycle) = &container.lifecycle {
            validate_lifecycle(lifecycle, &pod, path.child("lifecycle"), errors);
        }
        validate_probes(container, path, errors);
        validate_restart_policy(container, path, errors);
    }
    validate_host_port_conflicts(&spec.containers, path, errors);
}

/// Checks what only pods ask of their containers, and pod templates do not. `path` names the list.
pub(crate) fn validate_containers_of_pod(containers: &[Container], path: Path<'_>, errors: &mut Errors) {
    for (i, container) in containers.iter().enumerate() {
        validate_container_of_pod(container, path.index(i), errors);
    }
}

pub(super) fn validate_container_of_pod(container: &Container, path: Path<'_>, errors: &mut Errors) {
    let image = container.image.as_deref().unwrap_or_default();
    if image.trim() != image {
        errors.invalid(path.child("image"), image, "must not have leading or trailing whitespace");
    }
}

/// Checks what main, init and ephemeral containers have in common.
pub(super) fn validate_any_container(
    container: &Container,
    pod: &Surroundings<'_>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    if container.name.is_empty() {
        errors.required(path.child("name"), "");
    } else {
        errors.invalid_each(path.child("name"), &container.name, &text::dns_label(&container.name));
    }
    if container.image.as_deref().unwrap_or_default().is_empty() {
        errors.required(path.child("image"), "");
    }
    validate_choice(
        container.termination_message_policy.as_deref(),
        &["File", "FallbackToLogsOnError"],
        path.child("terminationMessagePolicy"),
        errors,
    );
    validate_ports(container, path.child("ports"), errors);
    validate_env(container, path.child("env"), errors);
    validate_env_from(container, path.child("envFrom"), errors);
    validate_volume_mounts(container, pod.volumes, path.child("volumeMounts"), errors);
    validate_volume_devices(container, pod.volumes, path.child("volumeDevices"), errors);
    validate_choice(
        container.image_pull_policy.as_deref(),
        &["Always", "IfNotPresent", "Never"],
        path.child("imagePullPolicy"),
        errors,
    );
    if let Some(resources) = &container.resources {
        let names = ResourceNames::of_containers(&pod.claim_names, pod.options);
        validate_requirements(resources, &names, path.child("resources"), errors);
    }
    validate_resize_policy(container, pod.restart_policy, path.child("resizePolicy"), errors);
    if let Some(security) = &container.security_context {
        validate_security_context(security, pod, path.child("securityContext"), errors);
    }
}

/// A field that must hold one of a few words.
fn validate_choice(value: Option<&str>, supported: &[&str], path: Path<'_>, errors: &mut Errors) {
    match value.unwrap_or_default() {
        "" => errors.required(path, ""),
        value if supported.contains(&value) => {}
        value => errors.not_supported(path, Value::from(value), supported),
    }
}
