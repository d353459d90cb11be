//! How objects lie in the store, and how they are served: once encoded, the same bytes go to every reader.
//!
//! A stored object is its JSON without a resource version, because the version is the revision of the very commit that
//! stores it. Serving it means putting the version in as the first field of its metadata. The place is known without
//! parsing: `apiVersion`, `kind` and `metadata` come first in everything that [`crate::kind::AnyObject::to_json`] writes.

use bytes::Bytes;
use serde_json::Value;
use store::Revision;

use crate::kind::AnyObject;

const METADATA: &[u8] = b"\"metadata\":{";

/// The bytes that are stored of an object. Takes its resource version away.
pub fn to_store(object: &mut dyn AnyObject) -> Bytes {
    object.meta_mut().resource_version = None;
    object.to_json().into()
}

/// The bytes that are stored of an object that is known only as a value.
pub fn value_to_store(mut value: Value) -> Bytes {
    let mut out = Vec::new();
    let fields = value.as_object_mut().map(std::mem::take).unwrap_or_default();
    let first = ["apiVersion", "kind", "metadata"];
    let ahead = first.iter().filter_map(|name| fields.get_key_value(*name));
    let behind = fields.iter().filter(|(name, _)| !first.contains(&name.as_str()));
    for (i, (name, field)) in ahead.chain(behind).enumerate() {
        out.extend_from_slice(if i == 0 { b"{" } else { b"," });
        out.extend_from_slice(Value::from(name.as_str()).to_string().as_bytes());
        out.push(b':');
        out.extend_from_slice(field.to_string().as_bytes());
    }
    out.push(b'}');
    out.into()
}

/// Stored bytes together with the revision that stored them, as clients see them.
pub fn served(stored: &[u8], revision: Revision) -> Vec<u8> {
    let mut out = Vec::with_capacity(stored.len() + VERSION_BYTES_MAX);
    write_served(stored, revision, &mut out);
    out
}

/// The most that putting a version in can add.
pub const VERSION_BYTES_MAX: usize = 48;

/// Appends what [`served`] gives, and returns where in `out` the version begins and how long it is.
pub fn write_served(stored: &[u8], revision: Revision, out: &mut Vec<u8>) -> Inserted {
    let Some(found) = stored.windows(METADATA.len()).position(|window| window == METADATA) else {
        // Nothing that we encoded lacks metadata; what someone else put there is shown as it is.
        out.extend_from_slice(stored);
        return Inserted { at: out.len(), length: 0 };
    };
    let (before, after) = stored.split_at(found + METADATA.len());
    out.extend_from_slice(before);
    let at = out.len();
    let comma = if after.first() == Some(&b'}') { "" } else { "," };
    out.extend_from_slice(format!("\"resourceVersion\":\"{revision}\"{comma}").as_bytes());
    let length = out.len() - at;
    out.extend_from_slice(after);
    Inserted { at, length }
}

/// Where a version was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    pub at: usize,
    pub length: usize,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn revision(number: u64) -> Revision {
        Revision::new(number).unwrap()
    }

    #[test]
    fn the_version_is_put_into_the_metadata_of_what_was_stored() {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".to_owned());
        object.metadata.resource_version = Some("7".to_owned());
        let stored = to_store(&mut object);
        let stored_value: Value = serde_json::from_slice(&stored).unwrap();
        assert_eq!(stored_value["metadata"], serde_json::json!({"name": "a"}));
        let shown: Value = serde_json::from_slice(&served(&stored, revision(12))).unwrap();
        assert_eq!(shown["metadata"], serde_json::json!({"name": "a", "resourceVersion": "12"}));
        assert_eq!(shown["kind"], "ConfigMap");
    }

    #[test]
    fn a_value_is_stored_with_its_metadata_ahead_of_everything_else() {
        let value = serde_json::json!({"count": 1, "kind": "Event", "metadata": {"name": "a"}, "apiVersion": "v1"});
        let expected = r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"a"},"count":1}"#;
        assert_eq!(value_to_store(value), expected);
    }

    #[test]
    fn metadata_may_be_empty_or_missing() {
        assert_eq!(
            served(br#"{"kind":"X","metadata":{}}"#, revision(3)),
            br#"{"kind":"X","metadata":{"resourceVersion":"3"}}"#
        );
        assert_eq!(served(b"{}", revision(3)), b"{}");
    }

    #[test]
    fn the_version_can_be_found_again() {
        let mut out = b"xx".to_vec();
        let inserted = write_served(br#"{"metadata":{"name":"a"}}"#, revision(42), &mut out);
        assert_eq!(&out[inserted.at..inserted.at + inserted.length], br#""resourceVersion":"42","#);
    }
}
