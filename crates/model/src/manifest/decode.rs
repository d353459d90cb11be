//! From one untyped value to a typed object, strictly.
//!
//! This is the only deserialiser that typed objects are ever decoded with: each further one would compile all of `Pod`
//! again. It knows the way to every value, notes every field that its structure does not have (with the one that was
//! probably meant), and takes `null` for "not set" as Go does.

use std::cell::RefCell;
use std::fmt;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Pod, PodTemplate, PodTemplateSpec, ReplicationController};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::locate::{Step, render};
use super::tree::{Meter, describe};
use super::{FieldFaultKind, Kind, Workload};

/// How many unknown fields of one object are reported.
const MAX_UNKNOWN_FIELDS: usize = 100;

/// The parts of an object that a [`super::Document`] keeps.
pub(super) struct Decoded {
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub workload: Workload,
}

/// One mistake and the way to it.
#[derive(Debug)]
pub(super) struct Fault {
    pub path: Vec<Step>,
    pub kind: FieldFaultKind,
}

/// Decodes an object whose kind and version are known to fit.
pub(super) fn object(kind: Kind, value: &Value, meter: &Meter) -> Result<Decoded, Vec<Fault>> {
    match kind {
        Kind::Pod => {
            let pod: Pod = typed(value, meter)?;
            let (name, namespace) = (pod.metadata.name.clone(), pod.metadata.namespace.clone());
            Ok(Decoded { name, namespace, workload: Workload::Pod(Box::new(pod)) })
        }
        Kind::PodTemplate => {
            let object: PodTemplate = typed(value, meter)?;
            decoded(kind, object.metadata, object.template)
        }
        Kind::ReplicationController => {
            let object: ReplicationController = typed(value, meter)?;
            decoded(kind, object.metadata, object.spec.and_then(|spec| spec.template))
        }
        Kind::Deployment => {
            let object: Deployment = typed(value, meter)?;
            decoded(kind, object.metadata, Some(object.spec.template))
        }
        Kind::ReplicaSet => {
            let object: ReplicaSet = typed(value, meter)?;
            decoded(kind, object.metadata, object.spec.template)
        }
        Kind::StatefulSet => {
            let object: StatefulSet = typed(value, meter)?;
            decoded(kind, object.metadata, Some(object.spec.template))
        }
        Kind::DaemonSet => {
            let object: DaemonSet = typed(value, meter)?;
            decoded(kind, object.metadata, Some(object.spec.template))
        }
        Kind::Job => {
            let object: Job = typed(value, meter)?;
            decoded(kind, object.metadata, object.spec.map(|spec| spec.template))
        }
        Kind::CronJob => {
            let object: CronJob = typed(value, meter)?;
            decoded(kind, object.metadata, object.spec.job_template.spec.map(|spec| spec.template))
        }
    }
}

pub(super) fn encode_pod(pod: &Pod) -> Value {
    serde_json::to_value(pod).expect("a pod's maps have string keys and its numbers are finite")
}

pub(super) fn encode_template(template: &PodTemplateSpec) -> Value {
    serde_json::to_value(template).expect("a template's maps have string keys and its numbers are finite")
}

fn decoded(kind: Kind, metadata: ObjectMeta, template: Option<PodTemplateSpec>) -> Result<Decoded, Vec<Fault>> {
    let Some(template) = template.filter(|template| *template != PodTemplateSpec::default()) else {
        let path = kind.pod_path().split('.').map(|field| Step::Key(field.to_owned())).collect();
        return Err(vec![Fault { path, kind: FieldFaultKind::Required }]);
    };
    let workload = Workload::Template(Box::new(template));
    Ok(Decoded { name: metadata.name, namespace: metadata.namespace, workload })
}

fn typed<'de, T: Deserialize<'de>>(value: &'de Value, meter: &Meter) -> Result<T, Vec<Fault>> {
    let (result, mut faults) = tolerant(value, meter);
    match result {
        Ok(object) if faults.is_empty() => return Ok(object),
        Ok(_) => {}
        Err(fault) => faults.push(fault),
    }
    Err(faults)
}

