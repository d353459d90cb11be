//! The network of a sandbox: its addresses, and the ports of the host it is reached by.
//!
//! When there is a CNI configuration its plugins give them, otherwise the built-in bridge does. Who gave a sandbox its
//! network is recorded before anything is done, so that `detach` takes all of it away whatever a crash left behind.
//! Namespaces are made before and removed after, by `namespaces`. A sandbox in the host's network is not attached at
//! all.

pub mod bridge;
pub mod cni;
mod conntrack;
pub mod dns;
pub mod links;
mod netlink;
pub mod nftables;
pub mod pool;
pub mod ports;
mod reaper;
mod records;
mod rules;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use bridge::BridgeSettings;
use bridge::{Bridge, BridgeError};
pub use cni::CniSettings;
use cni::{Attachment, CniError, Configuration};
use dns::DnsConfig;
use links::{Counters, LinkError, Links};
use reaper::{Reaper, Shared};
use records::{Record, Records};

pub use ports::{PortMapping, Protocol};
pub use records::RecordError;

use crate::namespaces::{self, NamespaceError};

/// The name of the link in every sandbox.
pub const INTERFACE: &str = "eth0";

/// Where the network keeps its records, and what it is made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Belongs to one running `Network` alone.
    pub state_directory: PathBuf,
    pub cni: CniSettings,
    pub bridge: BridgeSettings,
}

/// What the network must know of a sandbox.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    pub id: String,
    pub name: String,
    pub namespace: String,
    pub uid: String,
    /// A pinned network namespace.
    pub netns: PathBuf,
    pub ports: Vec<PortMapping>,
    pub dns: Option<DnsConfig>,
    pub bandwidth: Bandwidth,
    pub annotations: BTreeMap<String, String>,
}

/// Limits that CNI plugins may enforce, in bits per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bandwidth {
    pub ingress_bits: Option<u64>,
    pub egress_bits: Option<u64>,
}

/// What a sandbox got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The first is the pod's IP.
    pub addresses: Vec<IpAddr>,
    pub interface: &'static str,
}

/// Who gives sandboxes their network now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    Cni { network: String },
    Bridge { name: String },
}

/// What has passed through one link of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceUsage {
    pub name: String,
    pub counters: Counters,
}

#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    #[error(transparent)]
    Cni(#[from] CniError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("networks cannot be taken away: {0}")]
    Reaper(io::Error),
    #[error("the work on the network was cut short")]
    Interrupted,
}

/// The networks of all sandboxes of this machine's runtime.
#[derive(Debug, Clone)]
pub struct Network {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    shared: Arc<Shared>,
    reaper: Reaper,
}

impl Network {
    /// Reads the records; changes nothing on the host. `reconcile` comes next.
    pub fn open(settings: Settings) -> Result<Self, NetworkError> {
        let records = Records::open(&settings.state_directory.join("attachments"))?;
        let mut bridge = Bridge::open(&settings.state_directory, settings.bridge.clone())?;
        for sandbox in records.sandboxes()? {
            if let Some(Record::Bridge { addresses, ports }) = records.read(&sandbox)? {
                // One that contradicts another is from a sandbox that never ran.
                if let Err(error) = bridge.adopt(&sandbox, &ports, &addresses) {
                    tracing::warn!(%sandbox, %error, "the ports of a sandbox are not taken over");
                }
            }
        }
        let shared = Arc::new(Shared { records, bridge: Mutex::new(bridge) });
        let reaper = Reaper::start(Arc::clone(&shared))?;
        Ok(Self { inner: Arc::new(Inner { settings, shared, reaper }) })
    }

    /// Gives a sandbox its network; on failure it has none.
    pub async fn attach(&self, sandbox: &Sandbox) -> Result<Attached, NetworkError> {
        let addresses = match self.configuration()? {
            Some(configuration) => self.attach_by_cni(configuration, sandbox).await?,
            None => {
                let sandbox = sandbox.clone();
                self.blocking(move |inner| inner.attach_to_bridge(&sandbox)).await?
            }
        };
        Ok(Attached { addresses, interface: INTERFACE })
    }

    /// Takes away all that a sandbox has of the network, which may be nothing. Its namespace may be gone already.
    ///
    /// When it returns, no port leads to the sandbox any more. Of the built-in network, the link and the addresses
    /// follow at once but are not waited for; [`settle`](Self::settle) does.
    pub async fn detach(&self, sandbox: &str) -> Result<(), NetworkError> {
        match self.inner.shared.records.read(sandbox)? {
            Some(Record::Cni(attachment)) => {
                attachment.delete(&self.inner.settings.cni).await?;
                Ok(self.inner.shared.records.remove(sandbox)?)
            }
            Some(Record::Bridge { .. }) | None => {
                let sandbox = sandbox.to_owned();
                self.blocking(move |inner| {
                    inner.bridge().withdraw(&sandbox)?;
                    inner.reaper.reap(&sandbox)
                })
                .await
            }
        }
    }

