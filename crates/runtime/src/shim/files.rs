//! What a shim writes down for whoever asks later: that its container runs, and how it ended.

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The order, written by the runtime.
pub const ORDER: &str = "order.json";
/// That the container runs.
pub const STARTED: &str = "started.json";
/// How the container ended.
pub const EXIT: &str = "exit.json";
/// The socket at which a shim listens.
pub const SOCKET: &str = "shim.sock";
/// What a shim could not tell anybody else.
pub const LOG: &str = "shim.log";

/// A container that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Of its first process, as the machine counts.
    pub pid: i32,
    /// Nanoseconds since 1970.
    pub started_at: i64,
}

/// A container that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// What the process returned, or 128 and the number of the signal that ended it.
    pub code: i32,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Nanoseconds since 1970.
    pub finished_at: i64,
    pub cause: Cause,
    /// In whose words, where the code does not say enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What ended a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// Its own process returned, or was ended by a signal.
    Process,
    /// The kernel, because its memory was used up.
    OutOfMemory,
    /// It never ran.
    Start,
    /// Nobody saw its end: its shim was killed, or the machine went down.
    Unobserved,
}

/// Writes a file so that readers see all of it or nothing.
pub fn write(directory: &Path, name: &str, content: &impl Serialize) -> io::Result<()> {
    let unfinished = directory.join(format!(".{name}"));
    std::fs::write(&unfinished, serde_json::to_vec(content)?)?;
    std::fs::rename(&unfinished, directory.join(name))
}

/// Reads a file; none if it is not there.
pub fn read<T: DeserializeOwned>(directory: &Path, name: &str) -> io::Result<Option<T>> {
    match std::fs::read(directory.join(name)) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
