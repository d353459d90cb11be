//! The limits of a container. A limit whose controller the machine does not have is left out with a note: without it the
//! container runs as well as the machine allows.

use std::collections::HashMap;

use cri::v1::LinuxContainerResources;
use libcontainer::oci_spec::runtime::{LinuxCpu, LinuxHugepageLimit, LinuxMemory, LinuxPids, LinuxResources};

use super::machine::CgroupVersion;
use super::{Machine, SpecError};

const SHARES: std::ops::RangeInclusive<u64> = 2..=262_144;
/// In microseconds, as the kernel bounds them.
const PERIOD: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
const QUOTA_MIN: i64 = 1_000;
const UNLIMITED: i64 = -1;
const UNIFIED_MAX: usize = 256;

/// Limits as cgroups have them, also for a container that runs already.
pub fn resources(
    asked: &LinuxContainerResources,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<LinuxResources, SpecError> {
    let mut limits = Limits { machine, notes };
    let mut resources = LinuxResources::default();
    resources.set_devices(None);
    resources.set_cpu(limits.cpu(asked)?);
    resources.set_memory(limits.memory(asked)?);
    resources.set_hugepage_limits(limits.huge_pages(asked)?);
    let unified = limits.unified(asked)?;
    match machine.cgroups {
        CgroupVersion::V2 => {
            resources.set_unified(Some(unified).filter(|unified| !unified.is_empty()));
        }
        CgroupVersion::V1 => {
            resources.set_pids(limits.version_1(unified)?);
        }
    }
    Ok(resources)
}

struct Limits<'a> {
    machine: &'a Machine,
    notes: &'a mut Vec<String>,
}

