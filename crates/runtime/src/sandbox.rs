//! One sandbox as the runtime knows it: the namespaces and files that its containers share.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cri::v1::{
    LinuxPodSandboxStatus, Namespace, NamespaceMode, NamespaceOption, PodIp, PodSandboxConfig, PodSandboxMetadata,
    PodSandboxNetworkStatus, PodSandboxState, PodSandboxStatus,
};
use serde::{Deserialize, Serialize};

use crate::namespaces::Kind;
use crate::stats::CpuSamples;

/// What is written down of a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Nanoseconds since 1970.
    pub created_at: i64,
    pub runtime_handler: String,
    pub addresses: Vec<IpAddr>,
    /// The first process of the PID namespace that its containers share, if they do.
    pub pause: Option<i32>,
    pub stopped: bool,
    /// The boot of the machine in which it was made: namespaces do not outlive one.
    pub boot: String,
}

/// One sandbox.
pub struct Sandbox {
    pub id: String,
    pub directory: PathBuf,
    pub config: PodSandboxConfig,
    record: Mutex<Record>,
    /// Held by whoever stops or removes it, and shared by whoever adds a container.
    pub changing: tokio::sync::RwLock<()>,
    pub samples: Mutex<CpuSamples>,
}

impl Sandbox {
    pub fn new(id: &str, directory: PathBuf, record: Record, config: PodSandboxConfig) -> Sandbox {
        let (record, changing) = (Mutex::new(record), tokio::sync::RwLock::default());
        let samples = Mutex::default();
        Sandbox { id: id.to_owned(), directory, config, record, changing, samples }
    }

    pub fn record(&self) -> Record {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_ready(&self) -> bool {
        !self.record().stopped
    }

    pub fn metadata(&self) -> PodSandboxMetadata {
        self.config.metadata.clone().unwrap_or_default()
    }

    /// Remembers a change, first on disk.
    pub fn change(&self, change: impl FnOnce(&mut Record)) -> std::io::Result<()> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = record.clone();
        change(&mut changed);
        crate::records::update(&self.directory, &changed)?;
        *record = changed;
        Ok(())
    }

    /// How it was called when it was made: unique among all sandboxes that are there.
    pub fn name(metadata: &PodSandboxMetadata) -> String {
        format!("{}_{}_{}_{}", metadata.name, metadata.namespace, metadata.uid, metadata.attempt)
    }

    /// The cgroup that holds those of its containers: the one it was given, or one of its own.
    pub fn cgroup(&self) -> PathBuf {
        let given = self.config.linux.as_ref().map(|linux| linux.cgroup_parent.as_str()).unwrap_or_default();
        if given.is_empty() { Path::new(CGROUPS).join(&self.id) } else { Path::new("/").join(given) }
    }

    /// Whether that cgroup goes with it.
    pub fn owns_cgroup(&self) -> bool {
        self.cgroup().starts_with(CGROUPS)
    }

    pub fn network_mode(&self) -> NamespaceMode {
        options(&self.config).network()
    }

    pub fn netns(&self) -> PathBuf {
        Kind::Network.pin_in(&self.directory.join(NAMESPACES))
    }

    pub fn state(&self) -> PodSandboxState {
        if self.is_ready() { PodSandboxState::SandboxReady } else { PodSandboxState::SandboxNotready }
    }

    pub fn status(&self) -> PodSandboxStatus {
        let record = self.record();
        let mut addresses = record.addresses.iter().map(ToString::to_string);
        let network = (self.network_mode() != NamespaceMode::Node).then(|| PodSandboxNetworkStatus {
            ip: addresses.next().unwrap_or_default(),
            additional_ips: addresses.map(|ip| PodIp { ip }).collect(),
        });
        PodSandboxStatus {
            id: self.id.clone(),
            metadata: self.config.metadata.clone(),
            state: self.state().into(),
            created_at: record.created_at,
            network,
            linux: Some(LinuxPodSandboxStatus { namespaces: Some(Namespace { options: Some(options(&self.config)) }) }),
            labels: self.config.labels.clone(),
            annotations: self.config.annotations.clone(),
            runtime_handler: record.runtime_handler,
        }
    }
}

/// Where sandboxes have their cgroups that were given none.
const CGROUPS: &str = "/eventide";

/// Where the pins are, in a sandbox's directory.
pub const NAMESPACES: &str = "ns";

/// Which namespaces a sandbox has and shares.
pub fn options(config: &PodSandboxConfig) -> NamespaceOption {
    let linux = config.linux.as_ref().and_then(|linux| linux.security_context.as_ref());
    linux.and_then(|context| context.namespace_options.clone()).unwrap_or_default()
}

/// The boot of the machine, which changes with every start.
pub fn boot() -> String {
    std::fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned()
}
