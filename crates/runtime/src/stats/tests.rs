//! Counters as the kernel gives them, and what is told of them.

use std::collections::HashMap;

use libcgroups::stats::{MemoryData, MemoryStats};

use super::*;
use crate::network::links::Counters;

const AT: i64 = 5_000_000_000;
/// What version 1 says where there is no limit.
const NO_LIMIT: u64 = 9_223_372_036_854_771_712;

fn memory(usage: u64, limit: u64, stats: &[(&str, u64)]) -> MemoryStats {
    let stats: HashMap<String, u64> = stats.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    MemoryStats { memory: MemoryData { usage, limit, ..MemoryData::default() }, stats, ..MemoryStats::default() }
}

fn container(version: Version, counters: &Stats) -> ContainerStats {
    let reading = Reading { version, counters, at: AT };
    of_container(ContainerAttributes::default(), &reading, None, &mut CpuSamples::default())
}

fn value(value: Option<UInt64Value>) -> Option<u64> {
    value.map(|value| value.value)
}

#[test]
fn version_1_counts_whole_trees_and_nanoseconds() {
    let own = [("inactive_file", 1), ("rss", 2), ("swap", 3), ("pgfault", 4), ("pgmajfault", 5)];
    let all = own.map(|(name, value)| (format!("total_{name}"), 10 * value));
    let all = all.iter().map(|(name, value)| (name.as_str(), *value));
    let stats: Vec<_> = own.into_iter().chain(all).collect();
    let mut counters = Stats { memory: memory(1000, NO_LIMIT, &stats), ..Stats::default() };
    counters.memory.memswap.limit = NO_LIMIT;
    (counters.cpu.usage.usage_total, counters.cpu.usage.per_core_usage_total) = (77, vec![77]);
    let told = container(Version::V1, &counters);
    let memory = told.memory.unwrap();
    assert_eq!((value(memory.usage_bytes), value(memory.working_set_bytes)), (Some(1000), Some(990)));
    assert_eq!((value(memory.rss_bytes), value(memory.available_bytes)), (Some(20), None));
    assert_eq!((value(memory.page_faults), value(memory.major_page_faults)), (Some(40), Some(50)));
    let swap = told.swap.unwrap();
    assert_eq!((value(swap.swap_usage_bytes), value(swap.swap_available_bytes)), (Some(30), None));
    assert_eq!(value(told.cpu.unwrap().usage_core_nano_seconds), Some(77));
}

#[test]
fn version_2_has_other_names_and_microseconds() {
    let stats = [("inactive_file", 100), ("anon", 600), ("pgfault", 4), ("pgmajfault", 5)];
    let mut counters = Stats { memory: memory(1000, 5000, &stats), ..Stats::default() };
    counters.memory.memswap = MemoryData { usage: 30, limit: 100, ..MemoryData::default() };
    counters.cpu.usage.usage_total = 77;
    let told = container(Version::V2, &counters);
    let memory = told.memory.unwrap();
    assert_eq!((value(memory.working_set_bytes), value(memory.available_bytes)), (Some(900), Some(4100)));
    assert_eq!((value(memory.rss_bytes), memory.timestamp), (Some(600), AT));
    let swap = told.swap.unwrap();
    assert_eq!((value(swap.swap_usage_bytes), value(swap.swap_available_bytes)), (Some(30), Some(70)));
    assert_eq!(value(told.cpu.unwrap().usage_core_nano_seconds), Some(77_000));
}

#[test]
fn more_inactive_pages_than_memory_make_no_negative_working_set() {
    let counters = Stats { memory: memory(10, NO_LIMIT, &[("inactive_file", 11)]), ..Stats::default() };
    assert_eq!(value(container(Version::V2, &counters).memory.unwrap().working_set_bytes), Some(0));
}

#[test]
fn what_nobody_counts_is_left_out() {
    let nothing = Stats::default();
    let told = container(Version::V1, &nothing);
    assert_eq!((told.cpu, told.memory, told.swap, told.writable_layer), (None, None, None, None));
    let reading = Reading { version: Version::V1, counters: &nothing, at: AT };
    let samples = &mut CpuSamples::default();
    let told = of_sandbox(PodSandboxAttributes::default(), &reading, None, Vec::new(), samples).linux.unwrap();
    assert_eq!((told.cpu, told.memory, told.network, told.process, told.io), (None, None, None, None, None));
}

#[test]
fn what_a_container_wrote_is_told_with_its_place() {
    let reading = Reading { version: Version::V2, counters: &Stats::default(), at: AT };
    let written = Written { usage: Usage { bytes: 4096, inodes: 2 }, place: Path::new("/images") };
    let samples = &mut CpuSamples::default();
    let told = of_container(ContainerAttributes::default(), &reading, Some(written), samples).writable_layer.unwrap();
    assert_eq!((value(told.used_bytes), value(told.inodes_used), told.timestamp), (Some(4096), Some(2), AT));
    assert_eq!(told.fs_id.unwrap().mountpoint, "/images");
}

#[test]
fn a_sandbox_has_its_default_link_apart_and_its_processes() {
    let mut counters = Stats::default();
    counters.pids.current = 3;
    let reading = Reading { version: Version::V2, counters: &counters, at: AT };
    let link = |name: &str, rx_bytes| InterfaceUsage {
        name: name.to_owned(),
        counters: Counters { rx_bytes, rx_errors: 1, tx_bytes: 2, tx_errors: 3 },
    };
    let links = [link("net1", 20), link("eth0", 10)];
    let containers = vec![ContainerStats::default()];
    let samples = &mut CpuSamples::default();
    let told = of_sandbox(PodSandboxAttributes::default(), &reading, Some(&links), containers, samples).linux.unwrap();
    let network = told.network.unwrap();
    let default = network.default_interface.unwrap();
    assert_eq!((default.name.as_str(), value(default.rx_bytes), value(default.tx_errors)), ("eth0", Some(10), Some(3)));
    assert_eq!(network.interfaces.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["net1"]);
    assert_eq!(value(told.process.unwrap().process_count), Some(3));
    assert_eq!(told.containers.len(), 1);
}

#[test]
fn controllers_beside_version_2_are_those_of_version_1() {
    assert_eq!(Version::from(CgroupSetup::Hybrid), Version::V1);
    assert_eq!(Version::from(CgroupSetup::Unified), Version::V2);
}
