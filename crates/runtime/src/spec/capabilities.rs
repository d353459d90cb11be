//! What of root's power a container has: an ordinary set with additions and omissions, or everything; never more than
//! the runtime itself can give.

use std::collections::BTreeMap;

use libcontainer::oci_spec::runtime::{Capability, LinuxCapabilities};
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as ValueError;

use super::security::Security;
use super::{Machine, Privilege, SpecError};

/// What containers have that ask for nothing.
const ORDINARY: [Capability; 14] = [
    Capability::Chown,
    Capability::DacOverride,
    Capability::Fsetid,
    Capability::Fowner,
    Capability::Mknod,
    Capability::NetRaw,
    Capability::Setgid,
    Capability::Setuid,
    Capability::Setfcap,
    Capability::Setpcap,
    Capability::NetBindService,
    Capability::SysChroot,
    Capability::Kill,
    Capability::AuditWrite,
];

const ALL: &str = "ALL";

/// The capabilities of a container.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    own: BTreeMap<String, Capability>,
    ambient: BTreeMap<String, Capability>,
}

impl Granted {
    pub fn bounding(&self) -> Vec<Capability> {
        self.own.values().copied().collect()
    }

    pub fn to_spec(&self) -> LinuxCapabilities {
        let own: std::collections::HashSet<Capability> = self.own.values().copied().collect();
        let ambient: std::collections::HashSet<Capability> = self.ambient.values().copied().collect();
        let mut capabilities = LinuxCapabilities::default();
        capabilities.set_bounding(Some(own.clone()));
        capabilities.set_effective(Some(own.clone()));
        capabilities.set_permitted(Some(own));
        // A file with inheritable capabilities would otherwise give them to any user; ambient ones need them.
        capabilities.set_inheritable(Some(ambient.clone()));
        capabilities.set_ambient(Some(ambient));
        capabilities
    }
}

pub fn granted(security: &Security, machine: &Machine, notes: &mut Vec<String>) -> Result<Granted, SpecError> {
    let asked = security.context.capabilities.clone().unwrap_or_default();
    let (add_all, add) = names("add_capabilities", &asked.add_capabilities)?;
    let (drop_all, drop) = names("drop_capabilities", &asked.drop_capabilities)?;
    let (ambient_all, ambient) = names("add_ambient_capabilities", &asked.add_ambient_capabilities)?;
    if security.privilege == Privilege::Privileged {
        return Ok(Granted { own: keyed(&machine.capabilities), ambient: BTreeMap::new() });
    }
    let mut own = if add_all { keyed(&machine.capabilities) } else { keyed(&ORDINARY) };
    if drop_all {
        own.clear();
    }
    own.extend(keyed(&add));
    own.extend(keyed(&ambient));
    own.retain(|_, capability| !drop.contains(capability));
    let held = keyed(&machine.capabilities);
    let wanted = own.clone();
    own.retain(|name, _| held.contains_key(name));
    for (name, capability) in wanted {
        let asked_for = add.contains(&capability) || ambient.contains(&capability);
        if asked_for && !own.contains_key(&name) {
            notes.push(format!("capability CAP_{name} is not given: the runtime does not have it itself"));
        }
    }
    let mut ambient = if ambient_all { own.clone() } else { keyed(&ambient) };
    ambient.retain(|name, _| own.contains_key(name));
    Ok(Granted { own, ambient })
}

/// Whether all are named, and which ones else.
fn names(field: &'static str, listed: &[String]) -> Result<(bool, Vec<Capability>), SpecError> {
    let is_all = |name: &String| name.eq_ignore_ascii_case(ALL);
    let named: Result<Vec<Capability>, SpecError> =
        listed.iter().filter(|name| !is_all(name)).map(|name| named(field, name)).collect();
    Ok((listed.iter().any(is_all), named?))
}

fn named(field: &'static str, name: &str) -> Result<Capability, SpecError> {
    parse(name).ok_or_else(|| SpecError::invalid(field, name, "is not a capability"))
}

/// A capability with or without `CAP_`, in any case.
pub fn parse(name: &str) -> Option<Capability> {
    let name: serde::de::value::StrDeserializer<'_, ValueError> = name.into_deserializer();
    Capability::deserialize(name).ok()
}

/// In the order of their names, so that the same request gives the same container.
fn keyed(capabilities: &[Capability]) -> BTreeMap<String, Capability> {
    capabilities.iter().map(|capability| (capability.to_string(), *capability)).collect()
}
