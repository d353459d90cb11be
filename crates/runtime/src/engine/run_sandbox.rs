//! Making a sandbox: its namespaces, its network, its files.

use std::collections::BTreeMap;
use std::path::Path;

use cri::v1::{ContainerEventType, NamespaceMode, PodSandboxConfig};

use super::{Engine, EngineError, new_id, now_nanos, sandbox_files};
use crate::namespaces::{self, Kind, Wanted};
use crate::network;
use crate::sandbox::{self, NAMESPACES, Record, Sandbox};
use crate::shims;

/// The only way of running containers here; an empty name means it too.
pub const HANDLER: &str = "eventide";

impl Engine {
    /// Makes a sandbox and returns its id.
    pub async fn run_sandbox(&self, config: PodSandboxConfig, handler: &str) -> Result<String, EngineError> {
        let metadata = config.metadata.as_ref().filter(|metadata| !metadata.name.is_empty());
        let metadata = metadata.ok_or_else(|| EngineError::InvalidArgument("metadata.name is missing".to_owned()))?;
        if !handler.is_empty() && handler != HANDLER {
            return Err(EngineError::InvalidArgument(format!("no runtime handler {handler:?} is configured")));
        }
        let id = new_id();
        let taken = self.names.take(&Sandbox::name(metadata), &id)?;
        let record = Record {
            created_at: now_nanos(),
            runtime_handler: handler.to_owned(),
            addresses: Vec::new(),
            pause: None,
            stopped: false,
            boot: sandbox::boot(),
        };
        // Written before anything else is made, so that whatever comes next is found by whoever comes next.
        let draft = self.sandbox_records.draft(&id).map_err(EngineError::io("make the sandbox's directory"))?;
        draft.finish(&record, &config).map_err(EngineError::io("write the sandbox down"))?;
        let sandbox = Sandbox::new(&id, self.sandbox_records.path(&id), record, config);
        if let Err(error) = self.furnish(&sandbox).await {
            if let Err(left) = self.dismantle(&sandbox).await {
                tracing::warn!(sandbox = id, error = %left, "a sandbox that could not be made leaves something behind");
            }
            let _ = self.sandbox_records.forget(&id).and_then(|()| self.sandbox_records.discard(&id));
            return Err(error);
        }
        self.sandboxes.put(&id, sandbox);
        taken.keep();
        self.tell(&id, &id, ContainerEventType::ContainerCreatedEvent);
        self.tell(&id, &id, ContainerEventType::ContainerStartedEvent);
        Ok(id)
    }

    async fn furnish(&self, sandbox: &Sandbox) -> Result<(), EngineError> {
        let options = sandbox::options(&sandbox.config);
        let wanted = wanted(&sandbox.config)?;
        let pins = sandbox.directory.join(NAMESPACES);
        let pinning = {
            let (pins, wanted) = (pins.clone(), wanted.clone());
            tokio::task::spawn_blocking(move || namespaces::pin(&pins, &wanted))
        };
        pinning.await.map_err(|error| EngineError::Internal(error.to_string()))??;
        if options.pid() == NamespaceMode::Pod {
            let started = shims::start_pause(&self.shim, &sandbox.directory).await?;
            sandbox
                .change(|record| record.pause = Some(started.pid))
                .map_err(EngineError::io("write the sandbox down"))?;
        }
        if wanted.kinds.contains(&Kind::Network) {
            let attached = self.network.attach(&of_network(sandbox, &pins)).await?;
            let remember = |record: &mut Record| record.addresses = attached.addresses;
            sandbox.change(remember).map_err(EngineError::io("write the sandbox down"))?;
        }
        sandbox_files::write(sandbox)
    }
}

fn wanted(config: &PodSandboxConfig) -> Result<Wanted, EngineError> {
    let options = sandbox::options(config);
    let mut kinds = Vec::new();
    if options.network() != NamespaceMode::Node {
        kinds.push(Kind::Network);
        kinds.push(Kind::Uts);
    }
    if options.ipc() != NamespaceMode::Node {
        kinds.push(Kind::Ipc);
    }
    let shares_uts = options.network() == NamespaceMode::Node;
    let hostname = Some(config.hostname.clone()).filter(|name| !name.is_empty() && !shares_uts);
    let sysctls = config.linux.as_ref().map(|linux| linux.sysctls.clone()).unwrap_or_default();
    Ok(Wanted { kinds, hostname, sysctls: sysctls.into_iter().collect() })
}

fn of_network(sandbox: &Sandbox, pins: &Path) -> network::Sandbox {
    let metadata = sandbox.metadata();
    let annotations: BTreeMap<String, String> = sandbox.config.annotations.clone().into_iter().collect();
    network::Sandbox {
        id: sandbox.id.clone(),
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        netns: Kind::Network.pin_in(pins),
        ports: sandbox_files::ports(&sandbox.config),
        dns: sandbox_files::dns(&sandbox.config),
        bandwidth: network::Bandwidth::default(),
        annotations,
    }
}
