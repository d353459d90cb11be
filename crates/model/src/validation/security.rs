//! When a pod's security context is valid, and which host namespaces it may combine.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{PodSecurityContext, PodSpec};

use super::formats;
use super::kept::Kept;
use super::security_profiles::{validate_app_armor, validate_seccomp};
use super::visit::all_containers;
use super::windows_options::validate_windows_options;
use crate::field::{Errors, Path};

const SYSCTL_BYTES_MAX: usize = 253;
const SYSCTL_PATTERN: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
/// Kernel parameters of the IPC namespace; everything below `fs.mqueue.` is too.
const IPC_SYSCTLS: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

pub(super) fn validate_security_context(
    context: &PodSecurityContext,
    spec: &PodSpec,
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) {
    validate_ids(context, path, errors);
    validate_sysctls(context, spec, kept, path.child("sysctls"), errors);
    if let Some(policy) = &context.fs_group_change_policy {
        formats::choice(policy, &["Always", "OnRootMismatch"], path.child("fsGroupChangePolicy"), errors);
    }
    if let Some(profile) = &context.seccomp_profile {
        validate_seccomp(profile, path.child("seccompProfile"), errors);
    }
    if let Some(options) = &context.windows_options {
        validate_windows_options(options, path.child("windowsOptions"), errors);
    }
    if let Some(profile) = &context.app_armor_profile {
        validate_app_armor(profile, path.child("appArmorProfile"), errors);
    }
    if let Some(policy) = &context.supplemental_groups_policy {
        formats::choice(policy, &["Merge", "Strict"], path.child("supplementalGroupsPolicy"), errors);
    }
    if let Some(policy) = &context.se_linux_change_policy {
        formats::choice(policy, &["MountOption", "Recursive"], path.child("seLinuxChangePolicy"), errors);
    }
}

fn validate_ids(context: &PodSecurityContext, path: Path<'_>, errors: &mut Errors) {
    formats::group_id(context.fs_group, path.child("fsGroup"), errors);
    formats::user_id(context.run_as_user, path.child("runAsUser"), errors);
    formats::group_id(context.run_as_group, path.child("runAsGroup"), errors);
    let groups = path.child("supplementalGroups");
    for (i, group) in context.supplemental_groups.iter().flatten().enumerate() {
        formats::group_id(Some(*group), groups.index(i), errors);
    }
}

fn validate_sysctls(context: &PodSecurityContext, spec: &PodSpec, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (i, sysctl) in context.sysctls.iter().flatten().enumerate() {
        let path = path.index(i);
        let path = path.child("name");
        let name = sysctl.name.as_str();
        let is_new = seen.insert(name);
        if name.is_empty() {
            errors.required(path, "");
        } else if !is_sysctl_name(name) {
            let detail = format!("must have at most {SYSCTL_BYTES_MAX} characters and match regex {SYSCTL_PATTERN}");
            errors.invalid(path, name, &detail);
        } else if !is_new {
            errors.duplicate(path, name);
        }
        if !kept.host_sysctls
            && let Some(detail) = host_sysctl_fault(name, spec)
        {
            errors.invalid(path, name, detail);
        }
    }
}

fn is_sysctl_name(name: &str) -> bool {
    let edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.len() <= SYSCTL_BYTES_MAX
        && name.split(['.', '/']).map(str::as_bytes).all(|segment| {
            segment.first().is_some_and(edge)
                && segment.last().is_some_and(edge)
                && segment.iter().all(|b| edge(b) || matches!(b, b'-' | b'_'))
        })
}

/// Why a kernel parameter cannot be set for a pod that shares the parameter's namespace with the host.
pub(super) fn host_sysctl_fault(name: &str, spec: &PodSpec) -> Option<&'static str> {
    let name = with_dots(name);
    let name = name.split('*').next().unwrap_or_default();
    if spec.host_network == Some(true) && name.starts_with("net.") {
        Some("may not be specified when 'hostNetwork' is true")
    } else if spec.host_ipc == Some(true) && (IPC_SYSCTLS.contains(&name) || name.starts_with("fs.mqueue.")) {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

/// A name separated by slashes (`net/ipv4/conf/eno2.100`) as one separated by dots (`net.ipv4.conf.eno2/100`).
fn with_dots(name: &str) -> String {
    let swapped = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('/') => name.chars().map(swapped).collect(),
        _ => name.to_owned(),
    }
}

pub(super) fn validate_shared_processes(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    if spec.share_process_namespace == Some(true) && spec.host_pid == Some(true) {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(path.child("shareProcessNamespace"), true, detail);
    }
}

/// A pod with its own users shares no other namespace with the host and uses no block devices.
pub(super) fn validate_host_users(spec: &PodSpec, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    const DETAIL: &str = "when `hostUsers` is false";
    if spec.host_users != Some(false) {
        return;
    }
    if spec.host_network == Some(true) && !kept.user_namespace_on_host_network {
        errors.forbidden(path.child("hostNetwork"), DETAIL);
    }
    if spec.host_pid == Some(true) {
        errors.forbidden(path.child("HostPID"), DETAIL);
    }
    if spec.host_ipc == Some(true) {
        errors.forbidden(path.child("HostIPC"), DETAIL);
    }
    if kept.user_namespace_with_devices {
        return;
    }
    for container in all_containers(spec).filter(|container| !container.volume_devices.is_empty()) {
        let list = path.child(container.list);
        errors.forbidden(list.index(container.index).child("volumeDevices"), DETAIL);
    }
}
