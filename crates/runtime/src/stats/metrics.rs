//! Stats as metrics by name, for kubelets that read those instead: every one is a figure of the same stats, and one
//! that is left out there is left out here.

use cri::v1::{
    ContainerMetrics, ContainerStats, CpuUsage, MemoryUsage, Metric, MetricDescriptor, MetricType,
    NetworkInterfaceUsage, PodSandboxMetrics, PodSandboxStats, UInt64Value,
};

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// What tells one series from another; those of links have one more.
const LABELS: [&str; 4] = ["id", "namespace", "pod", "container"];
const LINK_LABEL: &str = "interface";

/// A metric by name.
#[derive(Clone, Copy)]
struct Family {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    of_links: bool,
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, help, kind: MetricType::Counter, of_links: false }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, help, kind: MetricType::Gauge, of_links: false }
}

const fn of_links(family: Family) -> Family {
    Family { of_links: true, ..family }
}

const CPU: Family = counter("container_cpu_usage_seconds_total", "Time on processors, in whole seconds");
const MEMORY: Family = gauge("container_memory_usage_bytes", "Memory in use, caches included");
const WORKING_SET: Family =
    gauge("container_memory_working_set_bytes", "Memory in use without file pages that were not used lately");
const RSS: Family = gauge("container_memory_rss", "Memory that belongs to no file, in bytes");
const SWAP: Family = gauge("container_memory_swap", "Memory that is swapped out, in bytes");
const FILES: Family = gauge("container_fs_usage_bytes", "Bytes that the container has written to its root");
const INODES: Family = gauge("container_fs_inodes_used", "Files that the container has written to its root");
const PROCESSES: Family = gauge("container_processes", "Processes and threads");
const RECEIVED: Family = of_links(counter("container_network_receive_bytes_total", "Bytes received"));
const RECEIVE_ERRORS: Family = of_links(counter("container_network_receive_errors_total", "Errors while receiving"));
const SENT: Family = of_links(counter("container_network_transmit_bytes_total", "Bytes sent"));
const SEND_ERRORS: Family = of_links(counter("container_network_transmit_errors_total", "Errors while sending"));

const FAMILIES: [Family; 12] =
    [CPU, MEMORY, WORKING_SET, RSS, SWAP, FILES, INODES, PROCESSES, RECEIVED, RECEIVE_ERRORS, SENT, SEND_ERRORS];

/// Every metric there may be, with the keys of its labels.
pub fn descriptors() -> Vec<MetricDescriptor> {
    let described = |family: &Family| MetricDescriptor {
        name: family.name.to_owned(),
        help: family.help.to_owned(),
        label_keys: LABELS.iter().chain(family.of_links.then_some(&LINK_LABEL)).map(ToString::to_string).collect(),
    };
    FAMILIES.iter().map(described).collect()
}

/// The metrics of a sandbox and its containers.
pub fn of_sandbox(stats: &PodSandboxStats) -> PodSandboxMetrics {
    let attributes = stats.attributes.clone().unwrap_or_default();
    let metadata = attributes.metadata.unwrap_or_default();
    let labels = [attributes.id.clone(), metadata.namespace, metadata.name, String::new()];
    let Some(linux) = &stats.linux else {
        return PodSandboxMetrics { pod_sandbox_id: attributes.id, ..PodSandboxMetrics::default() };
    };
    let mut found = Found { labels: labels.clone(), metrics: Vec::new() };
    found.processors(linux.cpu.as_ref());
    found.memory(linux.memory.as_ref());
    if let Some(process) = &linux.process {
        found.add(PROCESSES, process.timestamp, process.process_count);
    }
    if let Some(network) = &linux.network {
        for link in network.default_interface.iter().chain(&network.interfaces) {
            found.link(link, network.timestamp);
        }
    }
    PodSandboxMetrics {
        pod_sandbox_id: attributes.id,
        metrics: found.metrics,
        container_metrics: linux.containers.iter().map(|container| of_container(container, &labels)).collect(),
    }
}

fn of_container(stats: &ContainerStats, sandbox: &[String; 4]) -> ContainerMetrics {
    let attributes = stats.attributes.clone().unwrap_or_default();
    let [_, namespace, pod, _] = sandbox.clone();
    let name = attributes.metadata.unwrap_or_default().name;
    let mut found = Found { labels: [attributes.id.clone(), namespace, pod, name], metrics: Vec::new() };
    found.processors(stats.cpu.as_ref());
    found.memory(stats.memory.as_ref());
    if let Some(swap) = &stats.swap {
        found.add(SWAP, swap.timestamp, swap.swap_usage_bytes);
    }
    if let Some(files) = &stats.writable_layer {
        found.add(FILES, files.timestamp, files.used_bytes);
        found.add(INODES, files.timestamp, files.inodes_used);
    }
    ContainerMetrics { container_id: attributes.id, metrics: found.metrics }
}

/// The metrics of one thing.
struct Found {
    labels: [String; 4],
    metrics: Vec<Metric>,
}

impl Found {
    fn processors(&mut self, cpu: Option<&CpuUsage>) {
        let Some(cpu) = cpu else { return };
        let seconds = cpu.usage_core_nano_seconds.map(|nanos| UInt64Value { value: nanos.value / NANOS_PER_SECOND });
        self.add(CPU, cpu.timestamp, seconds);
    }

    fn memory(&mut self, memory: Option<&MemoryUsage>) {
        let Some(memory) = memory else { return };
        self.add(MEMORY, memory.timestamp, memory.usage_bytes);
        self.add(WORKING_SET, memory.timestamp, memory.working_set_bytes);
        self.add(RSS, memory.timestamp, memory.rss_bytes);
    }

    fn link(&mut self, link: &NetworkInterfaceUsage, timestamp: i64) {
        let figures = [
            (RECEIVED, link.rx_bytes),
            (RECEIVE_ERRORS, link.rx_errors),
            (SENT, link.tx_bytes),
            (SEND_ERRORS, link.tx_errors),
        ];
        for (family, value) in figures {
            let before = self.metrics.len();
            self.add(family, timestamp, value);
            self.metrics[before..].iter_mut().for_each(|metric| metric.label_values.push(link.name.clone()));
        }
    }

    fn add(&mut self, family: Family, timestamp: i64, value: Option<UInt64Value>) {
        self.metrics.extend(value.map(|value| Metric {
            name: family.name.to_owned(),
            timestamp,
            metric_type: family.kind.into(),
            label_values: self.labels.to_vec(),
            value: Some(value),
        }));
    }
}

#[cfg(test)]
mod tests;
