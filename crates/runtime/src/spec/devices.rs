//! The devices of a container: the ordinary ones, which libcontainer makes and allows by itself, those that are asked
//! for, and for a privileged container all of the machine.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cri::v1::Device as Asked;
use libcontainer::oci_spec::runtime::{LinuxDevice, LinuxDeviceCgroup, LinuxDeviceType};

use super::security::Security;
use super::{Privilege, Request, SpecError};

/// Bounds of a search through a directory of devices.
const DEPTH_MAX: usize = 8;
const DEVICES_MAX: usize = 16_384;

const ALL_ACCESS: &str = "rwm";
/// What of the machine's own directory containers have of their own.
const NOT_SHARED: [&str; 6] = ["pts", "shm", "fd", "mqueue", "console", "ptmx"];

pub struct Devices {
    pub nodes: Vec<LinuxDevice>,
    pub rules: Vec<LinuxDeviceCgroup>,
}

pub fn devices(request: &Request<'_>, security: &Security) -> Result<Devices, SpecError> {
    if let Some(device) = request.config.cdi_devices.first() {
        return Err(SpecError::unsupported("CDI_devices", format!("the CDI device {:?}", device.name)));
    }
    match security.privilege {
        Privilege::Privileged => all(),
        Privilege::Ordinary => {
            let mut devices = Devices { nodes: Vec::new(), rules: vec![rule(None, Access::Deny)] };
            for asked in &request.config.devices {
                devices.add(asked)?;
            }
            Ok(devices)
        }
    }
}

fn all() -> Result<Devices, SpecError> {
    let (root, mut nodes) = (Path::new("/dev"), Vec::new());
    collect(root, root, DEPTH_MAX, &mut nodes)?;
    let is_own = |node: &LinuxDevice| {
        let first = node.path().strip_prefix(root).ok().and_then(|path| path.components().next());
        first.is_some_and(|first| NOT_SHARED.iter().any(|name| first.as_os_str() == *name))
    };
    nodes.retain(|node| !is_own(node));
    Ok(Devices { nodes, rules: vec![rule(None, Access::Allow(ALL_ACCESS))] })
}

impl Devices {
    fn add(&mut self, asked: &Asked) -> Result<(), SpecError> {
        let permissions = permissions(&asked.permissions)?;
        let (source, target) = (Path::new(&asked.host_path), Path::new(&asked.container_path));
        if !source.is_absolute() {
            return Err(SpecError::invalid("devices.host_path", &asked.host_path, "is not an absolute path"));
        }
        let target = if asked.container_path.is_empty() { source } else { target };
        if !target.is_absolute() {
            return Err(SpecError::invalid("devices.container_path", &asked.container_path, "is not an absolute path"));
        }
        let found = source.canonicalize().map_err(SpecError::host("find the device", source))?;
        let before = self.nodes.len();
        collect(&found, target, DEPTH_MAX, &mut self.nodes)?;
        if self.nodes.len() == before {
            return Err(SpecError::invalid(
                "devices.host_path",
                &asked.host_path,
                "is neither a device nor has one in it",
            ));
        }
        let rules = self.nodes[before..].iter().map(|node| rule(Some(node), Access::Allow(permissions)));
        self.rules.extend(rules);
        Ok(())
    }
}

fn permissions(given: &str) -> Result<&str, SpecError> {
    let valid = given.chars().all(|c| ALL_ACCESS.contains(c)) && given.len() <= ALL_ACCESS.len();
    match given {
        "" => Ok(ALL_ACCESS),
        given if valid => Ok(given),
        given => Err(SpecError::invalid("devices.permissions", given, "is not made of r, w and m")),
    }
}

/// A device, or those in a directory. Links are not followed: they would be found where they lead.
fn collect(source: &Path, target: &Path, depth: usize, nodes: &mut Vec<LinuxDevice>) -> Result<(), SpecError> {
    let facts = fs::symlink_metadata(source).map_err(SpecError::host("look at the device", source))?;
    let kind = facts.file_type();
    let typ = match kind {
        kind if kind.is_char_device() => LinuxDeviceType::C,
        kind if kind.is_block_device() => LinuxDeviceType::B,
        kind if kind.is_dir() && depth > 0 => {
            let entries = fs::read_dir(source).map_err(SpecError::host("list the devices in", source))?;
            let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.file_name().into()).collect();
            names.sort();
            return names.iter().try_for_each(|name| {
                // A device may vanish while the others are listed.
                collect(&source.join(name), &target.join(name), depth - 1, nodes).or_else(vanished)
            });
        }
        _ => return Ok(()),
    };
    if nodes.len() >= DEVICES_MAX {
        return Err(SpecError::invalid("devices", source.display(), format!("has more than {DEVICES_MAX} devices")));
    }
    let mut node = LinuxDevice::default();
    node.set_path(target.to_owned()).set_typ(typ);
    node.set_major(i64::from(rustix::fs::major(facts.rdev()))).set_minor(i64::from(rustix::fs::minor(facts.rdev())));
    node.set_file_mode(Some(facts.mode() & 0o7777)).set_uid(Some(facts.uid())).set_gid(Some(facts.gid()));
    nodes.push(node);
    Ok(())
}

fn vanished(error: SpecError) -> Result<(), SpecError> {
    match error {
        SpecError::Host { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => Err(other),
    }
}

#[derive(Clone, Copy)]
enum Access<'a> {
    Allow(&'a str),
    Deny,
}

/// A rule for one device, or for all.
fn rule(node: Option<&LinuxDevice>, access: Access<'_>) -> LinuxDeviceCgroup {
    let (allow, access) = match access {
        Access::Allow(access) => (true, access),
        Access::Deny => (false, ALL_ACCESS),
    };
    let mut rule = LinuxDeviceCgroup::default();
    rule.set_allow(allow).set_access(Some(access.to_owned()));
    rule.set_typ(Some(node.map_or(LinuxDeviceType::A, LinuxDevice::typ)));
    rule.set_major(node.map(LinuxDevice::major)).set_minor(node.map(LinuxDevice::minor));
    rule
}
