//! What confines a container beside its namespaces: hidden paths, system call filters, AppArmor. A privileged container
//! has none of it, and is allowed only in a privileged sandbox.

use std::path::Path;

use cri::v1::{LinuxContainerSecurityContext, NamespaceMode, SecurityProfile, security_profile::ProfileType};
use libcontainer::oci_spec::runtime::{Capability, LinuxSeccomp};

use super::machine::AppArmor;
use super::{Machine, Privilege, Request, SpecError};
use crate::seccomp;

/// The security context with what follows from it.
pub struct Security {
    pub context: LinuxContainerSecurityContext,
    pub privilege: Privilege,
    pub masked_paths: Vec<String>,
    pub readonly_paths: Vec<String>,
    pub joins_user_namespace: bool,
}

/// What of the kernel's own files no container needs to see, when a caller says nothing about confinement at all.
const MASKED: [&str; 10] = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
];
const READONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

pub fn of(request: &Request<'_>) -> Result<Security, SpecError> {
    let given = request.config.linux.as_ref().and_then(|linux| linux.security_context.clone());
    let (masked_paths, readonly_paths) = match &given {
        Some(context) if context.privileged => (Vec::new(), Vec::new()),
        Some(context) => (context.masked_paths.clone(), context.readonly_paths.clone()),
        None => (MASKED.map(str::to_owned).to_vec(), READONLY.map(str::to_owned).to_vec()),
    };
    absolute("masked_paths", &masked_paths)?;
    absolute("readonly_paths", &readonly_paths)?;
    let context = given.unwrap_or_default();
    if context.privileged && request.sandbox.privilege == Privilege::Ordinary {
        return Err(SpecError::invalid("privileged", "true", "is not allowed: the sandbox is not privileged"));
    }
    let privilege = if context.privileged { Privilege::Privileged } else { Privilege::Ordinary };
    let joins_user_namespace = joins_user_namespace(request, &context)?;
    Ok(Security { context, privilege, masked_paths, readonly_paths, joins_user_namespace })
}

fn absolute(field: &'static str, paths: &[String]) -> Result<(), SpecError> {
    match paths.iter().find(|path| !path.starts_with('/')) {
        Some(path) => Err(SpecError::invalid(field, path, "is not an absolute path")),
        None => Ok(()),
    }
}

fn joins_user_namespace(request: &Request<'_>, context: &LinuxContainerSecurityContext) -> Result<bool, SpecError> {
    let options = context.namespace_options.as_ref().and_then(|options| options.userns_options.as_ref());
    let Some(options) = options else { return Ok(request.sandbox.user_namespace.is_some()) };
    match NamespaceMode::try_from(options.mode) {
        Ok(NamespaceMode::Node) => Ok(false),
        Ok(NamespaceMode::Pod) if request.sandbox.user_namespace.is_some() => Ok(true),
        Ok(NamespaceMode::Pod) => {
            Err(SpecError::invalid("userns_options", "POD", "is asked for, but the sandbox has none"))
        }
        Ok(NamespaceMode::Container | NamespaceMode::Target) | Err(_) => {
            Err(SpecError::invalid("userns_options", options.mode, "is neither POD (0) nor NODE (2)"))
        }
    }
}

/// How a container asks to be confined by one mechanism.
enum Profile {
    Unasked,
    Default,
    Unconfined,
    Localhost(String),
}

/// The newer field, or the older text when only that is given.
fn profile(field: &'static str, given: Option<&SecurityProfile>, old: &str) -> Result<Profile, SpecError> {
    let localhost = |name: &str| match name {
        "" => Err(SpecError::invalid(field, name, "is an empty name of a localhost profile")),
        name => Ok(Profile::Localhost(name.to_owned())),
    };
    if let Some(given) = given {
        return match ProfileType::try_from(given.profile_type) {
            Ok(ProfileType::RuntimeDefault) => Ok(Profile::Default),
            Ok(ProfileType::Unconfined) => Ok(Profile::Unconfined),
            Ok(ProfileType::Localhost) => localhost(&given.localhost_ref),
            Err(_) => Err(SpecError::invalid(field, given.profile_type, "is not a type of profile (0, 1, 2)")),
        };
    }
    match old {
        "" => Ok(Profile::Unasked),
        "runtime/default" | "docker/default" => Ok(Profile::Default),
        "unconfined" => Ok(Profile::Unconfined),
        other => match other.strip_prefix("localhost/") {
            Some(name) => localhost(name),
            None => {
                Err(SpecError::invalid(field, other, "is none of runtime/default, unconfined and localhost/<profile>"))
            }
        },
    }
}

#[expect(deprecated, reason = "callers of older versions of the interface only fill the older fields")]
pub fn seccomp(security: &Security, capabilities: &[Capability]) -> Result<Option<LinuxSeccomp>, SpecError> {
    let context = &security.context;
    let profile = profile("seccomp", context.seccomp.as_ref(), &context.seccomp_profile_path)?;
    match (security.privilege, profile) {
        (Privilege::Privileged, _) | (Privilege::Ordinary, Profile::Unasked | Profile::Unconfined) => Ok(None),
        (Privilege::Ordinary, Profile::Default) => Ok(Some(seccomp::default_profile(capabilities))),
        (Privilege::Ordinary, Profile::Localhost(path)) => {
            if !path.starts_with('/') {
                return Err(SpecError::invalid("seccomp", path, "is not an absolute path"));
            }
            Ok(Some(seccomp::read_profile(Path::new(&path), capabilities)?))
        }
    }
}

/// Only a profile that is asked for by name must be there: a default is as good as the machine.
#[expect(deprecated, reason = "callers of older versions of the interface only fill the older fields")]
pub fn apparmor(security: &Security, machine: &Machine) -> Result<Option<String>, SpecError> {
    let context = &security.context;
    let profile = profile("apparmor", context.apparmor.as_ref(), &context.apparmor_profile)?;
    match (security.privilege, profile, machine.apparmor) {
        (Privilege::Privileged, _, _)
        | (Privilege::Ordinary, Profile::Unasked | Profile::Default | Profile::Unconfined, _) => Ok(None),
        (Privilege::Ordinary, Profile::Localhost(name), AppArmor::Enabled) => Ok(Some(name)),
        (Privilege::Ordinary, Profile::Localhost(name), AppArmor::Missing) => {
            Err(SpecError::invalid("apparmor", name, "is asked for, but the machine has no AppArmor"))
        }
    }
}
