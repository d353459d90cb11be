//! What the process costs, as Linux tells it; elsewhere nothing is shown.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// In what `/proc` counts time: a hundredth of a second, on every architecture this runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The process as it was at the last scrape.
#[derive(Default)]
pub struct Process {
    cpu_seconds: Counter<f64, AtomicU64>,
    resident_bytes: Gauge<u64, AtomicU64>,
    open_descriptors: Gauge<u64, AtomicU64>,
    start_seconds: Gauge<f64, AtomicU64>,
}

/// What `/proc` says.
#[derive(Debug, PartialEq)]
struct Usage {
    cpu_seconds: f64,
    resident_bytes: u64,
    start_seconds: f64,
}

impl Process {
    pub fn new(registry: &mut Registry) -> Process {
        let process = Process::default();
        if read().is_none() {
            return process;
        }
        registry.register("process_cpu_seconds", "CPU time spent", process.cpu_seconds.clone());
        registry.register("process_resident_memory_bytes", "Memory in use", process.resident_bytes.clone());
        registry.register("process_open_fds", "Open file descriptors", process.open_descriptors.clone());
        registry.register("process_start_time_seconds", "When the process began", process.start_seconds.clone());
        process
    }

    pub fn refresh(&self) {
        let Some(usage) = read() else { return };
        self.cpu_seconds.inner().store(usage.cpu_seconds.to_bits(), Ordering::Relaxed);
        self.resident_bytes.set(usage.resident_bytes);
        self.start_seconds.set(usage.start_seconds);
        if let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") {
            // The one that reads the directory is among them.
            self.open_descriptors.set((descriptors.count() as u64).saturating_sub(1));
        }
    }
}

fn read() -> Option<Usage> {
    let text = |path| std::fs::read_to_string(path).ok();
    usage(&text("/proc/self/stat")?, &text("/proc/self/status")?, &text("/proc/stat")?)
}

/// Reads the process's `stat` and `status`, and the system's `stat`.
fn usage(stat: &str, status: &str, system: &str) -> Option<Usage> {
    // The name of the command is in parentheses and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // As numbered by proc(5), where the field behind the name is the third.
    let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let line = |text: &str, name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(Usage {
        cpu_seconds: (ticks(14)? + ticks(15)?) / TICKS_PER_SECOND,
        resident_bytes: line(status, "VmRSS:")? * 1024,
        start_seconds: line(system, "btime ")? as f64 + ticks(22)? / TICKS_PER_SECOND,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_read_from_proc() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 4 0 1234 5 6 7";
        let status = "Name:\ta\nVmRSS:\t    2048 kB\nThreads:\t4\n";
        let system = "cpu 1 2 3\nbtime 1700000000\n";
        let expected = Usage { cpu_seconds: 3.0, resident_bytes: 2 << 20, start_seconds: 1_700_000_012.34 };
        assert_eq!(usage(stat, status, system), Some(expected));
        assert_eq!(usage("7 (a) S", status, system), None);
        assert_eq!(usage(stat, "", system), None);
    }
}
