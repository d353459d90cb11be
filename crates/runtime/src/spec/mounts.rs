//! What is mounted in a container: the kernel's own file systems, the files of the sandbox, and what the pod mounts.
//!
//! What the pod mounts somewhere replaces what the kernel would have there or below; parents are mounted before what
//! lies in them.
//! Links inside the root file system are followed by libcontainer, and only inside it.

use std::path::{Component, Path, PathBuf};

use cri::v1::{Mount as Asked, MountPropagation};
use libcontainer::oci_spec::runtime::{Mount, MountBuilder};

use super::security::Security;
use super::{Privilege, Request, SpecError};
use crate::namespaces::Kind;

/// More than any pod has.
const MOUNTS_MAX: usize = 4096;

pub struct Mounts {
    pub all: Vec<Mount>,
    pub shared_sources: Vec<PathBuf>,
    /// What becomes of the machine's later mounts in the container.
    pub propagation: &'static str,
}

/// Where the shim of a container has the `index`th source that is shared in both directions.
pub fn shared_source(directory: &Path, index: usize) -> PathBuf {
    directory.join("shared").join(index.to_string())
}

pub fn mounts(request: &Request<'_>, security: &Security) -> Result<Mounts, SpecError> {
    let asked = &request.config.mounts;
    if asked.len() > MOUNTS_MAX {
        return Err(SpecError::invalid("mounts", asked.len(), format!("are more than {MOUNTS_MAX}")));
    }
    let mut shared_sources = Vec::new();
    let mut own = Vec::new();
    for mount in asked {
        own.push(bind_asked(request, mount, &mut shared_sources)?);
    }
    let mut standard = standard(security)?;
    standard.retain(|mount| !own.iter().any(|other: &Mount| mount.destination().starts_with(other.destination())));
    let mut others = from_sandbox(request, security)?;
    others.retain(|mount| !own.iter().any(|other| mount.destination() == other.destination()));
    others.extend(own);
    // Stable: of two mounts at one place the later one is on top.
    others.sort_by_key(|mount| mount.destination().components().count());
    let all = [standard, others].concat();
    let propagation = if shared_sources.is_empty() { "slave" } else { "shared" };
    Ok(Mounts { all, shared_sources, propagation })
}

fn standard(security: &Security) -> Result<Vec<Mount>, SpecError> {
    let access = match security.privilege {
        Privilege::Privileged => "rw",
        Privilege::Ordinary => "ro",
    };
    Ok(vec![
        special("/proc", "proc", "proc", &["nosuid", "noexec", "nodev"])?,
        special("/dev", "tmpfs", "tmpfs", &["nosuid", "strictatime", "mode=755", "size=65536k"])?,
        special(
            "/dev/pts",
            "devpts",
            "devpts",
            &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
        )?,
        special("/dev/mqueue", "mqueue", "mqueue", &["nosuid", "noexec", "nodev"])?,
        special("/sys", "sysfs", "sysfs", &["nosuid", "noexec", "nodev", access])?,
        special("/sys/fs/cgroup", "cgroup", "cgroup", &["nosuid", "noexec", "nodev", "relatime", access])?,
    ])
}

