//! What the tests of kinds share: objects from JSON, on the way that the verbs take them.

use k8s_openapi::Metadata;
use lifecycle::moment::Moment;
use model::gates::FeatureGates;
use model::patch::{PatchKind, apply};
use serde_json::Value;

use crate::kind::{AnyObject, Kind, Of, Part, Scene, Served};

/// One hour after the objects of the tests were created.
pub const NOW: Moment = Moment::from_millis(3_600_000);

pub fn scene() -> Scene {
    Scene { gates: FeatureGates::default(), now: NOW }
}

/// The object as it was sent.
#[expect(clippy::needless_pass_by_value, reason = "the rows of a test are read more easily without borrows")]
pub fn read<K: Kind>(value: Value) -> K::Object {
    let decoded = Of::<K>::NEW.decode(&value).unwrap_or_else(|error| panic!("{error}: {value}"));
    assert_eq!(decoded.unknown, [""; 0], "fields that the kind does not have");
    decoded.object.downcast_ref::<K::Object>().unwrap().clone()
}

pub fn defaulted<K: Kind>(value: Value) -> K::Object {
    let mut object = read::<K>(value);
    K::default(&mut object);
    object
}

/// The object as it would be stored.
pub fn created<K: Kind>(value: Value) -> K::Object {
    let mut object = defaulted::<K>(value);
    let metadata = object.metadata_mut();
    metadata.uid.get_or_insert_with(|| "u-1".to_owned());
    metadata.creation_timestamp.get_or_insert_with(|| Moment::from_millis(0).whole_second());
    K::prepare_for_create(&mut object, &scene());
    object
}

/// Everything that is wrong with a new object.
pub fn create_errors<K: Kind>(value: Value) -> Vec<String> {
    let errors = Of::<K>::NEW.validate(&created::<K>(value), &scene());
    errors.iter().map(ToString::to_string).collect()
}

/// An update as it would be stored, of an object that was created.
pub fn updated<K: Kind>(new: Value, old: Value) -> K::Object {
    prepared::<K>(None, new, &created::<K>(old))
}

pub fn prepared_part<K: Kind>(part: Part, new: Value, old: Value) -> K::Object {
    prepared::<K>(Some(part), new, &created::<K>(old))
}

fn prepared<K: Kind>(part: Option<Part>, new: Value, old: &K::Object) -> K::Object {
    let mut new = defaulted::<K>(new);
    new.metadata_mut().resource_version = Some("2".to_owned());
    Of::<K>::NEW.prepare_for_update(part, &mut new, old, &scene());
    new
}

pub fn update_errors<K: Kind>(new: Value, old: Value) -> Vec<String> {
    errors_of_update::<K>(None, new, &created::<K>(old))
}

pub fn part_errors<K: Kind>(part: Part, new: Value, old: Value) -> Vec<String> {
    errors_of_update::<K>(Some(part), new, &created::<K>(old))
}

/// The same, over an object that is stored as given.
pub fn part_errors_over<K: Kind>(part: Part, new: Value, old: &K::Object) -> Vec<String> {
    errors_of_update::<K>(Some(part), new, old)
}

fn errors_of_update<K: Kind>(part: Option<Part>, new: Value, old: &K::Object) -> Vec<String> {
    let new = prepared::<K>(part, new, old);
    let errors = Of::<K>::NEW.validate_update(part, &new, old, &scene());
    errors.iter().map(ToString::to_string).collect()
}

/// The cells of an object, with its defaults.
pub fn cells<K: Kind>(value: Value) -> Vec<Value> {
    let mut object = defaulted::<K>(value);
    object.metadata_mut().creation_timestamp = Some(Moment::from_millis(0).whole_second());
    K::row(&object, NOW).cells
}

/// The defaults of an object, as JSON.
pub fn defaults_of<K: Kind>(value: Value) -> Value {
    defaulted::<K>(value).to_value()
}

/// A document with a merge patch over it.
pub fn with(document: &Value, patch: Value) -> Value {
    apply(PatchKind::Merge, document.clone(), patch).unwrap()
}

/// Each row patches a valid object; all that is then wrong with it must be what the row says.
pub fn assert_refused<K: Kind>(valid: &Value, rows: &[(Value, &[&str])]) {
    assert_eq!(create_errors::<K>(valid.clone()), [""; 0], "the object that is patched must be valid");
    for (patch, expected) in rows {
        assert_eq!(create_errors::<K>(with(valid, patch.clone())), *expected, "{patch}");
    }
}

/// Each row patches an object that is stored; all that is then wrong with the update must be what the row says.
pub fn assert_update_refused<K: Kind>(old: &Value, rows: &[(Value, &[&str])]) {
    for (patch, expected) in rows {
        assert_eq!(update_errors::<K>(with(old, patch.clone()), old.clone()), *expected, "{patch}");
    }
}

/// An object that makes pods from a template, of whichever kind.
pub fn workload() -> Value {
    serde_json::json!({
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "x:1"}]},
            },
        },
    })
}
