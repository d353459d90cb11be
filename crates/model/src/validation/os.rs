//! When `spec.os` is valid, and which fields it rules out.

use k8s_openapi::api::core::v1::{PodSecurityContext, PodSpec, SecurityContext};

use super::formats;
use super::visit::all_containers;
use crate::field::{Errors, Path};
use crate::signal::Os;

const NOT_ON_LINUX: &str = "windows options cannot be set for a linux pod";
const NOT_ON_WINDOWS: &str = "cannot be set for a windows pod";

pub(super) fn validate_os(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let Some(os) = &spec.os else { return };
    if os.name.is_empty() {
        errors.required(path.child("os").child("name"), "");
        return;
    }
    match Os::named(&os.name) {
        Some(Os::Linux) => validate_linux(spec, path, errors),
        Some(Os::Windows) => validate_windows(spec, path, errors),
        None => formats::choice(&os.name, &[Os::Linux.name(), Os::Windows.name()], path.child("os"), errors),
    }
}

fn validate_linux(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    if spec.security_context.as_ref().is_some_and(|context| context.windows_options.is_some()) {
        errors.forbidden(path.child("securityContext.windowsOptions"), NOT_ON_LINUX);
    }
    for container in all_containers(spec) {
        if container.security_context.is_some_and(|context| context.windows_options.is_some()) {
            let list = path.child(container.list);
            let at = list.index(container.index);
            errors.forbidden(at.child("securityContext.windowsOptions"), NOT_ON_LINUX);
        }
    }
}

fn validate_windows(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    if let Some(context) = &spec.security_context {
        forbid(&unix_fields_of_pod(context), path.child("securityContext"), errors);
    }
    let fields = [
        ("hostUsers", spec.host_users.is_some()),
        ("hostPID", spec.host_pid == Some(true)),
        ("hostIPC", spec.host_ipc == Some(true)),
        ("shareProcessNamespace", spec.share_process_namespace.is_some()),
    ];
    forbid(&fields, path, errors);
    for container in all_containers(spec) {
        if let Some(context) = container.security_context {
            let list = path.child(container.list);
            let at = list.index(container.index);
            forbid(&unix_fields_of_container(context), at.child("securityContext"), errors);
        }
    }
}

fn forbid(fields: &[(&str, bool)], path: Path<'_>, errors: &mut Errors) {
    for (field, _) in fields.iter().filter(|(_, is_set)| *is_set) {
        errors.forbidden(path.child(field), NOT_ON_WINDOWS);
    }
}

fn unix_fields_of_pod(context: &PodSecurityContext) -> [(&'static str, bool); 11] {
    [
        ("appArmorProfile", context.app_armor_profile.is_some()),
        ("seLinuxOptions", context.se_linux_options.is_some()),
        ("seccompProfile", context.seccomp_profile.is_some()),
        ("fsGroup", context.fs_group.is_some()),
        ("fsGroupChangePolicy", context.fs_group_change_policy.is_some()),
        ("sysctls", context.sysctls.as_ref().is_some_and(|all| !all.is_empty())),
        ("runAsUser", context.run_as_user.is_some()),
        ("runAsGroup", context.run_as_group.is_some()),
        ("supplementalGroups", context.supplemental_groups.is_some()),
        ("supplementalGroupsPolicy", context.supplemental_groups_policy.is_some()),
        ("seLinuxChangePolicy", context.se_linux_change_policy.is_some()),
    ]
}

fn unix_fields_of_container(context: &SecurityContext) -> [(&'static str, bool); 10] {
    [
        ("appArmorProfile", context.app_armor_profile.is_some()),
        ("seLinuxOptions", context.se_linux_options.is_some()),
        ("seccompProfile", context.seccomp_profile.is_some()),
        ("capabilities", context.capabilities.is_some()),
        ("readOnlyRootFilesystem", context.read_only_root_filesystem.is_some()),
        ("privileged", context.privileged.is_some()),
        ("allowPrivilegeEscalation", context.allow_privilege_escalation.is_some()),
        ("procMount", context.proc_mount.is_some()),
        ("runAsUser", context.run_as_user.is_some()),
        ("runAsGroup", context.run_as_group.is_some()),
    ]
}
