//! What containers and sandboxes use, as CRI tells it: made of the counters of a cgroup, the room of a snapshot and
//! the links of a sandbox. Pure: whoever has read those says when. A figure that nobody knows is left out.

mod cpu;
mod memory;
pub mod metrics;

use std::path::Path;

use cri::v1::{
    ContainerAttributes, ContainerStats, FilesystemIdentifier, FilesystemUsage, LinuxPodSandboxStats,
    NetworkInterfaceUsage, NetworkUsage, PodSandboxAttributes, PodSandboxStats, ProcessUsage, UInt64Value,
};
use libcgroups::common::CgroupSetup;
use libcgroups::stats::Stats;

pub use self::cpu::CpuSamples;
use crate::images::Usage;
use crate::network::{INTERFACE, InterfaceUsage};

/// Which version of cgroups the counters are from: they differ in names and in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl From<CgroupSetup> for Version {
    /// Beside each other, the controllers that count belong to version 1.
    fn from(setup: CgroupSetup) -> Version {
        match setup {
            CgroupSetup::Hybrid | CgroupSetup::Legacy => Version::V1,
            CgroupSetup::Unified => Version::V2,
        }
    }
}

/// The counters of a cgroup at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    pub version: Version,
    pub counters: &'a Stats,
    /// In Unix nanoseconds.
    pub at: i64,
}

/// What a container has written, and below which directory.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    pub usage: Usage,
    pub place: &'a Path,
}

/// The use of a container. `samples` are its own, kept from one call to the next.
pub fn of_container(
    attributes: ContainerAttributes,
    reading: &Reading<'_>,
    written: Option<Written<'_>>,
    samples: &mut CpuSamples,
) -> ContainerStats {
    ContainerStats {
        attributes: Some(attributes),
        cpu: cpu::usage(reading, samples),
        memory: memory::usage(reading),
        writable_layer: written.map(|written| file_system(&written, reading.at)),
        swap: memory::swap(reading),
        // Its only content is pressure, of which the total is not read.
        io: None,
    }
}

/// The use of a sandbox: the counters of its own cgroup, which holds those of its containers.
pub fn of_sandbox(
    attributes: PodSandboxAttributes,
    reading: &Reading<'_>,
    links: Option<&[InterfaceUsage]>,
    containers: Vec<ContainerStats>,
    samples: &mut CpuSamples,
) -> PodSandboxStats {
    let linux = LinuxPodSandboxStats {
        cpu: cpu::usage(reading, samples),
        memory: memory::usage(reading),
        network: links.map(|links| network(links, reading.at)),
        process: processes(reading),
        containers,
        io: None,
    };
    PodSandboxStats { attributes: Some(attributes), linux: Some(linux) }
}

fn file_system(written: &Written<'_>, timestamp: i64) -> FilesystemUsage {
    FilesystemUsage {
        timestamp,
        fs_id: Some(FilesystemIdentifier { mountpoint: written.place.display().to_string() }),
        used_bytes: some(written.usage.bytes),
        inodes_used: some(written.usage.inodes),
    }
}

/// The link that every sandbox has comes first; others are those that plugins added.
fn network(links: &[InterfaceUsage], timestamp: i64) -> NetworkUsage {
    let told = |link: &InterfaceUsage| NetworkInterfaceUsage {
        name: link.name.clone(),
        rx_bytes: some(link.counters.rx_bytes),
        rx_errors: some(link.counters.rx_errors),
        tx_bytes: some(link.counters.tx_bytes),
        tx_errors: some(link.counters.tx_errors),
    };
    let (default, others): (Vec<_>, Vec<_>) = links.iter().map(told).partition(|link| link.name == INTERFACE);
    NetworkUsage { timestamp, default_interface: default.into_iter().next(), interfaces: others }
}

/// Without the controller nobody counts, and a sandbox without a process has no reading.
fn processes(reading: &Reading<'_>) -> Option<ProcessUsage> {
    let count = reading.counters.pids.current;
    (count > 0).then(|| ProcessUsage { timestamp: reading.at, process_count: some(count) })
}

/// A figure that is known.
fn some(value: u64) -> Option<UInt64Value> {
    Some(UInt64Value { value })
}

#[cfg(test)]
mod tests;
