//! What the machine can do, and what the runtime itself may: read once, given to every container.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use libcontainer::oci_spec::runtime::Capability;

use super::capabilities;

/// The facts about a machine that containers depend on.
#[derive(Clone, Debug)]
pub struct Machine {
    /// What the runtime can give.
    pub capabilities: Vec<Capability>,
    pub oom_score: OomScore,
    pub cgroups: CgroupVersion,
    /// By the names of version 2, which most of version 1 are called by too.
    pub controllers: BTreeSet<String>,
    /// Whether the swap of a cgroup can be limited.
    pub limits_swap: bool,
    /// As in `2MB`.
    pub huge_page_sizes: BTreeSet<String>,
    pub apparmor: AppArmor,
}

/// How likely the kernel is to kill the runtime for want of memory, and what may be asked for its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OomScore {
    Free,
    /// Without CAP_SYS_RESOURCE it cannot be lowered.
    AtLeast(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// Alone, or with version 2 beside it.
    V1,
    V2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppArmor {
    Enabled,
    Missing,
}

const CGROUPS: &str = "/sys/fs/cgroup";

impl Machine {
    /// This machine. What cannot be found out is taken as missing.
    pub fn here() -> Machine {
        let root = Path::new(CGROUPS);
        let unified = fs::read_to_string(root.join("cgroup.controllers"));
        let (cgroups, controllers) = match unified {
            Ok(names) => (CgroupVersion::V2, names.split_whitespace().map(str::to_owned).collect()),
            Err(_) => (CgroupVersion::V1, directories(root)),
        };
        let limits_swap = match cgroups {
            CgroupVersion::V1 => root.join("memory/memory.memsw.limit_in_bytes").exists(),
            CgroupVersion::V2 => Path::new("/proc/swaps").exists(),
        };
        let enabled = |text: String| text.trim_start().starts_with('Y');
        let apparmor = fs::read_to_string("/sys/module/apparmor/parameters/enabled").is_ok_and(enabled);
        Machine {
            capabilities: held(),
            oom_score: oom_score(),
            cgroups,
            controllers,
            limits_swap,
            huge_page_sizes: huge_page_sizes(Path::new("/sys/kernel/mm/hugepages")),
            apparmor: if apparmor { AppArmor::Enabled } else { AppArmor::Missing },
        }
    }
}

fn held() -> Vec<Capability> {
    let bounding = caps::read(None, caps::CapSet::Bounding).unwrap_or_default();
    let permitted = caps::read(None, caps::CapSet::Permitted).unwrap_or_default();
    bounding.intersection(&permitted).filter_map(|one| capabilities::parse(&one.to_string())).collect()
}

fn oom_score() -> OomScore {
    if caps::has_cap(None, caps::CapSet::Effective, caps::Capability::CAP_SYS_RESOURCE).unwrap_or_default() {
        return OomScore::Free;
    }
    let own = fs::read_to_string("/proc/self/oom_score_adj");
    OomScore::AtLeast(own.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default())
}

fn directories(parent: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Directories such as `hugepages-2048kB`.
fn huge_page_sizes(parent: &Path) -> BTreeSet<String> {
    let kilobytes = |name: &String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    directories(parent).iter().filter_map(kilobytes).map(page_size).collect()
}

fn page_size(kilobytes: u64) -> String {
    match kilobytes {
        size if size >= 1 << 20 && size % (1 << 20) == 0 => format!("{}GB", size >> 20),
        size if size >= 1 << 10 && size % (1 << 10) == 0 => format!("{}MB", size >> 10),
        size => format!("{size}KB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_huge_pages_are_written_as_cgroups_write_them() {
        assert_eq!([64, 2048, 1_048_576].map(page_size), ["64KB", "2MB", "1GB"]);
    }

    #[test]
    fn this_machine_can_be_described() {
        let machine = Machine::here();
        let bounding = caps::read(None, caps::CapSet::Bounding).unwrap();
        assert!(machine.capabilities.len() <= bounding.len());
        assert_eq!(machine.cgroups == CgroupVersion::V2, Path::new("/sys/fs/cgroup/cgroup.controllers").exists());
    }
}
