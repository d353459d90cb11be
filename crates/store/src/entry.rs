//! One stored value with its history in two numbers.

use bytes::Bytes;

use crate::{Key, Revision};

/// What is (or was) stored under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Key,
    pub value: Bytes,
    /// The change that created the key; later changes keep it, a delete ends it.
    pub created: Revision,
    /// The change that stored this value.
    pub modified: Revision,
}
