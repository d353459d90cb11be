//! What a runtime has on the machine: counted, so that nothing stays behind unseen.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::daemon::Daemon;

/// Everything of one runtime that outlives a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Shims, first processes of shared namespaces, and what runs in containers.
    pub processes: Vec<String>,
    pub mounts: Vec<String>,
    pub cgroups: Vec<PathBuf>,
    /// Other than the bridge and what every namespace has.
    pub links: Vec<String>,
    pub addresses: Vec<String>,
    pub snapshots: Vec<String>,
    pub records: Vec<String>,
}

impl Leftovers {
    /// Waits until there are none.
    pub async fn are_gone(daemon: &Daemon) {
        let gone = super::daemon::becomes(|| Leftovers::of(daemon) == Leftovers::default()).await;
        assert!(gone, "{:#?}\n{}", Leftovers::of(daemon), daemon.log());
    }

    pub fn of(daemon: &Daemon) -> Leftovers {
        let directory = daemon.directory();
        let entries = |path: &str| -> Vec<String> {
            let found = fs::read_dir(directory.join("runtime").join(path)).into_iter().flatten().flatten();
            found.map(|entry| format!("{path}/{}", entry.file_name().to_string_lossy())).collect()
        };
        Leftovers {
            processes: processes(directory).into_iter().map(|(_, line)| line).collect(),
            mounts: mounts(directory),
            cgroups: cgroups(),
            links: links(&daemon.network()),
            addresses: entries("network/addresses/ipv4").into_iter().filter(|path| is_address(path)).collect(),
            snapshots: entries("images/snapshots"),
            records: [entries("containers"), entries("sandboxes")].concat(),
        }
    }
}

/// Those of containers; those of pods belong to whoever named them, which are the tests.
fn cgroups() -> Vec<PathBuf> {
    let directories = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
    };
    let hierarchies = directories(Path::new("/sys/fs/cgroup"));
    let pods = hierarchies.iter().flat_map(|hierarchy| directories(&hierarchy.join(cgroup_parent())));
    pods.flat_map(|pod| directories(&pod)).collect()
}

/// The cgroup under which this process puts its pods.
pub fn cgroup_parent() -> String {
    format!("eventide-test-{}", std::process::id())
}

/// Processes that were started in this directory, or that live in a container of it.
fn processes(directory: &Path) -> Vec<(i32, String)> {
    let own = directory.to_string_lossy().into_owned();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let described = numbers.filter_map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let shim = line.contains(&own) && line.contains(" shim ");
        let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let contained = cgroup.contains(&cgroup_parent());
        (shim || contained).then(|| (pid, format!("{pid} {line}")))
    });
    described.collect()
}

fn mounts(directory: &Path) -> Vec<String> {
    let own = directory.to_string_lossy().into_owned();
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).filter(|point| point.starts_with(&own));
    // The directory of sandboxes is a mount of its own as long as the runtime has it; the machine is the test's.
    points.filter(|point| !point.ends_with("/sandboxes") && !point.contains("/machine")).map(str::to_owned).collect()
}

fn links(network: &Path) -> Vec<String> {
    let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let table = runtime::namespaces::enter(network, read).unwrap();
    let names = table.lines().skip(2).filter_map(|line| line.split(':').next()).map(str::trim);
    names.filter(|name| *name != "lo" && *name != "pods0").map(str::to_owned).collect()
}

/// Ends and unmounts everything of a directory: for tests that failed.
pub fn clear(directory: &Path) {
    for (pid, _) in processes(directory) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let own = directory.to_string_lossy().into_owned();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).filter(|point| point.starts_with(&own));
    let points: Vec<String> = points.map(str::to_owned).collect();
    for point in points.iter().rev() {
        let _ = rustix::mount::unmount(point.as_str(), rustix::mount::UnmountFlags::DETACH);
    }
    let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    for hierarchy in hierarchies {
        remove_tree(&hierarchy.path().join(cgroup_parent()));
    }
}

fn remove_tree(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.dev() > 0) {
            remove_tree(&entry.path());
        }
    }
    let _ = fs::remove_dir(directory);
}

/// Beside addresses the pool remembers where it was.
fn is_address(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.parse::<std::net::IpAddr>().is_ok())
}
