//! Changes: what is to be stored or deleted, and what must hold for it.

use bytes::Bytes;

use crate::{Entry, Key, Revision, StoreError};

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub key: Key,
    pub expected: Expected,
    pub action: Action,
}

impl Change {
    /// Stores a value under a key that must not be there yet.
    pub fn create(key: Key, value: impl Into<Bytes>) -> Change {
        Change { key, expected: Expected::Absent, action: Action::Put(value.into()) }
    }

    /// Replaces the value that was stored by the change `modified`.
    pub fn update(key: Key, modified: Revision, value: impl Into<Bytes>) -> Change {
        Change { key, expected: Expected::Present(modified), action: Action::Put(value.into()) }
    }

    /// Stores a value, whatever is there.
    pub fn put(key: Key, value: impl Into<Bytes>) -> Change {
        Change { key, expected: Expected::Anything, action: Action::Put(value.into()) }
    }

    /// Deletes the value that was stored by the change `modified`.
    pub fn delete(key: Key, modified: Revision) -> Change {
        Change { key, expected: Expected::Present(modified), action: Action::Delete }
    }

    /// Deletes whatever is there.
    pub fn delete_any(key: Key) -> Change {
        Change { key, expected: Expected::Anything, action: Action::Delete }
    }

    pub(crate) fn value_bytes(&self) -> usize {
        match &self.action {
            Action::Put(value) => value.len(),
            Action::Delete => 0,
        }
    }
}

/// What must be stored under the key for a change to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Absent,
    /// The value that was stored by this change.
    Present(Revision),
    Anything,
}

impl Expected {
    pub(crate) fn holds(self, current: Option<&Entry>) -> bool {
        match self {
            Expected::Absent => current.is_none(),
            Expected::Present(modified) => current.is_some_and(|entry| entry.modified == modified),
            Expected::Anything => true,
        }
    }
}

/// What a change does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Put(Bytes),
    /// Deleting what is not there is a conflict, whatever was expected: there is nothing to tell watchers.
    Delete,
}

/// A change that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub revision: Revision,
    /// What the change replaced or deleted.
    pub previous: Option<Entry>,
}

/// Why a change did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("the key does not hold what the change expects")]
    Conflict {
        /// What it holds instead, at the moment the change was refused.
        current: Option<Entry>,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}
