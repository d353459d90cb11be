//! What the tests need beyond Rust: found, installed with apt where that is possible, or named.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::step;

/// Something that must be installed.
struct Prerequisite {
    /// Any of these commands will do; one that is not on the path is named with its place.
    commands: &'static [&'static str],
    /// The Debian package that has the first of them.
    package: &'static str,
    reason: &'static str,
}

const PREREQUISITES: &[Prerequisite] = &[
    Prerequisite { commands: &["c++", "g++", "clang++"], package: "g++", reason: "libFuzzer is C++" },
    Prerequisite { commands: &["python3"], package: "python3", reason: "a client library is Python's" },
    Prerequisite { commands: &["pip3"], package: "python3-pip", reason: "fetches that library" },
    Prerequisite { commands: &["containerd"], package: "containerd", reason: "a container runtime to compare with" },
    Prerequisite { commands: &["runc"], package: "runc", reason: "what containerd runs containers with" },
    Prerequisite { commands: &["busybox"], package: "busybox-static", reason: "what test images are made of" },
    Prerequisite {
        commands: &["/usr/lib/cni/bridge"],
        package: "containernetworking-plugins",
        reason: "sandboxes have CNI networks",
    },
    Prerequisite { commands: &["iptables"], package: "iptables", reason: "a CNI plugin opens ports with it" },
    Prerequisite { commands: &["docker-registry"], package: "docker-registry", reason: "images are pulled from it" },
];

/// Makes sure that everything is there.
pub fn ensure() -> Result<()> {
    let missing: Vec<&Prerequisite> = PREREQUISITES.iter().filter(|needed| !is_there(needed)).collect();
    if missing.is_empty() {
        eprintln!("everything the tests need is installed");
        return Ok(());
    }
    for needed in &missing {
        eprintln!("missing: {} ({}): {}", needed.package, needed.commands.join(" or "), needed.reason);
    }
    let packages: Vec<&str> = missing.iter().map(|needed| needed.package).collect();
    if !on_path("apt-get") || !is_root() {
        bail!("install what is missing, on Debian with: sudo apt-get install --yes {}", packages.join(" "));
    }
    eprintln!("installing with apt-get: {}", packages.join(" "));
    step::run(&mut apt_get(&["update"]))?;
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(packages);
    step::run(&mut apt_get(&install)).context("apt-get could not install what the tests need")
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

fn is_there(needed: &Prerequisite) -> bool {
    needed.commands.iter().any(|command| on_path(command))
}

/// Whether a command can be started.
pub fn on_path(command: &str) -> bool {
    find_on_path(command).is_some()
}

/// Where a command lies.
pub fn find_on_path(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(command)).find(|program| program.is_file())
}

/// `/proc/self` belongs to whoever runs.
fn is_root() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        std::path::Path::new("/proc/self").metadata().is_ok_and(|process| process.uid() == 0)
    }
    #[cfg(not(unix))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_on_the_path_and_an_invented_one_is_not() {
        assert!(on_path("cargo"));
        assert!(!on_path("no-such-command-anywhere"));
    }
}
