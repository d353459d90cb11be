//! Which namespaces a container has to itself, which it shares with its sandbox, and which with the machine.

use std::path::PathBuf;

use cri::v1::{IdMapping, NamespaceMode};
use libcontainer::oci_spec::runtime::{LinuxIdMapping, LinuxIdMappingBuilder, LinuxNamespace, LinuxNamespaceType};

use super::machine::CgroupVersion;
use super::security::Security;
use super::{Privilege, Request, SpecError};
use crate::namespaces::Kind;

pub fn namespaces(request: &Request<'_>, security: &Security) -> Result<Vec<LinuxNamespace>, SpecError> {
    let sandbox = request.sandbox;
    let mut namespaces = vec![namespace(LinuxNamespaceType::Mount, None)];
    for kind in &sandbox.own {
        namespaces.push(namespace(kind_in_spec(*kind), Some(kind.pin_in(&sandbox.pins))));
    }
    match pid(request, security)? {
        Pid::New => namespaces.push(namespace(LinuxNamespaceType::Pid, None)),
        Pid::Joined(path) => namespaces.push(namespace(LinuxNamespaceType::Pid, Some(path))),
        Pid::Machine => {}
    }
    // With version 1 the container would see the machine's tree all the same.
    if request.machine.cgroups == CgroupVersion::V2 && security.privilege == Privilege::Ordinary {
        namespaces.push(namespace(LinuxNamespaceType::Cgroup, None));
    }
    if let Some(user) = sandbox.user_namespace.as_ref().filter(|_| security.joins_user_namespace) {
        namespaces.push(namespace(LinuxNamespaceType::User, Some(user.path.clone())));
    }
    Ok(namespaces)
}

pub fn mappings(numbers: &[IdMapping]) -> Result<Vec<LinuxIdMapping>, SpecError> {
    let mapping = |one: &IdMapping| {
        let mapping = LinuxIdMappingBuilder::default().host_id(one.host_id).container_id(one.container_id);
        let built = mapping.size(one.length).build();
        built.map_err(|error| SpecError::invalid("userns_options", one.host_id, error.to_string()))
    };
    numbers.iter().map(mapping).collect()
}

enum Pid {
    New,
    Joined(PathBuf),
    Machine,
}

fn pid(request: &Request<'_>, security: &Security) -> Result<Pid, SpecError> {
    let options = security.context.namespace_options.clone().unwrap_or_default();
    let refuse = |mode: &str, reason: &str| Err(SpecError::invalid("namespace_options.pid", mode, reason));
    match NamespaceMode::try_from(options.pid) {
        Ok(NamespaceMode::Container) => Ok(Pid::New),
        Ok(NamespaceMode::Node) => Ok(Pid::Machine),
        Ok(NamespaceMode::Pod) => match &request.sandbox.pid_namespace {
            Some(path) => Ok(Pid::Joined(path.clone())),
            None => refuse("POD", "is asked for, but the sandbox has no PID namespace to share"),
        },
        Ok(NamespaceMode::Target) if options.target_id.is_empty() => refuse("TARGET", "is asked for without target_id"),
        Ok(NamespaceMode::Target) => match request.sandbox.target {
            Some(target) => Ok(Pid::Joined(PathBuf::from(format!("/proc/{target}/ns/pid")))),
            None => refuse("TARGET", &format!("is asked for, but container {:?} does not run", options.target_id)),
        },
        Err(_) => refuse(&options.pid.to_string(), "is not a mode of the interface (0 to 3)"),
    }
}

fn kind_in_spec(kind: Kind) -> LinuxNamespaceType {
    match kind {
        Kind::Network => LinuxNamespaceType::Network,
        Kind::Ipc => LinuxNamespaceType::Ipc,
        Kind::Uts => LinuxNamespaceType::Uts,
    }
}

fn namespace(kind: LinuxNamespaceType, path: Option<PathBuf>) -> LinuxNamespace {
    let mut namespace = LinuxNamespace::default();
    namespace.set_typ(kind).set_path(path);
    namespace
}