fn from_sandbox(request: &Request<'_>, security: &Security) -> Result<Vec<Mount>, SpecError> {
    let files = &request.sandbox.files;
    let access = if security.context.readonly_rootfs { "ro" } else { "rw" };
    let texts =
        [("/etc/hosts", &files.hosts), ("/etc/resolv.conf", &files.resolv_conf), ("/etc/hostname", &files.hostname)];
    let mut mounts = Vec::new();
    for (destination, source) in texts {
        if let Some(source) = source {
            mounts.push(bind(destination, source, &["rbind", "rprivate", access])?);
        }
    }
    let machine = PathBuf::from("/dev/shm");
    let shm = match &files.shm {
        Some(shm) => Some(shm),
        None if request.sandbox.own.contains(&Kind::Ipc) => None,
        None => Some(&machine),
    };
    mounts.push(match shm {
        Some(source) => bind("/dev/shm", source, &["rbind", "rprivate", "nosuid", "noexec", "nodev"])?,
        None => special("/dev/shm", "tmpfs", "shm", &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"])?,
    });
    Ok(mounts)
}

fn bind_asked(request: &Request<'_>, asked: &Asked, shared: &mut Vec<PathBuf>) -> Result<Mount, SpecError> {
    if asked.image.as_ref().is_some_and(|image| !image.image.is_empty()) {
        return Err(SpecError::unsupported("mounts.image", format!("an image at {:?}", asked.container_path)));
    }
    if !asked.uid_mappings.is_empty() || !asked.gid_mappings.is_empty() {
        let what = format!("a mount with mapped owners at {:?}", asked.container_path);
        return Err(SpecError::unsupported("mounts.uidMappings", what));
    }
    let destination = destination(&asked.container_path)?;
    let source = source(&asked.host_path)?;
    let mode = MountPropagation::try_from(asked.propagation).map_err(|_| {
        SpecError::invalid("mounts.propagation", asked.propagation, "is not a mode of the interface (0 to 2)")
    })?;
    let (source, propagation) = match mode {
        MountPropagation::PropagationPrivate => (source, "rprivate"),
        MountPropagation::PropagationHostToContainer => (source, "rslave"),
        MountPropagation::PropagationBidirectional => {
            shared.push(source);
            (shared_source(request.directory, shared.len() - 1), "rshared")
        }
    };
    let access = access(asked, mode)?;
    bind(destination, &source, &["rbind", propagation, access])
}

fn access(asked: &Asked, mode: MountPropagation) -> Result<&'static str, SpecError> {
    let refuse = |reason: &str| Err(SpecError::invalid("mounts.recursive_read_only", &asked.container_path, reason));
    match (asked.recursive_read_only, asked.readonly) {
        (true, false) => refuse("is to be read-only all through, but not read-only"),
        (true, true) if mode != MountPropagation::PropagationPrivate => {
            refuse("is to be read-only all through, which is possible with private propagation alone")
        }
        (true, true) => Ok("rro"),
        (false, true) => Ok("ro"),
        (false, false) => Ok("rw"),
    }
}

fn destination(path: &str) -> Result<PathBuf, SpecError> {
    let refuse = |reason: &str| Err(SpecError::invalid("mounts.container_path", path, reason));
    if path.is_empty() || path.contains('\0') {
        return refuse("is not a path");
    }
    // Some callers leave the first slash out.
    let absolute = Path::new("/").join(path);
    if absolute.components().any(|part| part == Component::ParentDir) {
        return refuse("leads upwards");
    }
    let normal: PathBuf = absolute.components().collect();
    if normal == Path::new("/") { refuse("is the root of the container") } else { Ok(normal) }
}

/// Where the source really is; a missing one is made.
fn source(path: &str) -> Result<PathBuf, SpecError> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(SpecError::invalid("mounts.host_path", path.display(), "is not an absolute path"));
    }
    if matches!(path.try_exists(), Ok(false)) {
        std::fs::create_dir_all(path).map_err(SpecError::host("make the directory", path))?;
    }
    path.canonicalize().map_err(SpecError::host("find", path))
}

fn bind(destination: impl Into<PathBuf>, source: &Path, options: &[&str]) -> Result<Mount, SpecError> {
    mount(destination, "bind", source, options)
}

fn special(destination: &str, kind: &str, source: &str, options: &[&str]) -> Result<Mount, SpecError> {
    mount(destination, kind, Path::new(source), options)
}

fn mount(destination: impl Into<PathBuf>, kind: &str, source: &Path, options: &[&str]) -> Result<Mount, SpecError> {
    let destination = destination.into();
    let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    let mount = MountBuilder::default().destination(&destination).typ(kind).source(source).options(options);
    mount.build().map_err(|error| SpecError::invalid("mounts", destination.display(), error.to_string()))
}
