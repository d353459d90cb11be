//! The cgroup below which this process puts its pods, as kubelet does; whoever asks for one has to remove it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const HIERARCHIES: &str = "/sys/fs/cgroup";
/// Five seconds for the last processes to go.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Removed with everything below it when it is dropped, processes too: a case that failed may leave some.
pub struct Cgroup {
    name: String,
}

impl Cgroup {
    pub fn new() -> Cgroup {
        Cgroup { name: name() }
    }
}

impl Default for Cgroup {
    fn default() -> Cgroup {
        Cgroup::new()
    }
}

/// One for each process of tests.
fn name() -> String {
    format!("eventide-contract-{}", std::process::id())
}

/// The parent of a pod, as the interface wants it.
pub fn parent() -> String {
    format!("/{}", name())
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let root = Path::new(HIERARCHIES);
        let everywhere = directories(root).into_iter().chain([root.to_owned()]);
        let ours: Vec<PathBuf> = everywhere.map(|hierarchy| hierarchy.join(&self.name)).collect();
        for _ in 0..TRIES {
            ours.iter().for_each(|cgroup| remove(cgroup));
            if !ours.iter().any(|cgroup| cgroup.exists()) {
                return;
            }
            // A killed process is there until it is reaped.
            std::thread::sleep(PAUSE);
        }
    }
}

fn remove(cgroup: &Path) {
    for below in directories(cgroup) {
        remove(&below);
    }
    let processes = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    for pid in processes.lines().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
    // Most hierarchies do not have it, and the files in it are not real.
    let _ = fs::remove_dir(cgroup);
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}
