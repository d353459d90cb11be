//! Rules for seccomp and AppArmor profiles, which pods and containers share.
//!
//! An error that shows a whole security context or profile shows it as upstream does: with the field names of its
//! internal types, every field present.

use k8s_openapi::api::core::v1::{
    AppArmorProfile, Capabilities, SELinuxOptions, SeccompProfile, SecurityContext, WindowsSecurityContextOptions,
};
use serde_json::Value;

use crate::field::{BadValue, Errors, Path};
use crate::text;

/// The longest path on Linux, without its terminating zero.
const APP_ARMOR_PROFILE_MAX: usize = 4095;

const TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

pub(crate) fn validate_seccomp(profile: &SeccompProfile, path: Path<'_>, errors: &mut Errors) {
    match profile.type_.as_str() {
        "" => errors.required(path.child("type"), "type is required when seccompProfile is set"),
        known if TYPES.contains(&known) => {}
        other => errors.not_supported(path.child("type"), Value::from(other), &TYPES),
    }
    let path = path.child("localhostProfile");
    match (profile.type_.as_str(), &profile.localhost_profile) {
        ("Localhost", None) => errors.required(path, "must be set when seccomp type is Localhost"),
        ("Localhost", Some(file)) => errors.invalid_each(path, file, &text::descending_path(file)),
        (_, None) => {}
        (_, Some(_)) => errors.invalid(path, profile.shown(), "can only be set when seccomp type is Localhost"),
    }
}

pub(crate) fn validate_app_armor(profile: &AppArmorProfile, path: Path<'_>, errors: &mut Errors) {
    let name = profile.localhost_profile.as_deref();
    match profile.type_.as_str() {
        "Localhost" => validate_app_armor_name(name.unwrap_or_default(), path.child("localhostProfile"), errors),
        "RuntimeDefault" | "Unconfined" => {
            if let Some(name) = name {
                let detail = "can only be set when AppArmor type is Localhost";
                errors.invalid(path.child("localhostProfile"), Value::from(name), detail);
            }
        }
        "" => errors.required(path.child("type"), "type is required when appArmorProfile is set"),
        other => errors.not_supported(path.child("type"), Value::from(other), &TYPES),
    }
}

fn validate_app_armor_name(name: &str, path: Path<'_>, errors: &mut Errors) {
    if name.trim() != name {
        errors.invalid(path, name, "must not be padded with whitespace");
    } else if name.is_empty() {
        errors.required(path, "must be set when AppArmor type is Localhost");
    }
    if name.len() > APP_ARMOR_PROFILE_MAX {
        errors.too_long(path, APP_ARMOR_PROFILE_MAX);
    }
}

/// A structure as it is shown in an error.
pub(super) trait Shown {
    fn shown(&self) -> BadValue;
}

impl Shown for SeccompProfile {
    fn shown(&self) -> BadValue {
        BadValue::Ordered(vec![
            ("Type", Value::from(self.type_.as_str()).into()),
            ("LocalhostProfile", Value::from(self.localhost_profile.clone()).into()),
        ])
    }
}

impl Shown for AppArmorProfile {
    fn shown(&self) -> BadValue {
        BadValue::Ordered(vec![
            ("Type", Value::from(self.type_.as_str()).into()),
            ("LocalhostProfile", Value::from(self.localhost_profile.clone()).into()),
        ])
    }
}

impl Shown for Capabilities {
    fn shown(&self) -> BadValue {
        BadValue::Ordered(vec![
            ("Add", Value::from(self.add.clone()).into()),
            ("Drop", Value::from(self.drop.clone()).into()),
        ])
    }
}

impl Shown for SELinuxOptions {
    fn shown(&self) -> BadValue {
        let text = |field: &Option<String>| Value::from(field.clone().unwrap_or_default()).into();
        BadValue::Ordered(vec![
            ("User", text(&self.user)),
            ("Role", text(&self.role)),
            ("Type", text(&self.type_)),
            ("Level", text(&self.level)),
        ])
    }
}

impl Shown for WindowsSecurityContextOptions {
    fn shown(&self) -> BadValue {
        BadValue::Ordered(vec![
            ("GMSACredentialSpecName", Value::from(self.gmsa_credential_spec_name.clone()).into()),
            ("GMSACredentialSpec", Value::from(self.gmsa_credential_spec.clone()).into()),
            ("RunAsUserName", Value::from(self.run_as_user_name.clone()).into()),
            ("HostProcess", Value::from(self.host_process).into()),
        ])
    }
}

impl Shown for SecurityContext {
    fn shown(&self) -> BadValue {
        BadValue::Ordered(vec![
            ("Capabilities", part(self.capabilities.as_ref())),
            ("Privileged", Value::from(self.privileged).into()),
            ("SELinuxOptions", part(self.se_linux_options.as_ref())),
            ("WindowsOptions", part(self.windows_options.as_ref())),
            ("RunAsUser", Value::from(self.run_as_user).into()),
            ("RunAsGroup", Value::from(self.run_as_group).into()),
            ("RunAsNonRoot", Value::from(self.run_as_non_root).into()),
            ("ReadOnlyRootFilesystem", Value::from(self.read_only_root_filesystem).into()),
            ("AllowPrivilegeEscalation", Value::from(self.allow_privilege_escalation).into()),
            ("ProcMount", Value::from(self.proc_mount.clone()).into()),
            ("SeccompProfile", part(self.seccomp_profile.as_ref())),
            ("AppArmorProfile", part(self.app_armor_profile.as_ref())),
        ])
    }
}

fn part(structure: Option<&impl Shown>) -> BadValue {
    structure.map_or(BadValue::Json(Value::Null), Shown::shown)
}
