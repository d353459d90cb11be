//! Memory of processes, as Linux tells it, and which processes help a container along.

use std::fs;

use anyhow::{Context as _, Result};

const KIB_PER_MIB: f64 = 1024.0;

/// What one process, or several together, hold in RAM, in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// Every page counts fully, also one that many processes share.
    pub resident: f64,
    /// A page that is shared by n processes counts as the n-th part of one.
    pub proportional: f64,
    /// Pages that only this process has, and that it wrote.
    pub private_dirty: f64,
}

/// The processes that stand behind some pods, other than the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Helpers {
    pub count: usize,
    pub together: Memory,
}

/// The memory of a process.
pub fn of_process(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/smaps_rollup");
    parse(&fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?)
}

/// The processes whose command lines name one of these ids: shims name the sandbox or the container they are there for.
pub fn of_helpers(ids: &[&str]) -> Helpers {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let helpers = numbers.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        names_one(&String::from_utf8_lossy(&line), ids)
    });
    // One that ended meanwhile is none.
    let memories = helpers.filter_map(|pid| of_process(pid).ok());
    memories.fold(Helpers::default(), |sum, one| Helpers { count: sum.count + 1, together: sum.together.and(one) })
}

fn names_one(line: &str, ids: &[&str]) -> bool {
    ids.iter().any(|id| !id.is_empty() && line.contains(id))
}

impl Memory {
    fn and(self, other: Memory) -> Memory {
        Memory {
            resident: self.resident + other.resident,
            proportional: self.proportional + other.proportional,
            private_dirty: self.private_dirty + other.private_dirty,
        }
    }
}

fn parse(rollup: &str) -> Result<Memory> {
    let mib = |field: &str| -> Result<f64> {
        let line = rollup.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let words = line.with_context(|| format!("no {field}"))?;
        let kib: f64 = words.split_whitespace().next().context("no number")?.parse()?;
        Ok(kib / KIB_PER_MIB)
    };
    Ok(Memory { resident: mib("Rss")?, proportional: mib("Pss")?, private_dirty: mib("Private_Dirty")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_figures_are_read_and_no_others() {
        let rollup = "00400000-7ffe0000 ---p 00000000 00:00 0 [rollup]\nRss:    2048 kB\nPss:    1024 kB\n\
                      Pss_Dirty:  7 kB\nPrivate_Clean:  3 kB\nPrivate_Dirty:   512 kB\n";
        assert_eq!(parse(rollup).unwrap(), Memory { resident: 2.0, proportional: 1.0, private_dirty: 0.5 });
        assert_eq!(parse("Rss: 1 kB\n").unwrap_err().to_string(), "no Pss");
        assert!(parse("Rss: many kB\n").is_err());
    }

    #[test]
    fn a_helper_names_a_sandbox_or_a_container() {
        assert!(names_one("shim\0/data/containers/c2\0", &["p1", "c2"]));
        assert!(!names_one("shim\0/data/containers/c2\0", &["p1", "c3", ""]));
    }

    #[test]
    fn this_process_has_memory() {
        let memory = of_process(std::process::id()).unwrap();
        assert!(memory.resident >= memory.proportional && memory.private_dirty > 0.0);
    }
}
