//! Metrics have the labels that their descriptors promise and the values of the stats.

use std::collections::HashMap;

use cri::v1::{
    ContainerAttributes, ContainerMetadata, FilesystemUsage, LinuxPodSandboxStats, NetworkUsage, PodSandboxAttributes,
    PodSandboxMetadata, ProcessUsage, SwapUsage,
};

use super::*;

fn number(value: u64) -> Option<UInt64Value> {
    Some(UInt64Value { value })
}

fn cpu(seconds: u64) -> Option<CpuUsage> {
    let usage_core_nano_seconds = number(seconds * NANOS_PER_SECOND + 1);
    Some(CpuUsage { timestamp: 9, usage_core_nano_seconds, ..CpuUsage::default() })
}

fn memory(bytes: u64) -> Option<MemoryUsage> {
    let (usage_bytes, working_set_bytes, rss_bytes) = (number(bytes), number(bytes - 1), number(bytes - 2));
    Some(MemoryUsage { timestamp: 9, usage_bytes, working_set_bytes, rss_bytes, ..MemoryUsage::default() })
}

fn stats() -> PodSandboxStats {
    let metadata = ContainerMetadata { name: "app".into(), ..Default::default() };
    let container = ContainerStats {
        attributes: Some(ContainerAttributes { id: "c".into(), metadata: Some(metadata), ..Default::default() }),
        cpu: cpu(2),
        memory: memory(100),
        swap: Some(SwapUsage { swap_usage_bytes: number(5), ..Default::default() }),
        writable_layer: Some(FilesystemUsage { used_bytes: number(6), inodes_used: number(7), ..Default::default() }),
        ..ContainerStats::default()
    };
    let link = |name: &str| NetworkInterfaceUsage {
        name: name.to_owned(),
        rx_bytes: number(1),
        rx_errors: number(2),
        tx_bytes: number(3),
        tx_errors: number(4),
    };
    let network = NetworkUsage { timestamp: 9, default_interface: Some(link("eth0")), interfaces: vec![link("net1")] };
    let metadata = PodSandboxMetadata { name: "web".into(), namespace: "default".into(), ..Default::default() };
    PodSandboxStats {
        attributes: Some(PodSandboxAttributes { id: "s".into(), metadata: Some(metadata), ..Default::default() }),
        linux: Some(LinuxPodSandboxStats {
            cpu: cpu(3),
            memory: memory(200),
            network: Some(network),
            process: Some(ProcessUsage { timestamp: 9, process_count: number(8) }),
            containers: vec![container],
            io: None,
        }),
    }
}

#[test]
fn every_metric_is_described_with_as_many_labels_as_it_has() {
    let keys: HashMap<String, usize> =
        descriptors().into_iter().map(|descriptor| (descriptor.name, descriptor.label_keys.len())).collect();
    let found = of_sandbox(&stats());
    let metrics: Vec<&Metric> =
        found.metrics.iter().chain(found.container_metrics.iter().flat_map(|container| &container.metrics)).collect();
    for metric in &metrics {
        assert_eq!(Some(&metric.label_values.len()), keys.get(&metric.name), "{metric:?}");
    }
    let told: std::collections::HashSet<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(told.len(), keys.len(), "each is told of something: {told:?}");
}

#[test]
fn values_and_labels_are_those_of_the_stats() {
    let found = of_sandbox(&stats());
    let of = |metrics: &[Metric], name: &str| -> Vec<(Vec<String>, u64)> {
        let named = metrics.iter().filter(|metric| metric.name == name);
        named.map(|metric| (metric.label_values.clone(), metric.value.unwrap().value)).collect()
    };
    let labels = |labels: &[&str]| labels.iter().map(ToString::to_string).collect::<Vec<_>>();
    let pod = of(&found.metrics, "container_cpu_usage_seconds_total");
    assert_eq!(pod, [(labels(&["s", "default", "web", ""]), 3)]);
    let container = &found.container_metrics[0];
    assert_eq!(container.container_id, "c");
    let working_set = of(&container.metrics, "container_memory_working_set_bytes");
    assert_eq!(working_set, [(labels(&["c", "default", "web", "app"]), 99)]);
    let sent = of(&found.metrics, "container_network_transmit_bytes_total");
    let link = |name| (labels(&["s", "default", "web", "", name]), 3);
    assert_eq!(sent, [link("eth0"), link("net1")]);
}

#[test]
fn what_the_stats_leave_out_is_no_metric() {
    let mut stats = stats();
    let linux = stats.linux.as_mut().unwrap();
    (linux.cpu, linux.memory, linux.network, linux.process) = (None, None, None, None);
    linux.containers[0].cpu.as_mut().unwrap().usage_core_nano_seconds = None;
    let found = of_sandbox(&stats);
    assert!(found.metrics.is_empty(), "{:?}", found.metrics);
    let names: Vec<&str> = found.container_metrics[0].metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert!(!names.contains(&"container_cpu_usage_seconds_total") && names.contains(&"container_memory_rss"));
    assert_eq!(of_sandbox(&PodSandboxStats::default()), PodSandboxMetrics::default());
}
