//! What a shim is asked to run.

use std::path::{Path, PathBuf};

use libcontainer::oci_spec::runtime::{Process, Spec};
use model::signal::Signal;
use serde::{Deserialize, Serialize};

use super::ShimError;
use super::files;
use crate::images::Snapshot;

/// Everything about one container; written by the runtime, read once.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    /// The container as the OCI runtime specification has it.
    pub spec: Spec,
    pub rootfs: Snapshot,
    /// Where its output is written; nowhere if not given.
    pub log: Option<PathBuf>,
    pub stdin: Stdin,
    /// Sent by a stop. Fixed when the container was created.
    pub stop_signal: Signal,
    /// Sources whose mounts the container and the machine share in both directions.
    pub shared_sources: Vec<PathBuf>,
    /// Mounts of the machine that are needed to start the container and must not be held afterwards: namespaces of
    /// other sandboxes would outlive them.
    pub let_go: Vec<PathBuf>,
}

/// What a container reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stdin {
    /// Nothing: it is at its end.
    Empty,
    /// What is attached; it ends with the first who was attached.
    Once,
    /// What is attached, one after the other.
    Kept,
}

impl Order {
    pub fn read(directory: &Path) -> Result<Order, ShimError> {
        match files::read(directory, files::ORDER) {
            Ok(Some(order)) => Ok(order),
            Ok(None) => Err(ShimError::Order(format!("{} is not there", files::ORDER))),
            Err(error) => Err(ShimError::Order(error.to_string())),
        }
    }

    pub fn has_terminal(&self) -> bool {
        self.spec.process().as_ref().and_then(Process::terminal).unwrap_or_default()
    }
}