impl Limits<'_> {
    /// Whether a controller is there for what is asked.
    fn has(&mut self, controller: &str, asked: &str) -> bool {
        let has = self.machine.controllers.contains(controller);
        if !has {
            self.notes.push(format!("{asked} is not set: the machine has no cgroup controller {controller:?}"));
        }
        has
    }

    fn cpu(&mut self, asked: &LinuxContainerResources) -> Result<Option<LinuxCpu>, SpecError> {
        let mut cpu = LinuxCpu::default();
        let shares = positive("cpu_shares", asked.cpu_shares)?;
        let period = positive("cpu_period", asked.cpu_period)?;
        if let Some(period) = period.filter(|period| !PERIOD.contains(period)) {
            return Err(SpecError::invalid("cpu_period", period, "is not from 1000 to 1000000 microseconds"));
        }
        let quota = Some(asked.cpu_quota).filter(|quota| *quota != 0);
        if let Some(quota) = quota.filter(|quota| *quota != UNLIMITED && *quota < QUOTA_MIN) {
            return Err(SpecError::invalid("cpu_quota", quota, "is neither -1 nor at least 1000 microseconds"));
        }
        let asks_time = shares.is_some() || period.is_some() || quota.is_some();
        if asks_time && self.has("cpu", "cpu time") {
            cpu.set_shares(shares.map(|shares| shares.clamp(*SHARES.start(), *SHARES.end())));
            cpu.set_period(period).set_quota(quota);
        }
        let cpus = list("cpuset_cpus", &asked.cpuset_cpus)?;
        let mems = list("cpuset_mems", &asked.cpuset_mems)?;
        if (cpus.is_some() || mems.is_some()) && self.has("cpuset", "the set of cpus") {
            cpu.set_cpus(cpus).set_mems(mems);
        }
        Ok(Some(cpu).filter(|cpu| *cpu != LinuxCpu::default()))
    }

    fn memory(&mut self, asked: &LinuxContainerResources) -> Result<Option<LinuxMemory>, SpecError> {
        let limit = positive("memory_limit_in_bytes", asked.memory_limit_in_bytes)?;
        let limit = limit.and_then(|limit| i64::try_from(limit).ok());
        let swap = match asked.memory_swap_limit_in_bytes {
            0 => limit,
            UNLIMITED => Some(UNLIMITED),
            swap if swap < limit.unwrap_or_default() => {
                return Err(SpecError::invalid("memory_swap_limit_in_bytes", swap, "is below the limit of memory"));
            }
            swap => Some(swap),
        };
        if (limit.is_none() && swap.is_none()) || !self.has("memory", "the limit of memory") {
            return Ok(None);
        }
        if asked.memory_swap_limit_in_bytes != 0 && !self.machine.limits_swap {
            self.notes.push("the limit of swap is not set: the machine does not limit swap".to_owned());
        }
        let mut memory = LinuxMemory::default();
        memory.set_limit(limit).set_swap(swap.filter(|_| self.machine.limits_swap));
        Ok(Some(memory).filter(|memory| *memory != LinuxMemory::default()))
    }

    fn huge_pages(&mut self, asked: &LinuxContainerResources) -> Result<Option<Vec<LinuxHugepageLimit>>, SpecError> {
        let mut limits = Vec::new();
        for one in &asked.hugepage_limits {
            let invalid = |reason| SpecError::invalid("hugepage_limits", &one.page_size, reason);
            let digits = one.page_size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let is_size = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
            if !is_size || !["KB", "MB", "GB"].contains(&&one.page_size[digits.len()..]) {
                return Err(invalid("is not a size such as 2MB"));
            }
            let limit = i64::try_from(one.limit).map_err(|_| invalid("has a limit that is too large"))?;
            if !self.machine.huge_page_sizes.contains(&one.page_size) {
                // Nothing is lost when none may be used of what is not there.
                if limit != 0 {
                    self.notes.push(format!("the limit of {} pages is not set: the machine has none", one.page_size));
                }
                continue;
            }
            let mut known = LinuxHugepageLimit::default();
            known.set_page_size(one.page_size.clone()).set_limit(limit);
            limits.push(known);
        }
        if limits.is_empty() || !self.has("hugetlb", "the limit of huge pages") {
            return Ok(None);
        }
        Ok(Some(limits))
    }

    /// Files of version 2 with their values, of controllers that are there.
    fn unified(&mut self, asked: &LinuxContainerResources) -> Result<HashMap<String, String>, SpecError> {
        if asked.unified.len() > UNIFIED_MAX {
            return Err(SpecError::invalid("unified", asked.unified.len(), format!("are more than {UNIFIED_MAX}")));
        }
        let mut files: Vec<(&String, &String)> = asked.unified.iter().collect();
        files.sort();
        let mut unified = HashMap::new();
        for (file, value) in files {
            let word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let controller = file.split_once('.').filter(|(controller, _)| !controller.is_empty());
            let Some((controller, _)) = controller.filter(|_| file.chars().all(word)) else {
                return Err(SpecError::invalid("unified", file, "is not a file of a cgroup such as memory.high"));
            };
            if controller == "cgroup" || self.has(controller, file) {
                unified.insert(file.clone(), value.clone());
            }
        }
        Ok(unified)
    }

    /// Of the files of version 2 only the number of processes means the same in version 1.
    fn version_1(&mut self, unified: HashMap<String, String>) -> Result<Option<LinuxPids>, SpecError> {
        let mut pids = None;
        let mut files: Vec<(String, String)> = unified.into_iter().collect();
        files.sort();
        for (file, value) in files {
            if file != "pids.max" {
                self.notes.push(format!("{file} is not set: the machine has cgroups of version 1"));
                continue;
            }
            let limit = if value == "max" { Ok(UNLIMITED) } else { value.parse() };
            let limit = limit.ok().filter(|limit| *limit == UNLIMITED || *limit > 0);
            let limit =
                limit.ok_or_else(|| SpecError::invalid("unified.pids.max", &value, "is no number of processes"))?;
            let mut known = LinuxPids::default();
            known.set_limit(limit);
            pids = Some(known);
        }
        Ok(pids)
    }
}

/// Nothing for 0, which the interface uses for what is not given.
fn positive(field: &'static str, value: i64) -> Result<Option<u64>, SpecError> {
    let number = u64::try_from(value).map_err(|_| SpecError::invalid(field, value, "is negative"))?;
    Ok(Some(number).filter(|number| *number != 0))
}

/// Numbers and ranges, as in `0-3,7`.
fn list(field: &'static str, given: &str) -> Result<Option<String>, SpecError> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|c| c.is_ascii_digit()));
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => matches!((number(first), number(last)), (Some(first), Some(last)) if first <= last),
        None => number(part).is_some(),
    };
    match given {
        "" => Ok(None),
        given if given.split(',').all(range) => Ok(Some(given.to_owned())),
        given => Err(SpecError::invalid(field, given, "is not a list such as 0-3,7")),
    }
}