/// Decodes whatever can be decoded, and tells the unknown fields apart from what stopped it.
pub(super) fn tolerant<'de, T: Deserialize<'de>>(value: &'de Value, meter: &Meter) -> (Result<T, Fault>, Vec<Fault>) {
    let notes = Notes { meter, unknown: RefCell::new(Vec::new()) };
    let result = T::deserialize(Decoder { value, way: &Way::Root, notes: &notes });
    let result = result.map_err(|error| Fault { path: error.path.unwrap_or_default(), kind: error.kind });
    (result, notes.unknown.into_inner())
}

struct Notes<'a> {
    meter: &'a Meter,
    unknown: RefCell<Vec<Fault>>,
}

impl Notes<'_> {
    fn note(&self, fault: Fault) {
        let mut unknown = self.unknown.borrow_mut();
        if unknown.len() < MAX_UNKNOWN_FIELDS {
            unknown.push(fault);
        }
    }
}

/// The way from the object to a value; it borrows its parent so that a good object costs nothing.
enum Way<'a> {
    Root,
    Key(&'a Way<'a>, &'a str),
    Index(&'a Way<'a>, usize),
}

impl Way<'_> {
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut way = self;
        loop {
            way = match way {
                Way::Root => break,
                Way::Key(parent, key) => {
                    steps.push(Step::Key((*key).to_owned()));
                    parent
                }
                Way::Index(parent, index) => {
                    steps.push(Step::Index(*index));
                    parent
                }
            };
        }
        steps.reverse();
        steps
    }
}

/// Decoding stopped here.
#[derive(Debug)]
struct DecodeError {
    /// Unset while the error is still on its way up to someone who knows.
    path: Option<Vec<Step>>,
    kind: FieldFaultKind,
}

impl DecodeError {
    fn at(mut self, way: &Way<'_>) -> DecodeError {
        self.path.get_or_insert_with(|| way.steps());
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", render(self.path.as_deref().unwrap_or_default()), self.kind)
    }
}

impl std::error::Error for DecodeError {}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        DecodeError { path: None, kind: FieldFaultKind::Malformed { message: in_plain_words(&message.to_string()) } }
    }
}

/// serde names Rust types; people who write manifests know other words.
fn in_plain_words(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let found = found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
    let expected = match expected {
        "i32" => "a 32-bit integer",
        "i64" => "a 64-bit integer",
        "f64" => "a number",
        "IntOrString" => "an integer or a string",
        "Quantity" => "a quantity",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

#[derive(Clone, Copy)]
struct Decoder<'de, 'a> {
    value: &'de Value,
    way: &'a Way<'a>,
    notes: &'a Notes<'a>,
}

impl<'de> Decoder<'de, '_> {
    fn mismatch(&self, expected: fmt::Arguments<'_>) -> DecodeError {
        let message = format!("expected {expected}, found {}", describe(self.value));
        DecodeError { path: Some(self.way.steps()), kind: FieldFaultKind::Malformed { message } }
    }

    fn entries<V: Visitor<'de>>(
        self,
        map: Option<&'de Map<String, Value>>,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let entries = map.map(|map| map.iter());
        visitor.visit_map(Entries { entries, fields, current: None, way: self.way, notes: self.notes })
    }
}

