//! Memory: in use, and how much of that could not be taken away (the working set, by which a kubelet evicts).

use cri::v1::{MemoryUsage, SwapUsage, UInt64Value};
use libcgroups::stats::MemoryData;

use super::{Reading, Version};

/// A limit from here on is none: the kernel writes "no limit" as the largest number of whole pages.
const LIMIT_BYTES_MAX: u64 = 1 << 62;

/// Nothing, if nobody counts memory.
pub fn usage(reading: &Reading<'_>) -> Option<MemoryUsage> {
    let memory = &reading.counters.memory;
    if memory.stats.is_empty() {
        return None;
    }
    let usage = memory.memory.usage;
    // Pages of files that were not used lately are given back when memory gets scarce.
    let working_set = usage.saturating_sub(counter(reading, "inactive_file").unwrap_or_default());
    let resident = match reading.version {
        Version::V1 => "rss",
        Version::V2 => "anon",
    };
    let told = |value| UInt64Value { value };
    Some(MemoryUsage {
        timestamp: reading.at,
        working_set_bytes: Some(told(working_set)),
        available_bytes: limit(&memory.memory).map(|limit| told(limit.saturating_sub(working_set))),
        usage_bytes: Some(told(usage)),
        rss_bytes: counter(reading, resident).map(told),
        page_faults: counter(reading, "pgfault").map(told),
        major_page_faults: counter(reading, "pgmajfault").map(told),
        psi: None,
    })
}

/// Nothing, if nobody counts what is swapped out.
pub fn swap(reading: &Reading<'_>) -> Option<SwapUsage> {
    let memory = &reading.counters.memory;
    let (used, allowed) = match reading.version {
        // Its limit is that of memory and swap together.
        Version::V1 => {
            let together = limit(&memory.memswap).zip(limit(&memory.memory));
            (counter(reading, "swap")?, together.map(|(both, memory)| both.saturating_sub(memory)))
        }
        Version::V2 if memory.stats.is_empty() => return None,
        Version::V2 => (memory.memswap.usage, limit(&memory.memswap)),
    };
    Some(SwapUsage {
        timestamp: reading.at,
        swap_available_bytes: allowed.map(|allowed| UInt64Value { value: allowed.saturating_sub(used) }),
        swap_usage_bytes: Some(UInt64Value { value: used }),
    })
}

/// A figure of `memory.stat`, with what cgroups below count.
fn counter(reading: &Reading<'_>, name: &str) -> Option<u64> {
    let stats = &reading.counters.memory.stats;
    let found = match reading.version {
        Version::V1 => stats.get(&format!("total_{name}")).or_else(|| stats.get(name)),
        Version::V2 => stats.get(name),
    };
    found.copied()
}

fn limit(data: &MemoryData) -> Option<u64> {
    Some(data.limit).filter(|limit| *limit < LIMIT_BYTES_MAX)
}
