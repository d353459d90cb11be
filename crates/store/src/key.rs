//! Keys and prefixes: bytes of bounded length, compared as bytes.

use std::fmt;

use bytes::Bytes;

use crate::limits::MAX_KEY_BYTES;

/// Why bytes are no key or prefix.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyError {
    #[error("a key needs at least one byte")]
    Empty,
    #[error("{length} bytes are too long for a key: at most {MAX_KEY_BYTES} are allowed")]
    TooLong { length: usize },
}

/// The name of one entry: 1 to [`MAX_KEY_BYTES`] bytes of any kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Bytes);

impl Key {
    pub fn new(bytes: impl Into<Bytes>) -> Result<Key, KeyError> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(KeyError::Empty);
        }
        check_length(&bytes)?;
        Ok(Key(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For keys that come out of a store, where only keys went in.
    pub(crate) fn stored(bytes: &[u8]) -> Key {
        Key(Bytes::copy_from_slice(bytes))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The start of many keys; the empty prefix is the start of all.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Prefix(Bytes);

impl Prefix {
    /// The start of every key.
    pub const ALL: Prefix = Prefix(Bytes::new());

    pub fn new(bytes: impl Into<Bytes>) -> Result<Prefix, KeyError> {
        let bytes = bytes.into();
        check_length(&bytes)?;
        Ok(Prefix(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn covers(&self, key: &Key) -> bool {
        key.0.starts_with(&self.0)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn check_length(bytes: &Bytes) -> Result<(), KeyError> {
    if bytes.len() > MAX_KEY_BYTES { Err(KeyError::TooLong { length: bytes.len() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_2048_bytes() {
        assert_eq!(Key::new(""), Err(KeyError::Empty));
        assert!(Key::new(vec![0xff; MAX_KEY_BYTES]).is_ok());
        assert_eq!(Key::new(vec![0; MAX_KEY_BYTES + 1]), Err(KeyError::TooLong { length: MAX_KEY_BYTES + 1 }));
    }

    #[test]
    fn a_prefix_may_be_empty_but_not_longer_than_a_key() {
        assert_eq!(Prefix::new(""), Ok(Prefix::ALL));
        assert!(Prefix::new(vec![0; MAX_KEY_BYTES]).is_ok());
        assert!(Prefix::new(vec![0; MAX_KEY_BYTES + 1]).is_err());
    }
}
