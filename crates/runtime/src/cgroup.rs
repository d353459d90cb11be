//! The cgroup of a container or of a sandbox, in either version or both: killing, thawing, counting, limiting.
//!
//! What is missing on a machine (a controller that is not mounted, a file of a newer kernel) is as if it were empty: a
//! container never fails for want of a counter.

use std::fs;
use std::path::{Path, PathBuf};

use libcgroups::common::{AnyCgroupManager, CgroupConfig, CgroupManager as _, ControllerOpt, FreezerState};
use libcgroups::stats::Stats;
use libcontainer::oci_spec::runtime::LinuxResources;
use rustix::process::{Pid, Signal};

const ROOT: &str = "/sys/fs/cgroup";
/// How often members are listed anew while some are left.
const KILL_ROUNDS: usize = 8;

/// Something went wrong with a cgroup.
#[derive(Debug, thiserror::Error)]
#[error("cgroup {}: {reason}", path.display())]
pub struct CgroupError {
    path: PathBuf,
    reason: String,
}

/// One cgroup, by its path below the root of every hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    pub fn new(path: impl Into<PathBuf>) -> Cgroup {
        Cgroup { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Kills every member, also those born meanwhile.
    pub fn kill(&self) {
        if fs::write(self.unified("cgroup.kill"), "1").is_ok() {
            return;
        }
        for _ in 0..KILL_ROUNDS {
            let members = self.members();
            if members.is_empty() {
                return;
            }
            for member in members {
                let _ = rustix::process::kill_process(member, Signal::KILL);
            }
        }
    }

    /// Lets members run that are frozen.
    pub fn thaw(&self) {
        let frozen = |file: PathBuf, running: &str| fs::read_to_string(file).is_ok_and(|state| state.trim() != running);
        if frozen(self.controller("freezer", "freezer.state"), "THAWED") {
            let _ = fs::write(self.controller("freezer", "freezer.state"), "THAWED");
        }
        if frozen(self.unified("cgroup.freeze"), "0") {
            let _ = fs::write(self.unified("cgroup.freeze"), "0");
        }
    }

    pub fn members(&self) -> Vec<Pid> {
        let listed = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let mut text = listed(self.unified("cgroup.procs"));
        for controller in ["freezer", "pids", "memory", "cpu", "systemd"] {
            if text.is_empty() {
                text = listed(self.controller(controller, "cgroup.procs"));
            }
        }
        text.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)).collect()
    }

    /// How many of its processes the kernel killed for want of memory.
    pub fn out_of_memory_kills(&self) -> u64 {
        let counted = |path: PathBuf| -> Option<u64> {
            let text = fs::read_to_string(path).ok()?;
            text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
        };
        let newer = || counted(self.unified("memory.events"));
        counted(self.controller("memory", "memory.oom_control")).or_else(newer).unwrap_or_default()
    }

    pub fn stats(&self) -> Result<Stats, CgroupError> {
        self.manager()?.stats().map_err(|error| self.failed(&error))
    }

    /// Changes the limits of a running container.
    pub fn update(&self, resources: &LinuxResources) -> Result<(), CgroupError> {
        let options = ControllerOpt {
            resources,
            disable_oom_killer: false,
            oom_score_adj: None,
            freezer_state: None::<FreezerState>,
        };
        self.manager()?.apply(&options).map_err(|error| self.failed(&error))
    }

    /// Removes it from every hierarchy; one that is not there is gone.
    pub fn remove(&self) {
        for hierarchy in hierarchies() {
            remove_tree(&hierarchy.join(relative(&self.path)));
        }
    }

    /// Whether it is in any hierarchy.
    pub fn exists(&self) -> bool {
        hierarchies().iter().any(|hierarchy| hierarchy.join(relative(&self.path)).is_dir())
    }

    fn manager(&self) -> Result<AnyCgroupManager, CgroupError> {
        let container_name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let config = CgroupConfig { cgroup_path: self.path.clone(), systemd_cgroup: false, container_name };
        libcgroups::common::create_cgroup_manager(config).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> CgroupError {
        CgroupError { path: self.path.clone(), reason: error.to_string() }
    }

    fn unified(&self, file: &str) -> PathBuf {
        let root = Path::new(ROOT);
        // With version 2 alone the root is the hierarchy; beside version 1 it has a directory of its own.
        let root = if root.join("cgroup.controllers").exists() { root.to_owned() } else { root.join("unified") };
        root.join(relative(&self.path)).join(file)
    }

    fn controller(&self, controller: &str, file: &str) -> PathBuf {
        Path::new(ROOT).join(controller).join(relative(&self.path)).join(file)
    }
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Every hierarchy that is mounted.
fn hierarchies() -> Vec<PathBuf> {
    let root = PathBuf::from(ROOT);
    if root.join("cgroup.controllers").exists() {
        return vec![root];
    }
    let entries = fs::read_dir(&root).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// The directories of a cgroup have files that cannot be removed, and need not be.
fn remove_tree(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_tree(&entry.path());
    }
    let _ = fs::remove_dir(directory);
}
