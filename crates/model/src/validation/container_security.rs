//! Rules for the security context of a container.

use k8s_openapi::api::core::v1::SecurityContext;
use serde_json::Value;

use super::security_profiles::{Shown, validate_app_armor, validate_seccomp};
use super::surroundings::Surroundings;
use super::windows_options::validate_windows_options;
use crate::field::{Errors, Path};
use crate::text;

pub(super) fn validate_security_context(
    security: &SecurityContext,
    pod: &Surroundings<'_>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    if security.privileged == Some(true) && !pod.options.privileged {
        errors.forbidden(path.child("privileged"), "disallowed by cluster policy");
    }
    for (name, id, check) in [
        ("runAsUser", security.run_as_user, text::user_id as fn(i64) -> Vec<String>),
        ("runAsGroup", security.run_as_group, text::group_id),
    ] {
        let Some(id) = id else { continue };
        for complaint in check(id) {
            errors.invalid(path.child(name), id, &complaint);
        }
    }
    validate_proc_mount(security, pod, path.child("procMount"), errors);
    if let Some(profile) = &security.seccomp_profile {
        validate_seccomp(profile, path.child("seccompProfile"), errors);
    }
    validate_escalation(security, pod, path, errors);
    if let Some(windows) = &security.windows_options {
        validate_windows_options(windows, path.child("windowsOptions"), errors);
    }
    if let Some(profile) = &security.app_armor_profile {
        validate_app_armor(profile, path.child("appArmorProfile"), errors);
    }
}

fn validate_proc_mount(security: &SecurityContext, pod: &Surroundings<'_>, path: Path<'_>, errors: &mut Errors) {
    match security.proc_mount.as_deref() {
        None | Some("Default") => {}
        Some("Unmasked") if pod.host_users => {
            errors.invalid(path, Value::from("Unmasked"), "`hostUsers` must be false to use `Unmasked`");
        }
        Some("Unmasked") => {}
        Some(other) => errors.not_supported(path, Value::from(other), &["Default", "Unmasked"]),
    }
}

/// A container that may not gain privileges cannot have them all already.
fn validate_escalation(security: &SecurityContext, pod: &Surroundings<'_>, path: Path<'_>, errors: &mut Errors) {
    if security.allow_privilege_escalation != Some(false) {
        return;
    }
    if security.privileged == Some(true) {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.invalid(path, security.shown(), detail);
    }
    if pod.options.sys_admin_without_escalation {
        return;
    }
    let added = security.capabilities.iter().flat_map(|capabilities| capabilities.add.iter().flatten());
    for _ in added.into_iter().filter(|capability| *capability == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        errors.invalid(path, security.shown(), detail);
    }
}
