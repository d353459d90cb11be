//! Watches: every change under a prefix, once, in order.

use std::future::Future;

use crate::{Entry, Key, Revision};

/// The changes of one prefix, pulled by the one who watches.
///
/// Nothing is queued for a watcher that does not ask, so a slow one costs no memory and delays nobody; it reads history
/// until it has caught up. If history is compacted before it was read, the watch ends with [`WatchEnd::Compacted`].
pub trait Watch: Send + 'static {
    /// The next notice. Waits while there is nothing to tell. A dropped call loses nothing: the next one tells it.
    ///
    /// After an error the watch is over, and every further call gives the same error.
    fn next(&mut self) -> impl Future<Output = Result<Notice, WatchEnd>> + Send;
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A change under the prefix.
    Event(Event),
    /// Every change up to this revision has been told, though the newest were not under the prefix.
    ///
    /// This is what bookmarks are made of, and what lets a cache know that it is fresh. Several revisions may share one.
    Progress(Revision),
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Created { entry: Entry },
    Modified { entry: Entry, previous: Entry },
    Deleted { revision: Revision, previous: Entry },
}

impl Event {
    pub fn key(&self) -> &Key {
        match self {
            Event::Created { entry } | Event::Modified { entry, .. } => &entry.key,
            Event::Deleted { previous, .. } => &previous.key,
        }
    }

    pub fn revision(&self) -> Revision {
        match self {
            Event::Created { entry } | Event::Modified { entry, .. } => entry.modified,
            Event::Deleted { revision, .. } => *revision,
        }
    }

    pub(crate) fn value_bytes(&self) -> usize {
        match self {
            Event::Created { entry } => entry.value.len(),
            Event::Modified { entry, previous } => entry.value.len() + previous.value.len(),
            Event::Deleted { previous, .. } => previous.value.len(),
        }
    }
}

/// Why a watch is over.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum WatchEnd {
    #[error("changes were compacted before they were read; the oldest revision to start from is {oldest}")]
    Compacted { oldest: Revision },
    #[error("the store was closed")]
    Closed,
    #[error("the store does not answer: {reason}")]
    Unavailable { reason: String },
}
