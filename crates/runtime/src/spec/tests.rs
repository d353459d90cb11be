//! Containers of every kind of request, and what is refused. The test of layers needs root.

mod confinement;
mod limits;
mod mounting;
mod processes;
mod users;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cri::v1::{ContainerConfig, LinuxContainerConfig, LinuxContainerSecurityContext, NamespaceMode, NamespaceOption};
use libcontainer::oci_spec::runtime::{Capability, Linux, Mount, Process};

use super::*;
use crate::images::user::{self, User};

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1000::/srv/web:/bin/sh\n";
const GROUP: &str = "root:x:0:\nweb:x:1000:\nstaff:x:50:web\nlogs:x:60:web,root\n";

/// The users of an image that is not there.
struct Texts;

impl Users for Texts {
    fn find(&self, user: &str) -> Result<User, SpecError> {
        Ok(user::resolve(user, PASSWD, GROUP)?)
    }
}

/// A request that a test changes before it is built.
struct Draft {
    config: ContainerConfig,
    sandbox: Sandbox,
    image: ImageProcess,
    machine: Machine,
}

impl Draft {
    fn new() -> Draft {
        let config = ContainerConfig { command: vec!["/bin/app".to_owned()], ..ContainerConfig::default() };
        let sandbox = Sandbox {
            own: Kind::ALL.to_vec(),
            pins: PathBuf::from("/run/pins/s1"),
            hostname: "pod-1".to_owned(),
            cgroup_parent: "/kubepods/pod1".to_owned(),
            ..Sandbox::default()
        };
        let mut draft = Draft { config, sandbox, image: ImageProcess::default(), machine: machine() };
        draft.security();
        draft
    }

    fn linux(&mut self) -> &mut LinuxContainerConfig {
        self.config.linux.get_or_insert_default()
    }

    /// With a PID namespace of its own unless a test says otherwise.
    fn security(&mut self) -> &mut LinuxContainerSecurityContext {
        let context = self.linux().security_context.get_or_insert_default();
        context.namespace_options.get_or_insert_with(|| NamespaceOption {
            pid: NamespaceMode::Container.into(),
            ..NamespaceOption::default()
        });
        context
    }

    fn try_build(&self) -> Result<Built, SpecError> {
        container(&Request {
            id: "c1",
            directory: Path::new("/run/containers/c1"),
            sandbox: &self.sandbox,
            config: &self.config,
            image: &self.image,
            users: &Texts,
            machine: &self.machine,
        })
    }

    fn build(&self) -> Built {
        self.try_build().unwrap()
    }

    /// The text of the refusal.
    fn refusal(&self) -> (ErrorKind, String) {
        let error = self.try_build().unwrap_err();
        (error.kind(), error.to_string())
    }
}

fn machine() -> Machine {
    let names = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let all = ["CHOWN", "NET_RAW", "NET_ADMIN", "SYS_ADMIN", "SYS_CHROOT", "KILL", "SETUID", "SETGID", "SYS_PTRACE"];
    Machine {
        capabilities: all.iter().map(|name| capabilities::parse(name).unwrap()).collect(),
        oom_score: OomScore::Free,
        cgroups: CgroupVersion::V2,
        controllers: names(&["cpu", "cpuset", "memory", "pids", "hugetlb"]),
        limits_swap: true,
        huge_page_sizes: names(&["2MB"]),
        apparmor: AppArmor::Missing,
    }
}

fn process(built: &Built) -> &Process {
    built.spec.process().as_ref().unwrap()
}

fn linux(built: &Built) -> &Linux {
    built.spec.linux().as_ref().unwrap()
}

fn mount_at<'a>(built: &'a Built, destination: &str) -> Option<&'a Mount> {
    built.spec.mounts().iter().flatten().find(|mount| mount.destination() == Path::new(destination))
}

fn options(mount: &Mount) -> String {
    mount.options().clone().unwrap_or_default().join(",")
}

fn held(built: &Built) -> Vec<String> {
    let capabilities = process(built).capabilities().clone().unwrap().bounding().clone().unwrap();
    let mut names: Vec<String> = capabilities.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
