//! Rules for ephemeral containers, which are added to a running pod to look around and may do little else.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, PodSpec};

use super::containers::{validate_any_container, validate_container_of_pod};
use super::surroundings::Surroundings;
use super::{Options, VolumeNames};
use crate::field::{Errors, Path};

const NOT_HERE: &str = "cannot be set for an Ephemeral Container";

/// Checks `spec.ephemeralContainers`, which `path` names.
pub(crate) fn validate_ephemeral_containers(
    spec: &PodSpec,
    volumes: &VolumeNames,
    path: Path<'_>,
    options: &Options,
    errors: &mut Errors,
) {
    let pod = Surroundings::of(spec, volumes, options);
    let lasting = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let targets: BTreeSet<&str> = lasting.map(|container| container.name.as_str()).collect();
    let mut names = targets.clone();
    for (i, ephemeral) in spec.ephemeral_containers.iter().flatten().enumerate() {
        let path = path.index(i);
        let container = as_container(ephemeral);
        validate_any_container(&container, &pod, path, errors);
        validate_container_of_pod(&container, path, errors);
        if !names.insert(&ephemeral.name) {
            errors.duplicate(path.child("name"), &ephemeral.name);
        }
        let target = ephemeral.target_container_name.as_deref().unwrap_or_default();
        if !target.is_empty() && !targets.contains(target) {
            errors.not_found(path.child("targetContainerName"), target);
        }
        forbid_fields(ephemeral, path, errors);
        forbid_sub_paths(ephemeral, path, errors);
    }
}

/// Whatever makes a container part of the workload is forbidden. Empty lists count as set.
fn forbid_fields(container: &EphemeralContainer, path: Path<'_>, errors: &mut Errors) {
    let has_resources =
        container.resources.as_ref().is_some_and(|r| r.claims.is_some() || r.limits.is_some() || r.requests.is_some());
    let fields = [
        ("ports", container.ports.is_some()),
        ("resources", has_resources),
        ("resizePolicy", container.resize_policy.is_some()),
        ("restartPolicy", container.restart_policy.is_some()),
        ("restartPolicyRules", container.restart_policy_rules.is_some()),
        ("livenessProbe", container.liveness_probe.is_some()),
        ("readinessProbe", container.readiness_probe.is_some()),
        ("startupProbe", container.startup_probe.is_some()),
        ("lifecycle", container.lifecycle.is_some()),
    ];
    for (name, _) in fields.into_iter().filter(|(_, is_set)| *is_set) {
        errors.forbidden(path.child(name), NOT_HERE);
    }
}

/// Sub-paths are bind mounts that would stay until the pod ends.
fn forbid_sub_paths(container: &EphemeralContainer, path: Path<'_>, errors: &mut Errors) {
    let list = path.child("volumeMounts");
    for (i, mount) in container.volume_mounts.iter().flatten().enumerate() {
        let path = list.index(i);
        if mount.sub_path.as_deref().is_some_and(|sub_path| !sub_path.is_empty()) {
            errors.forbidden(path.child("subPath"), NOT_HERE);
        }
        if mount.sub_path_expr.as_deref().is_some_and(|sub_path| !sub_path.is_empty()) {
            errors.forbidden(path.child("subPathExpr"), NOT_HERE);
        }
    }
}

/// The same container with the type that the shared rules know.
fn as_container(ephemeral: &EphemeralContainer) -> Container {
    let c = ephemeral.clone();
    Container {
        args: c.args,
        command: c.command,
        env: c.env,
        env_from: c.env_from,
        image: c.image,
        image_pull_policy: c.image_pull_policy,
        lifecycle: c.lifecycle,
        liveness_probe: c.liveness_probe,
        name: c.name,
        ports: c.ports,
        readiness_probe: c.readiness_probe,
        resize_policy: c.resize_policy,
        resources: c.resources,
        restart_policy: c.restart_policy,
        restart_policy_rules: c.restart_policy_rules,
        security_context: c.security_context,
        startup_probe: c.startup_probe,
        stdin: c.stdin,
        stdin_once: c.stdin_once,
        termination_message_path: c.termination_message_path,
        termination_message_policy: c.termination_message_policy,
        tty: c.tty,
        volume_devices: c.volume_devices,
        volume_mounts: c.volume_mounts,
        working_dir: c.working_dir,
    }
}
