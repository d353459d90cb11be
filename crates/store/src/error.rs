//! Why a store cannot answer.

use std::path::PathBuf;

use crate::Revision;
use crate::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};

/// A request with the largest value and two keys, its own and the prefix, and room for the rest of the transaction.
const ETCD_REQUEST_BYTES: usize = MAX_VALUE_BYTES + 8 * MAX_KEY_BYTES;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("revision {requested} has been compacted; the oldest that can still be read is {oldest}")]
    Compacted { requested: Revision, oldest: Revision },
    #[error("revision {requested} has not happened yet; the newest is {current}")]
    FutureRevision { requested: Revision, current: Revision },
    #[error("a value of {size} bytes is too large: at most {MAX_VALUE_BYTES} are allowed")]
    ValueTooLarge { size: usize },
    #[error(
        "a value of {size} bytes is larger than this etcd accepts in one request (1.5 MiB unless it is told otherwise): \
         start all its members with a larger --max-request-bytes, {ETCD_REQUEST_BYTES} for everything we store"
    )]
    ValueTooLargeForEtcd { size: usize },
    #[error("no space left for the store: changes are refused until there is room again")]
    NoSpace,
    #[error(
        "{} is in use by another server{}: stop it, or give this one a directory of its own",
        directory.display(),
        pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Locked { directory: PathBuf, pid: Option<u32> },
    #[error("the store in {} is damaged and is not served: {reason}. Restore it from a backup", file.display())]
    Corrupt { file: PathBuf, reason: String },
    /// Whether a change happened is unknown: read the key before trying again.
    #[error("the store does not answer: {reason}")]
    Unavailable { reason: String },
    #[error("the store is closed")]
    Closed,
}
