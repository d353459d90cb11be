//! What the built-in network needs of the host: capabilities, and kernel parameters that let packets through.

use std::fs;
use std::path::Path;

use rustix::thread::CapabilitySet;

use super::{BridgeError, BridgeSettings};

pub fn check_capabilities() -> Result<(), BridgeError> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    match rustix::thread::capabilities(None) {
        Ok(sets) if sets.effective.contains(needed) => Ok(()),
        Ok(_) | Err(_) => Err(BridgeError::Capability),
    }
}

/// Lets the host forward, and the bridge route the loopback addresses that ports on 127.0.0.1 are reached by.
pub fn forward(settings: &BridgeSettings) -> Result<(), BridgeError> {
    set("/proc/sys/net/ipv4/ip_forward", "1")?;
    set(&format!("/proc/sys/net/ipv4/conf/{}/route_localnet", settings.name), "1")?;
    if settings.ipv6.is_some() {
        set("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
    }
    Ok(())
}

/// What is right already is not written: where parameters are read-only an administrator may have set them.
fn set(path: &str, value: &str) -> Result<(), BridgeError> {
    if fs::read_to_string(path).is_ok_and(|current| current.trim() == value) {
        return Ok(());
    }
    fs::write(path, value).map_err(|source| BridgeError::File {
        action: "cannot change",
        path: Path::new(path).to_owned(),
        source,
    })
}
