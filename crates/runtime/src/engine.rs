//! Sandboxes and containers, by verb: each file does one thing to them, whoever asks for it.
//!
//! Memory holds what has been observed; the disk holds what must be known after a restart. A verb that was interrupted
//! leaves something that the next runtime completes or removes ([`Engine::open`]), never something half there.

mod create_container;
mod error;
mod exec;
mod follow;
mod names;
mod recover;
mod remove;
mod run_sandbox;
mod sandbox_files;
mod shelf;
mod start_container;
mod stop_container;
mod stop_sandbox;

use std::path::PathBuf;
use std::sync::Arc;

use cri::v1::{ContainerEventType, ContainerStatus};

pub use error::EngineError;
pub use exec::{EXEC_OUTPUT_BYTES_MAX, Executed, Running, Stream};
use names::Names;
pub use run_sandbox::HANDLER;
use shelf::Shelf;

use crate::container::Container;
use crate::events::{self, Events};
use crate::images::{HostImage, Images};
use crate::namespaces;
use crate::network::{self, BridgeSettings, CniSettings, Network};
use crate::records::Records;
use crate::sandbox::Sandbox;
use crate::shims::ShimProgram;

/// Where everything is, and what is allowed.
#[derive(Clone, Debug)]
pub struct Settings {
    pub directory: PathBuf,
    pub images: PathBuf,
    pub shim: ShimProgram,
    pub host_image: HostImage,
    pub cni: CniSettings,
    pub bridge: BridgeSettings,
}

/// Everything that runs.
pub struct Engine {
    pub images: Images,
    pub network: Network,
    pub events: Events,
    pub sandboxes: Shelf<Sandbox>,
    pub containers: Shelf<Container>,
    shim: ShimProgram,
    names: Names,
    sandbox_records: Records,
    container_records: Records,
}

impl Engine {
    /// Opens a directory, and finds everything that runs there or ended while nobody looked.
    pub async fn open(settings: Settings) -> Result<Arc<Engine>, EngineError> {
        let directory = &settings.directory;
        let failed = |error: std::io::Error| EngineError::Internal(format!("{}: {error}", directory.display()));
        let images = Images::open(&settings.images, settings.host_image)?;
        let sandbox_records = Records::open(&directory.join("sandboxes")).map_err(failed)?;
        namespaces::make_private(sandbox_records.root())?;
        let network = Network::open(network::Settings {
            state_directory: directory.join("network"),
            cni: settings.cni,
            bridge: settings.bridge,
        })?;
        let engine = Arc::new(Engine {
            images,
            network,
            events: Events::default(),
            sandboxes: Shelf::new("sandbox"),
            containers: Shelf::new("container"),
            shim: settings.shim,
            names: Names::default(),
            container_records: Records::open(&directory.join("containers")).map_err(failed)?,
            sandbox_records,
        });
        engine.recover().await?;
        Ok(engine)
    }

    /// The containers of a sandbox.
    pub fn containers_of(&self, sandbox: &str) -> Vec<Arc<Container>> {
        self.containers.all().into_iter().filter(|container| container.record.sandbox == sandbox).collect()
    }

    /// The containers of a sandbox, as they are.
    pub fn statuses_of(&self, sandbox: &str) -> Vec<ContainerStatus> {
        self.containers_of(sandbox).iter().map(|container| container.status()).collect()
    }

    /// Tells everyone what happened to a container or a sandbox.
    pub(crate) fn tell(&self, id: &str, sandbox: &str, what: ContainerEventType) {
        if !self.events.has_listeners() {
            return;
        }
        let mut event = events::event(id, what, now_nanos());
        event.pod_sandbox_status = self.sandboxes.find(sandbox).ok().map(|sandbox| sandbox.status());
        event.containers_statuses = self.statuses_of(sandbox);
        self.events.tell(event);
    }
}

/// Nanoseconds since 1970.
pub(crate) fn now_nanos() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// An id that nobody else has.
pub(crate) fn new_id() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}