/// A scalar: `null` is the type's zero, as in Go; anything else is the visitor's to take or refuse.
macro_rules! scalar {
    ($($method:ident => $visit:ident($zero:expr)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.value {
                Value::Null => visitor.$visit($zero),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Decoder<'de, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let way = self.way;
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (.., value) => visitor.visit_f64(value.unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(map) => self.entries(Some(map), None, visitor),
        }
        .map_err(|error: DecodeError| error.at(way))
    }

    scalar! {
        deserialize_bool => visit_bool(false),
        deserialize_i8 => visit_i64(0),
        deserialize_i16 => visit_i64(0),
        deserialize_i32 => visit_i64(0),
        deserialize_i64 => visit_i64(0),
        deserialize_u8 => visit_u64(0),
        deserialize_u16 => visit_u64(0),
        deserialize_u32 => visit_u64(0),
        deserialize_u64 => visit_u64(0),
        deserialize_f32 => visit_f64(0.0),
        deserialize_f64 => visit_f64(0.0),
        deserialize_str => visit_borrowed_str(""),
        deserialize_string => visit_borrowed_str(""),
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match (name, self.value) {
            ("Quantity", Value::Null) => visitor.visit_i64(0),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let list = match self.value {
            Value::Null => [].as_slice(),
            Value::Array(list) => list.as_slice(),
            _ => return Err(self.mismatch(format_args!("a list"))),
        };
        visitor.visit_seq(Items { items: list.iter(), index: 0, way: self.way, notes: self.notes })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => self.entries(None, None, visitor),
            Value::Object(map) => self.entries(Some(map), None, visitor),
            _ => Err(self.mismatch(format_args!("an object"))),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if !self.notes.meter.take_fields(fields.len()) {
            let kind = FieldFaultKind::TooMany { max_fields: self.notes.meter.limits.max_fields };
            return Err(DecodeError { path: Some(self.way.steps()), kind });
        }
        match self.value {
            Value::Null => self.entries(None, Some(fields), visitor),
            Value::Object(map) => self.entries(Some(map), Some(fields), visitor),
            _ => Err(self.mismatch(format_args!("an object ({name})"))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

struct Items<'de, 'a> {
    items: std::slice::Iter<'de, Value>,
    index: usize,
    way: &'a Way<'a>,
    notes: &'a Notes<'a>,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some(value) = self.items.next() else { return Ok(None) };
        let way = Way::Index(self.way, self.index);
        self.index += 1;
        seed.deserialize(Decoder { value, way: &way, notes: self.notes }).map(Some).map_err(|error| error.at(&way))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de, 'a> {
    entries: Option<serde_json::map::Iter<'de>>,
    /// The fields of the structure; unset for a map, which has no fields but keys.
    fields: Option<&'static [&'static str]>,
    current: Option<(&'de str, &'de Value)>,
    way: &'a Way<'a>,
    notes: &'a Notes<'a>,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, value)) = self.entries.as_mut().and_then(Iterator::next) else { return Ok(None) };
        if let Some(fields) = self.fields.filter(|fields| !fields.contains(&key.as_str())) {
            let kind = FieldFaultKind::Unknown { suggestion: nearest(key, fields) };
            let path = Way::Key(self.way, key).steps();
            self.notes.note(Fault { path, kind });
        }
        self.current = Some((key, value));
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let (key, value) = self.current.take().expect("serde asks for a value after its key");
        let way = Way::Key(self.way, key);
        seed.deserialize(Decoder { value, way: &way, notes: self.notes }).map_err(|error| error.at(&way))
    }
}

/// The field that was probably meant: the same but for capitals, two letters, or a third of a long name.
fn nearest(word: &str, fields: &'static [&'static str]) -> Option<&'static str> {
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let (distance, field) =
        fields.iter().map(|field| (edits(&lower, &field.to_lowercase()), *field)).min_by_key(|(edits, _)| *edits)?;
    let most = if field.len() < 4 { 1 } else { (field.len() / 3).max(2) };
    (distance <= most).then_some(field)
}

/// How many letters must be changed, added or dropped to make one word of the other.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_field_is_suggested_unless_none_is_near() {
        const FIELDS: &[&str] = &["command", "args", "terminationMessagePath", "name"];
        assert_eq!(nearest("comand", FIELDS), Some("command"));
        assert_eq!(nearest("Args", FIELDS), Some("args"));
        assert_eq!(nearest("terminationmessagpath", FIELDS), Some("terminationMessagePath"));
        assert_eq!(nearest("volume", FIELDS), None);
        assert_eq!(nearest(&"c".repeat(1000), FIELDS), None);
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("same", "same"), 0);
    }
}
