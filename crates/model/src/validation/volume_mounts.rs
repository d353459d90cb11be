//! Rules for what a container mounts and which block devices it uses.
//!
//! Some errors name the list rather than its element, as upstream's do.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, VolumeDevice, VolumeMount};
use serde_json::Value;

use super::{VolumeKind, VolumeNames};
use crate::field::{Errors, Path};
use crate::text;

pub(super) fn validate_volume_mounts(
    container: &Container,
    volumes: &VolumeNames,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let mut taken = BTreeSet::new();
    for (i, mount) in container.volume_mounts.iter().flatten().enumerate() {
        let list = path;
        let path = path.index(i);
        if mount.name.is_empty() {
            errors.required(path.child("name"), "");
        }
        if !volumes.contains(&mount.name) {
            errors.not_found(path.child("name"), &mount.name);
        }
        if mount.mount_path.is_empty() {
            errors.required(path.child("mountPath"), "");
        }
        if !taken.insert(mount.mount_path.as_str()) {
            errors.invalid(path.child("mountPath"), &mount.mount_path, "must be unique");
        }
        if devices(container).any(|device| device.name == mount.name) {
            errors.invalid(path.child("name"), &mount.name, "must not already exist in volumeDevices");
        }
        if effective_devices(container).any(|device| device.device_path == mount.mount_path) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.invalid(path.child("mountPath"), &mount.mount_path, detail);
        }
        validate_sub_paths(mount, list, path, errors);
        validate_propagation(mount, container, list.child("mountPropagation"), errors);
        validate_recursive_read_only(mount, list.child("recursiveReadOnly"), errors);
    }
}

fn validate_sub_paths(mount: &VolumeMount, list: Path<'_>, path: Path<'_>, errors: &mut Errors) {
    let sub_path = mount.sub_path.as_deref().unwrap_or_default();
    let expression = mount.sub_path_expr.as_deref().unwrap_or_default();
    errors.invalid_each(list.child("subPath"), sub_path, &text::descending_path(sub_path));
    if !expression.is_empty() && !sub_path.is_empty() {
        let detail = "subPathExpr and subPath are mutually exclusive";
        errors.invalid(path.child("subPathExpr"), expression, detail);
    }
    errors.invalid_each(list.child("subPathExpr"), expression, &text::descending_path(expression));
}

fn validate_propagation(mount: &VolumeMount, container: &Container, path: Path<'_>, errors: &mut Errors) {
    let Some(propagation) = mount.mount_propagation.as_deref() else { return };
    let supported = ["Bidirectional", "HostToContainer", "None"];
    if !supported.contains(&propagation) {
        errors.not_supported(path, Value::from(propagation), &supported);
    }
    let privileged = container.security_context.as_ref().is_some_and(|security| security.privileged == Some(true));
    if propagation == "Bidirectional" && !privileged {
        errors.forbidden(path, "Bidirectional mount propagation is available only to privileged containers");
    }
}

fn validate_recursive_read_only(mount: &VolumeMount, path: Path<'_>, errors: &mut Errors) {
    match mount.recursive_read_only.as_deref() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if mount.read_only != Some(true) {
                errors.forbidden(path, "may only be specified when readOnly is true");
            }
            if mount.mount_propagation.as_deref().is_some_and(|propagation| propagation != "None") {
                errors.forbidden(path, "may only be specified when mountPropagation is None or not specified");
            }
        }
        Some(other) => errors.not_supported(path, Value::from(other), &["Disabled", "Enabled", "IfPossible"]),
    }
}

pub(super) fn validate_volume_devices(
    container: &Container,
    volumes: &VolumeNames,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let mut names = BTreeSet::new();
    let mut paths = BTreeSet::new();
    for (i, device) in devices(container).enumerate() {
        let path = path.index(i);
        let (name, device_path) = (device.name.as_str(), device.device_path.as_str());
        validate_device_name(name, &names, volumes, path.child("name"), errors);
        if device_path.is_empty() {
            errors.required(path.child("devicePath"), "");
        }
        if paths.contains(device_path) {
            errors.invalid(path.child("devicePath"), device_path, "must be unique");
        }
        if text::path_without_backsteps(device_path).is_empty() {
            paths.insert(device_path);
        } else {
            errors.invalid(path.child("devicePath"), device_path, "can not contain backsteps ('..')");
        }
        if mounts(container).any(|mount| mount.name == name) {
            errors.invalid(path.child("name"), name, "must not already exist in volumeMounts");
        }
        if effective_mounts(container).any(|mount| mount.mount_path == device_path) {
            errors.invalid(path.child("devicePath"), device_path, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}

fn validate_device_name(
    name: &str,
    names: &BTreeSet<&str>,
    volumes: &VolumeNames,
    path: Path<'_>,
    errors: &mut Errors,
) {
    if name.is_empty() {
        errors.required(path, "");
    }
    if names.contains(name) {
        errors.invalid(path, name, "must be unique");
    }
    match volumes.kind(name) {
        Some(VolumeKind::Claim) => {}
        Some(VolumeKind::Other) => {
            let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            errors.invalid(path, name, detail);
        }
        None => errors.not_found(path, name),
    }
}

fn mounts(container: &Container) -> impl Iterator<Item = &VolumeMount> {
    container.volume_mounts.iter().flatten()
}

fn devices(container: &Container) -> impl Iterator<Item = &VolumeDevice> {
    container.volume_devices.iter().flatten()
}

/// Of several mounts of one volume only the last counts when paths are compared with those of devices.
fn effective_mounts(container: &Container) -> impl Iterator<Item = &VolumeMount> {
    let all = container.volume_mounts.as_deref().unwrap_or_default();
    all.iter()
        .enumerate()
        .filter(|(i, mount)| all[i + 1..].iter().all(|later| later.name != mount.name))
        .map(|(_, m)| m)
}

/// Of several devices for one volume only the last counts when paths are compared with those of mounts.
fn effective_devices(container: &Container) -> impl Iterator<Item = &VolumeDevice> {
    let all = container.volume_devices.as_deref().unwrap_or_default();
    all.iter().enumerate().filter(|(i, dev)| all[i + 1..].iter().all(|later| later.name != dev.name)).map(|(_, d)| d)
}
