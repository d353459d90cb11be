//! From the messages of CRI to a container as the OCI runtime specification has it.
//!
//! Everything that can be refused is refused here, before anything is made; what a machine cannot do and a container can
//! live without is left out and said in a note. The namespaces, files and cgroup of the sandbox are there already. Of the
//! machine only this is changed: a directory that is mounted and missing is made.

mod accounts;
mod capabilities;
mod devices;
mod error;
mod machine;
mod mounts;
mod namespaces;
mod process;
mod resources;
mod security;
mod user;

use std::path::{Path, PathBuf};

use cri::v1;
use libcontainer::oci_spec::runtime::{Linux, Process, Root, Spec};
use lifecycle::stop::{self, StopSignal};
use model::gates::FeatureGates;
use model::signal::Signal;

pub use accounts::Users;
pub use error::{ErrorKind, SpecError};
pub use machine::{AppArmor, CgroupVersion, Machine, OomScore};
pub use mounts::shared_source;
pub use process::Terminal;
pub use resources::resources;

use crate::images::config::Process as ImageProcess;
use crate::namespaces::Kind;

/// The parent of cgroups when a sandbox names none.
const CGROUP_PARENT: &str = "/eventide";

/// Everything that a container is made from.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub id: &'a str,
    /// The container's own directory, which is also its shim's.
    pub directory: &'a Path,
    pub sandbox: &'a Sandbox,
    pub config: &'a v1::ContainerConfig,
    pub image: &'a ImageProcess,
    /// The users of the container's root file system.
    pub users: &'a dyn Users,
    pub machine: &'a Machine,
}

/// What a container shares with the others of its sandbox.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    /// The namespaces that the sandbox has to itself, and the directory of their pins.
    pub own: Vec<Kind>,
    pub pins: PathBuf,
    /// The PID namespace that containers share, if the sandbox has one.
    pub pid_namespace: Option<PathBuf>,
    /// The first process of the container whose PID namespace is joined with TARGET.
    pub target: Option<i32>,
    pub user_namespace: Option<UserNamespace>,
    /// Empty means the host's.
    pub hostname: String,
    pub cgroup_parent: String,
    pub privilege: Privilege,
    pub files: Files,
}

/// Whether privileged containers may be in a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privilege {
    #[default]
    Ordinary,
    Privileged,
}

/// A user namespace with the numbers that it maps.
#[derive(Clone, Debug)]
pub struct UserNamespace {
    pub path: PathBuf,
    pub uids: Vec<v1::IdMapping>,
    pub gids: Vec<v1::IdMapping>,
}

/// The files of a sandbox that its containers see, unless they mount something else there.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub hosts: Option<PathBuf>,
    pub resolv_conf: Option<PathBuf>,
    pub hostname: Option<PathBuf>,
    /// The directory that is `/dev/shm` for all; without one each container has its own.
    pub shm: Option<PathBuf>,
}

/// A container that can be ordered from a shim.
#[derive(Debug)]
pub struct Built {
    /// The working directory may be missing in the image; it is made by whoever mounts the root file system.
    pub spec: Spec,
    /// Sources whose mounts the container and the machine share in both directions, by their index.
    pub shared_sources: Vec<PathBuf>,
    pub user: v1::LinuxContainerUser,
    pub stop_signal: StopSignal,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Builds a container.
pub fn container(request: &Request<'_>) -> Result<Built, SpecError> {
    let mut notes = Vec::new();
    let security = security::of(request)?;
    let identity = user::identity(request, &security)?;
    let granted = capabilities::granted(&security, request.machine, &mut notes)?;
    let process = process::process(request, &security, &identity, &granted, &mut notes)?;
    let mounts = mounts::mounts(request, &security)?;
    let mut root = Root::default();
    root.set_path(PathBuf::from("rootfs"));
    root.set_readonly(Some(security.context.readonly_rootfs));
    let mut spec = Spec::default();
    spec.set_root(Some(root));
    spec.set_hostname(None);
    spec.set_process(Some(process));
    spec.set_mounts(Some(mounts.all));
    let mut linux = linux(request, &security, &mut notes)?;
    linux.set_seccomp(security::seccomp(&security, &granted.bounding())?);
    linux.set_rootfs_propagation(Some(mounts.propagation.to_owned()));
    spec.set_linux(Some(linux));
    let stop_signal = stop_signal(request, &mut notes)?;
    let user = identity.to_cri();
    Ok(Built { spec, shared_sources: mounts.shared_sources, user, stop_signal, notes })
}

/// One more process in a container: as its first one, with another command.
pub fn exec_process(container: &Spec, command: &[String], terminal: Terminal) -> Result<Process, SpecError> {
    process::exec(container, command, terminal)
}

fn linux(request: &Request<'_>, security: &security::Security, notes: &mut Vec<String>) -> Result<Linux, SpecError> {
    let devices = devices::devices(request, security)?;
    let asked = request.config.linux.as_ref().and_then(|linux| linux.resources.clone()).unwrap_or_default();
    let mut resources = resources(&asked, request.machine, notes)?;
    resources.set_devices(Some(devices.rules));
    let mut linux = Linux::default();
    linux.set_namespaces(Some(namespaces::namespaces(request, security)?));
    let maps = request.sandbox.user_namespace.as_ref().filter(|_| security.joins_user_namespace);
    linux.set_uid_mappings(maps.map(|maps| namespaces::mappings(&maps.uids)).transpose()?);
    linux.set_gid_mappings(maps.map(|maps| namespaces::mappings(&maps.gids)).transpose()?);
    linux.set_resources(Some(resources));
    linux.set_cgroups_path(Some(cgroup_path(&request.sandbox.cgroup_parent, request.id)?));
    linux.set_devices(Some(devices.nodes));
    linux.set_masked_paths(Some(security.masked_paths.clone()));
    linux.set_readonly_paths(Some(security.readonly_paths.clone()));
    Ok(linux)
}

fn cgroup_path(parent: &str, id: &str) -> Result<PathBuf, SpecError> {
    let given = if parent.is_empty() { CGROUP_PARENT } else { parent };
    if given.split('/').any(|part| part == "..") || given.contains(':') {
        return Err(SpecError::invalid("cgroup_parent", parent, "is not a path below the root of the cgroups"));
    }
    Ok(Path::new("/").join(given.trim_start_matches('/')).join(id))
}

/// Fixed now: later neither the image nor the configuration need be there.
fn stop_signal(request: &Request<'_>, notes: &mut Vec<String>) -> Result<StopSignal, SpecError> {
    let asked = cri::StopSignal::from_cri(request.config.stop_signal)?;
    let asked = asked.and_then(|signal| Signal::named(signal.name()));
    let image = Some(request.image.stop_signal.as_str()).filter(|text| !text.is_empty());
    if let Some(text) = image.filter(|text| Signal::from_image(text).is_none()) {
        notes.push(format!("the image's stop signal {text:?} is not a signal and is not used"));
    }
    Ok(stop::effective(asked, image, FeatureGates::ALL_ON))
}

#[cfg(test)]
mod tests;
