//! Our keys in etcd's: all of them under one prefix, which callers never see.

use bytes::Bytes;

use super::messages::{KeyValue, ResponseHeader};
use super::refusal::Refusal;
use crate::{Entry, Key, Prefix, Revision};

#[derive(Clone, Debug)]
pub struct Keyspace {
    prefix: Bytes,
}

/// Keys from `start` up to, but without, `end`, as etcd takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

/// As the end of a span: no end. As its start: the smallest key there is.
const ZERO: &[u8] = &[0];

impl Keyspace {
    pub fn new(prefix: &Prefix) -> Keyspace {
        Keyspace { prefix: Bytes::copy_from_slice(prefix.as_bytes()) }
    }

    pub fn key(&self, key: &Key) -> Vec<u8> {
        [&self.prefix, key.as_bytes()].concat()
    }

    /// A key that is never stored to, for questions about the revision alone.
    pub fn any_key(&self) -> Vec<u8> {
        [&self.prefix, ZERO].concat()
    }

    /// All keys under `prefix` that come after `after`.
    pub fn span(&self, prefix: &Prefix, after: Option<&Key>) -> Span {
        let whole = [&self.prefix, prefix.as_bytes()].concat();
        // A key has at least one byte, so what equals our own prefix is not ours.
        let first = if prefix.as_bytes().is_empty() { self.any_key() } else { whole.clone() };
        let next = after.map(|after| [&self.prefix, after.as_bytes(), ZERO].concat());
        Span { start: next.map_or(first.clone(), |next| next.max(first)), end: end_of(whole) }
    }

    /// Everybody's keys.
    pub fn everything() -> Span {
        Span { start: ZERO.to_vec(), end: ZERO.to_vec() }
    }

    /// Our entry; none if there is none or it is somebody else's.
    pub fn entry(&self, stored: Option<KeyValue>) -> Result<Option<Entry>, Refusal> {
        let Some(stored) = stored else { return Ok(None) };
        let Some(key) = self.own(&stored.key) else { return Ok(None) };
        let (created, modified) = (revision(stored.create_revision)?, revision(stored.mod_revision)?);
        Ok(Some(Entry { key, value: Bytes::from(stored.value), created, modified }))
    }

    pub fn own(&self, key: &[u8]) -> Option<Key> {
        key.strip_prefix(&self.prefix[..]).filter(|key| !key.is_empty()).map(Key::stored)
    }
}

/// The first key after all that start with `prefix`.
fn end_of(mut prefix: Vec<u8>) -> Vec<u8> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return prefix;
        }
    }
    ZERO.to_vec()
}

pub fn revision(number: i64) -> Result<Revision, Refusal> {
    let revision = u64::try_from(number).ok().and_then(Revision::new);
    revision.ok_or_else(|| Refusal::Other(format!("etcd says that {number} is a revision")))
}

/// Revisions that etcd cannot count to have not happened.
pub fn on_the_wire(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}

pub fn header_revision(header: Option<&ResponseHeader>) -> Result<Revision, Refusal> {
    let header = header.ok_or_else(|| Refusal::Other("etcd's answer has no header".to_owned()))?;
    revision(header.revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(own: &'static str, prefix: &'static [u8], after: Option<&'static str>) -> (Vec<u8>, Vec<u8>) {
        let keyspace = Keyspace::new(&Prefix::new(own).unwrap());
        let after = after.map(|after| Key::new(after).unwrap());
        let span = keyspace.span(&Prefix::new(prefix).unwrap(), after.as_ref());
        (span.start, span.end)
    }

    #[test]
    fn a_span_covers_exactly_what_starts_with_its_prefix() {
        let bytes = |start: &[u8], end: &[u8]| (start.to_vec(), end.to_vec());
        assert_eq!(span("/e/", b"pods/", None), bytes(b"/e/pods/", b"/e/pods0"));
        assert_eq!(span("/e/", b"", None), bytes(b"/e/\0", b"/e0"));
        assert_eq!(span("", b"", None), bytes(b"\0", b"\0"));
        assert_eq!(span("", b"a\xff\xff", None), bytes(b"a\xff\xff", b"b"));
        assert_eq!(span("", b"\xff", None), bytes(b"\xff", b"\0"));
        assert_eq!(span("/e/", b"c", Some("cc")), bytes(b"/e/cc\0", b"/e/d"));
        assert_eq!(span("/e/", b"c", Some("a")), bytes(b"/e/c", b"/e/d"));
    }

    #[test]
    fn keys_of_others_are_not_ours() {
        let keyspace = Keyspace::new(&Prefix::new("/e/").unwrap());
        assert_eq!(keyspace.own(b"/e/a"), Some(Key::new("a").unwrap()));
        assert_eq!(keyspace.own(b"/e/"), None);
        assert_eq!(keyspace.own(b"/f/a"), None);
    }
}
