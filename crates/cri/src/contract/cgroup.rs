//! The cgroup below which the suite puts its pods, as kubelet does; whoever asks for one has to remove it.

use std::fs;
use std::path::{Path, PathBuf};

const HIERARCHIES: &str = "/sys/fs/cgroup";

/// Removed with everything below it when it is dropped. No process may be left there.
pub struct Cgroup {
    name: String,
}

impl Cgroup {
    pub fn new() -> Cgroup {
        Cgroup { name: name() }
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
        for hierarchy in directories(root).into_iter().chain([root.to_owned()]) {
            remove(&hierarchy.join(&self.name));
        }
    }
}

fn remove(cgroup: &Path) {
    for below in directories(cgroup) {
        remove(&below);
    }
    // Most hierarchies do not have it, and the files in it are not real.
    let _ = fs::remove_dir(cgroup);
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}
