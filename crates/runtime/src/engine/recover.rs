//! What a new runtime finds: containers that run, that ended while nobody looked, and what a killed runtime left behind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cri::v1::{ContainerConfig, PodSandboxConfig};

use super::{Engine, EngineError, sandbox_files};
use crate::container::{self, Container, State};
use crate::namespaces::{self, Kind};
use crate::sandbox::{self, NAMESPACES, Sandbox};
use crate::shim::files;
use crate::{records, shims};

/// How long a shim that was just started when the runtime was killed may take to start its container.
const START_WITHIN: Duration = Duration::from_secs(30);
/// How often such a shim is looked at.
const LOOK_AFTER: Duration = Duration::from_millis(10);

impl Engine {
    pub(super) async fn recover(self: &Arc<Self>) -> Result<(), EngineError> {
        let failed = || EngineError::io("read what was written down");
        for id in self.sandbox_records.ids().map_err(failed())? {
            self.recover_sandbox(&id).await?;
        }
        for id in self.container_records.ids().map_err(failed())? {
            self.recover_container(&id).await?;
        }
        self.forget_snapshots()?;
        let sandboxes = self.sandboxes.all();
        let live = sandboxes.iter().filter(|sandbox| sandbox.is_ready()).map(|sandbox| sandbox.id.clone());
        self.network.reconcile(&live.collect::<Vec<_>>()).await?;
        Ok(())
    }

    async fn recover_sandbox(&self, id: &str) -> Result<(), EngineError> {
        let directory = self.sandbox_records.path(id);
        let (record, config): (sandbox::Record, PodSandboxConfig) = match records::read(&directory) {
            Ok(read) => read,
            Err(error) => return unreadable("sandbox", id, &error),
        };
        let complete = !record.stopped && record.boot == sandbox::boot() && is_whole(&directory, &config, &record);
        let sandbox = Sandbox::new(id, directory, record, config);
        if !complete && sandbox.is_ready() {
            tracing::warn!(sandbox = id, "a sandbox is no longer whole: it is stopped");
        }
        if !complete {
            self.dismantle(&sandbox).await?;
            sandbox.change(|record| record.stopped = true).map_err(EngineError::io("write the sandbox down"))?;
        }
        self.names.take(&Sandbox::name(&sandbox.metadata()), id)?.keep();
        self.sandboxes.put(id, sandbox);
        Ok(())
    }

    async fn recover_container(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        let directory = self.container_records.path(id);
        let (record, config): (container::Record, ContainerConfig) = match records::read(&directory) {
            Ok(read) => read,
            Err(error) => return unreadable("container", id, &error),
        };
        let name = Container::name(&config, &record.sandbox);
        let state = observed(&directory).await.map_err(EngineError::io("read what a shim wrote down"))?;
        self.names.take(&name, id)?.keep();
        let container = self.containers.put(id, Container::new(id, directory, record, config, state.clone()));
        match state {
            State::Exited { .. } => {}
            // Its start may have been broken off.
            State::Created => {
                container.cgroup().kill();
                container.cgroup().remove();
            }
            State::Running(_) if shims::is_alive(&container.directory) => self.follow(container),
            State::Running(_) => {
                let exit = self.find_exit(&container).await;
                self.note_exit(&container, exit);
            }
        }
        Ok(())
    }

    /// A container is written down after its snapshot is made, and forgotten before that is removed.
    fn forget_snapshots(&self) -> Result<(), EngineError> {
        for snapshot in self.images.snapshots()? {
            if self.containers.find_if_there(&snapshot.container)?.is_none() {
                self.images.remove_snapshot(&snapshot.container)?;
            }
        }
        Ok(())
    }
}

/// What the files of a container's shim say, once it is clear whether one was just starting.
async fn observed(directory: &Path) -> std::io::Result<State> {
    let mut ticks = tokio::time::interval(LOOK_AFTER);
    let settled = async {
        loop {
            let started = files::read(directory, files::STARTED)?;
            if let Some(exit) = files::read(directory, files::EXIT)? {
                return Ok(State::Exited { started, exit });
            }
            match started {
                Some(started) => return Ok(State::Running(started)),
                None if !shims::is_alive(directory) => return Ok(State::Created),
                None => drop(ticks.tick().await),
            }
        }
    };
    tokio::time::timeout(START_WITHIN, settled).await.unwrap_or(Ok(State::Created))
}

/// Whether everything is there that a sandbox is made of.
fn is_whole(directory: &Path, config: &PodSandboxConfig, record: &sandbox::Record) -> bool {
    let options = sandbox::options(config);
    let node = cri::v1::NamespaceMode::Node;
    let pinned = |kind: Kind| namespaces::is_pinned(&kind.pin_in(&directory.join(NAMESPACES)));
    let network = options.network() == node || (pinned(Kind::Network) && !record.addresses.is_empty());
    let ipc = options.ipc() == node || pinned(Kind::Ipc);
    let pid = options.pid() != cri::v1::NamespaceMode::Pod || (record.pause.is_some() && shims::is_alive(directory));
    network && ipc && pid && directory.join(sandbox_files::HOSTS).exists()
}

/// What cannot be read is left alone: nothing is lost, and somebody may want to look at it.
fn unreadable(what: &str, id: &str, error: &std::io::Error) -> Result<(), EngineError> {
    tracing::error!(what, id, %error, "what was written down cannot be read and is left alone");
    Ok(())
}
