//! Rules for init containers: those that run to completion, and the sidecars among them (`restartPolicy: Always`).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::Value;

use super::containers::validate_any_container;
use super::lifecycle::validate_lifecycle;
use super::ports::validate_host_port_conflicts;
use super::probes::validate_probes;
use super::restart::validate_init_restart_policy;
use super::surroundings::Surroundings;
use super::{Options, VolumeNames};
use crate::field::{Errors, Path};

/// Checks `spec.initContainers`, which `path` names.
pub(crate) fn validate_init_containers(
    spec: &PodSpec,
    volumes: &VolumeNames,
    path: Path<'_>,
    options: &Options,
    errors: &mut Errors,
) {
    let pod = Surroundings::of(spec, volumes, options);
    let mut names: BTreeSet<&str> = spec.containers.iter().map(|container| container.name.as_str()).collect();
    for (i, container) in spec.init_containers.iter().flatten().enumerate() {
        let list = path;
        let path = path.index(i);
        validate_any_container(container, &pod, path, errors);
        validate_init_restart_policy(container, path, errors);
        if names.contains(container.name.as_str()) {
            errors.duplicate(path.child("name"), &container.name);
        } else if !container.name.is_empty() {
            names.insert(&container.name);
        }
        // Init containers run one after the other, so each is compared with itself only. Upstream names the first
        // container of the list in the error whichever it is.
        validate_host_port_conflicts(std::slice::from_ref(container), list, errors);
        if is_sidecar(container) {
            if let Some(lifecycle) = &container.lifecycle {
                validate_lifecycle(lifecycle, &pod, path.child("lifecycle"), errors);
            }
            validate_probes(container, path, errors);
        } else {
            forbid_sidecar_fields(container, path, errors);
            forbid_restarting_resize(container, options, path, errors);
        }
    }
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn forbid_sidecar_fields(container: &Container, path: Path<'_>, errors: &mut Errors) {
    let fields = [
        ("lifecycle", container.lifecycle.is_some()),
        ("livenessProbe", container.liveness_probe.is_some()),
        ("readinessProbe", container.readiness_probe.is_some()),
        ("startupProbe", container.startup_probe.is_some()),
    ];
    for (name, _) in fields.into_iter().filter(|(_, is_set)| *is_set) {
        errors.forbidden(path.child(name), "may not be set for init containers without restartPolicy=Always");
    }
}

fn forbid_restarting_resize(container: &Container, options: &Options, path: Path<'_>, errors: &mut Errors) {
    if options.restarting_resize_of_init_containers {
        return;
    }
    for (j, policy) in container.resize_policy.iter().flatten().enumerate() {
        if policy.restart_policy == "RestartContainer" {
            errors.invalid(
                path.child("resizePolicy").index(j).child("restartPolicy"),
                Value::from(policy.restart_policy.as_str()),
                "must not be set to 'RestartContainer' for non-sidecar initContainers",
            );
        }
    }
}