    /// Returns when nothing is left of the sandboxes that were detached before.
    pub async fn settle(&self) -> Result<(), NetworkError> {
        self.inner.reaper.settle().await
    }

    /// Takes away what sandboxes left that are no more: all but those that were attached and not detached. Belongs to
    /// the start, before new ones are attached. What fails is reported and tried again next time; the rest is done
    /// nevertheless.
    pub async fn reconcile(&self, live: &[String]) -> Result<(), NetworkError> {
        let mut outcome = Ok(());
        for sandbox in self.inner.shared.records.sandboxes()? {
            if !live.contains(&sandbox) {
                outcome = outcome.and(self.detach(&sandbox).await);
            }
        }
        outcome = outcome.and(self.settle().await);
        let live = live.to_vec();
        outcome.and(self.blocking(move |inner| Ok(inner.bridge().reconcile(&live)?)).await)
    }

    /// Who would give the next sandbox its network, or why none can have one.
    pub fn status(&self) -> Result<Provider, NetworkError> {
        match self.configuration()? {
            Some(configuration) => Ok(Provider::Cni { network: configuration.name().to_owned() }),
            None => {
                bridge::check()?;
                Ok(Provider::Bridge { name: self.inner.settings.bridge.name.clone() })
            }
        }
    }

    /// The addresses of a sandbox, also after a restart.
    pub fn addresses(&self, sandbox: &str) -> Result<Vec<IpAddr>, NetworkError> {
        Ok(self.inner.shared.records.read(sandbox)?.map(|record| record.addresses()).unwrap_or_default())
    }

    /// Leaves the host as it was before the first sandbox; does nothing while a sandbox has a network.
    pub async fn dismantle(&self) -> Result<(), NetworkError> {
        self.settle().await?;
        self.blocking(|inner| {
            let mut bridge = inner.bridge();
            if inner.shared.records.sandboxes()?.is_empty() {
                bridge.dismantle()?;
            }
            Ok(())
        })
        .await
    }

    /// Read anew each time: a configuration that appears or changes counts from the next sandbox on.
    fn configuration(&self) -> Result<Option<Configuration>, NetworkError> {
        Ok(Configuration::find(&self.inner.settings.cni.configurations).map_err(CniError::from)?)
    }

    async fn attach_by_cni(
        &self,
        configuration: Configuration,
        sandbox: &Sandbox,
    ) -> Result<Vec<IpAddr>, NetworkError> {
        let mut attachment = Box::new(Attachment::new(configuration, sandbox)?);
        let records = &self.inner.shared.records;
        records.create(&sandbox.id, &Record::Cni(attachment.clone()))?;
        let added = attachment.add(&self.inner.settings.cni).await;
        // What the plugins answered so far is what they need to undo it.
        records.write(&sandbox.id, &Record::Cni(attachment.clone()))?;
        if let Err(error) = added {
            if let Err(undoing) = self.detach(&sandbox.id).await {
                tracing::warn!(sandbox = %sandbox.id, error = %undoing, "a failed network could not be taken away yet");
            }
            return Err(error.into());
        }
        Ok(attachment.addresses())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, NetworkError> + Send + 'static,
    ) -> Result<T, NetworkError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || work(&inner)).await.map_err(|_| NetworkError::Interrupted)?
    }
}

impl Inner {
    /// A panic between two steps leaves what a crash leaves, and that is dealt with.
    fn bridge(&self) -> MutexGuard<'_, Bridge> {
        self.shared.bridge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attach_to_bridge(&self, sandbox: &Sandbox) -> Result<Vec<IpAddr>, NetworkError> {
        bridge::check()?;
        let ports = sandbox.ports.clone();
        self.shared.records.create(&sandbox.id, &Record::Bridge { addresses: Vec::new(), ports: ports.clone() })?;
        let attached = self.bridge().attach(&sandbox.id, &sandbox.netns, &ports).map_err(NetworkError::from);
        let recorded = attached.and_then(|addresses| {
            let record = Record::Bridge { addresses, ports };
            self.shared.records.write(&sandbox.id, &record)?;
            Ok(record.addresses())
        });
        if recorded.is_err() {
            let undone = self.bridge().detach(&sandbox.id).map_err(NetworkError::from);
            if let Err(undoing) = undone.and_then(|()| Ok(self.shared.records.remove(&sandbox.id)?)) {
                tracing::warn!(sandbox = %sandbox.id, error = %undoing, "a failed network could not be taken away yet");
            }
        }
        recorded
    }
}

/// What has passed through the links of a sandbox, its loopback left out.
pub fn usage(netns: &Path) -> Result<Vec<InterfaceUsage>, NetworkError> {
    let links = namespaces::enter(netns, || Links::open()?.all())??;
    let usage = |link: links::Link| InterfaceUsage { name: link.name, counters: link.counters };
    Ok(links.into_iter().filter(|link| !link.is_loopback).map(usage).collect())
}
