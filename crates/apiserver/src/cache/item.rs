//! One version of one object, encoded once for everyone who reads or watches it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use store::Revision;

use crate::encoded::{Inserted, VERSION_BYTES_MAX, write_served};
use crate::kind::{AnyObject, SelectableFields, Served};

/// What happened to an object, as watches name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    Added,
    Modified,
    Deleted,
}

impl Happened {
    /// What stands before the object in an event.
    pub const fn opening(self) -> &'static [u8] {
        match self {
            Happened::Added => br#"{"type":"ADDED","object":"#,
            Happened::Modified => br#"{"type":"MODIFIED","object":"#,
            Happened::Deleted => br#"{"type":"DELETED","object":"#,
        }
    }
}

/// What stands behind the object in an event.
pub const CLOSING: &[u8] = b"}\n";

/// One version of an object.
///
/// Holds the whole watch event that made it; the object is a slice of the event, so reads, lists and watches share one
/// allocation.
pub struct Item {
    /// `namespace/name`, or the name alone.
    pub key: Box<str>,
    pub revision: Revision,
    event: Bytes,
    opening: usize,
    version: Inserted,
    attributes: OnceLock<Attributes>,
    typed: OnceLock<Option<Arc<dyn AnyObject>>>,
}

/// What selectors look at.
#[derive(Debug, Default)]
pub struct Attributes {
    pub labels: BTreeMap<String, String>,
    pub fields: SelectableFields,
}

impl Item {
    /// The version of an object that `revision` made, from the bytes that are stored.
    pub fn new(key: &str, happened: Happened, stored: &[u8], revision: Revision) -> Item {
        let opening = happened.opening();
        let mut event = Vec::with_capacity(opening.len() + stored.len() + VERSION_BYTES_MAX + CLOSING.len());
        event.extend_from_slice(opening);
        let version = write_served(stored, revision, &mut event);
        event.extend_from_slice(CLOSING);
        let (opening, attributes, typed) = (opening.len(), OnceLock::new(), OnceLock::new());
        Item { key: key.into(), revision, event: event.into(), opening, version, attributes, typed }
    }

    /// The object as it is served.
    pub fn object(&self) -> Bytes {
        self.event.slice(self.opening..self.event.len() - CLOSING.len())
    }

    /// The object as it is served, without sharing it.
    pub fn object_bytes(&self) -> &[u8] {
        &self.event[self.opening..self.event.len() - CLOSING.len()]
    }

    /// The event that made this version.
    pub fn event(&self) -> &Bytes {
        &self.event
    }

    /// The object as it is stored, without its version.
    pub fn stored(&self) -> Vec<u8> {
        let end = self.event.len() - CLOSING.len();
        let after = self.version.at + self.version.length;
        [&self.event[self.opening..self.version.at.min(end)], &self.event[after.min(end)..end]].concat()
    }

    /// The same object under another revision: what a watch sends when an object is no longer selected.
    pub fn object_at(&self, revision: Revision) -> Vec<u8> {
        crate::encoded::served(&self.stored(), revision)
    }

    pub fn to_value(&self) -> Value {
        serde_json::from_slice(self.object_bytes()).unwrap_or_default()
    }

    /// The object with its type, decoded once and kept: for kinds of which there are few and which are looked at with
    /// every request. None if it cannot be decoded.
    pub fn typed(&self, kind: &dyn Served) -> Option<&Arc<dyn AnyObject>> {
        let decode = || kind.decode(&self.to_value()).ok().map(|decoded| decoded.object.into());
        self.typed.get_or_init(decode).as_ref()
    }

    pub fn size_bytes(&self) -> usize {
        self.event.len()
    }

    pub fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// What selectors look at; found once. An object that cannot be decoded has no labels and no fields.
    pub fn attributes(&self, kind: &dyn Served) -> &Attributes {
        self.attributes.get_or_init(|| {
            let Ok(decoded) = kind.decode(&self.to_value()) else { return Attributes::default() };
            let labels = decoded.object.meta().labels.clone().unwrap_or_default();
            Attributes { labels, fields: kind.selectable_fields(&*decoded.object) }
        })
    }
}

impl std::fmt::Debug for Item {
    /// Not the object: it may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.key, self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(happened: Happened) -> Item {
        let stored = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"x":"y"}}}"#;
        Item::new("ns/a", happened, stored, Revision::new(5).unwrap())
    }

    #[test]
    fn the_object_is_a_slice_of_its_event() {
        for happened in [Happened::Added, Happened::Modified, Happened::Deleted] {
            let item = item(happened);
            let event: Value = serde_json::from_slice(item.event()).unwrap();
            assert_eq!(event["object"], serde_json::from_slice::<Value>(&item.object()).unwrap());
            assert_eq!(event["object"]["metadata"]["resourceVersion"], "5");
            assert!(item.event().ends_with(b"\n"));
        }
    }

    #[test]
    fn an_object_can_be_shown_at_another_revision() {
        let shown: Value = serde_json::from_slice(&item(Happened::Added).object_at(Revision::new(9).unwrap())).unwrap();
        assert_eq!(shown["metadata"]["resourceVersion"], "9");
        assert_eq!(shown["metadata"]["name"], "a");
    }

    #[test]
    fn keys_are_split_into_namespace_and_name() {
        let item = item(Happened::Added);
        assert_eq!((item.namespace(), item.name()), ("ns", "a"));
    }
}
