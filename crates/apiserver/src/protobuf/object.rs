//! The walk over the bytes of an object.
//!
//! What stands twice is read as upstream reads it: of single values the last one counts, messages are merged, lists go
//! on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::manifest::Limits;
use serde_json::{Map, Value};
use thiserror::Error;

use super::form;
use super::schema::{Field, Form, Kind, MessageId, Schema, Shape};
use super::wire::{self, Payload};

/// What is wrong with an object, and in which field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{fault}", place(.path))]
pub struct Located {
    /// The names of the fields on the way there, the innermost first.
    path: Vec<String>,
    fault: Fault,
}

/// What is wrong with a field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    #[error("malformed protobuf: {0}")]
    Wire(String),
    #[error("malformed protobuf: {length} bytes are announced, {left} are left")]
    Short { length: u64, left: usize },
    #[error("malformed protobuf: the field is not {expected}")]
    WrongType { expected: &'static str },
    #[error("the text is not UTF-8")]
    NotText,
    #[error("{seconds} seconds after 1970 is outside the years 0 to 9999")]
    NoTime { seconds: i64 },
    #[error("{0} is neither 0 (a number) nor 1 (a text)")]
    NeitherNumberNorText(i64),
    #[error("the embedded JSON cannot be read: {0}")]
    Embedded(String),
    #[error("nested deeper than {max_depth} levels, the most that is read")]
    TooDeep { max_depth: usize },
    #[error("the object has more than {max_values} values, the most that is read")]
    TooMany { max_values: usize },
}

impl Fault {
    pub fn wire(error: impl std::fmt::Display) -> Fault {
        Fault::Wire(error.to_string())
    }
}

impl From<Fault> for Located {
    fn from(fault: Fault) -> Located {
        Located { path: Vec::new(), fault }
    }
}

impl Located {
    fn within(mut self, field: &str) -> Located {
        self.path.push(field.to_owned());
        self
    }
}

fn place(path: &[String]) -> String {
    if path.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = path.iter().rev().map(String::as_str).collect();
    names.join(".") + ": "
}

/// One reading of one object.
pub struct Reading<'a> {
    schema: &'a Schema,
    limits: &'a Limits,
    values: usize,
}

impl<'a> Reading<'a> {
    pub fn new(schema: &'a Schema, limits: &'a Limits) -> Reading<'a> {
        Reading { schema, limits, values: 0 }
    }

    /// Reads the fields of a message into an object; `depth` is the level of that object.
    pub fn fields(
        &mut self,
        message: MessageId,
        bytes: &[u8],
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Located> {
        if depth > self.limits.max_depth {
            return Err(Fault::TooDeep { max_depth: self.limits.max_depth }.into());
        }
        let message = self.schema.message(message);
        let mut rest = bytes;
        while let Some((number, payload)) = wire::next(&mut rest)? {
            if let Some(field) = message.fields.get(&number) {
                self.field(field, payload, into, depth)?;
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        payload: Payload<'_>,
        into: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Located> {
        let name = field.name.as_str();
        let here = |located: Located| located.within(name);
        match field.shape {
            Shape::Inline(id) => {
                let bytes = payload.bytes().map_err(|fault| here(fault.into()))?;
                self.fields(id, bytes, into, depth)?;
            }
            Shape::List => {
                let list = list_of(into, name);
                self.element(field.kind, payload, list, depth).map_err(here)?;
                if list.is_empty() {
                    into.remove(name);
                }
            }
            Shape::Map => {
                let map = map_of(into, name);
                self.entry(field.kind, payload, map, depth).map_err(here)?;
            }
            Shape::Value | Shape::NonZero => {
                let before = into.remove(name);
                let value = self.value(field.kind, payload, before, depth).map_err(here)?;
                if let Some(value) = value.filter(|value| field.shape == Shape::Value || !is_zero(value)) {
                    into.insert(name.to_owned(), value);
                }
            }
        }
        Ok(())
    }

    /// One element, or several numbers at once.
    fn element(
        &mut self,
        kind: Kind,
        payload: Payload<'_>,
        list: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), Located> {
        let numbers = matches!(kind, Kind::Bool | Kind::Int32 | Kind::Int64);
        if let (true, Payload::Bytes(mut rest)) = (numbers, payload) {
            while !rest.is_empty() {
                let number = Payload::Varint(wire::varint(&mut rest)?);
                list.extend(self.value(kind, number, None, depth)?);
            }
            return Ok(());
        }
        let value = self.value(kind, payload, None, depth + 1)?;
        list.push(value.unwrap_or_default());
        Ok(())
    }

    /// One entry of a map: a message of a key and a value, either of which may be missing.
    fn entry(
        &mut self,
        kind: Kind,
        payload: Payload<'_>,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Located> {
        let mut rest = payload.bytes()?;
        let (mut key, mut value) = (String::new(), None);
        while let Some((number, payload)) = wire::next(&mut rest)? {
            match number {
                1 => key = text(payload)?,
                2 => value = self.value(kind, payload, value, depth + 1)?,
                _ => {}
            }
        }
        let value = match value {
            Some(value) => value,
            None => self.zero(kind, depth + 1)?,
        };
        map.insert(key, value);
        Ok(())
    }

    /// One value; none if it is one that JSON leaves out. A message goes on from what was there `before`.
    fn value(
        &mut self,
        kind: Kind,
        payload: Payload<'_>,
        before: Option<Value>,
        depth: usize,
    ) -> Result<Option<Value>, Located> {
        self.count(1)?;
        let value = match kind {
            Kind::Bool => Value::from(payload.varint()? != 0),
            // What does not fit is cut off, as upstream does it.
            Kind::Int32 => Value::from(payload.varint()? as i32),
            Kind::Int64 => Value::from(payload.varint()? as i64),
            Kind::Text => Value::from(text(payload)?),
            Kind::Bytes => Value::from(STANDARD.encode(payload.bytes()?)),
            Kind::Message(id) => return self.message(id, payload.bytes()?, before, depth + 1),
        };
        Ok(Some(value))
    }

    fn message(
        &mut self,
        id: MessageId,
        bytes: &[u8],
        before: Option<Value>,
        depth: usize,
    ) -> Result<Option<Value>, Located> {
        let form = self.schema.message(id).form;
        let value = match form {
            Form::Fields => {
                let mut object = match before {
                    Some(Value::Object(object)) => object,
                    _ => Map::new(),
                };
                self.fields(id, bytes, &mut object, depth)?;
                Some(Value::Object(object))
            }
            Form::Items => {
                let mut object: Map<String, Value> =
                    before.map(|items| ("items".to_owned(), items)).into_iter().collect();
                self.fields(id, bytes, &mut object, depth)?;
                Some(object.remove("items").unwrap_or_else(|| Value::Array(Vec::new())))
            }
            Form::Time => form::time(bytes)?,
            Form::MicroTime => form::micro_time(bytes)?,
            Form::Quantity => Some(form::quantity(bytes)?),
            Form::IntOrString => Some(form::int_or_string(bytes)?),
            Form::Embedded => {
                let max_depth = self.limits.max_depth.saturating_sub(depth);
                let max_values = self.limits.max_values.saturating_sub(self.values);
                let embedded = form::embedded(bytes, &Limits { max_depth, max_values, ..*self.limits })?;
                self.count(embedded.as_ref().map_or(0, values_in))?;
                embedded
            }
        };
        Ok(value)
    }

    /// What an entry without a value holds.
    fn zero(&mut self, kind: Kind, depth: usize) -> Result<Value, Located> {
        self.count(1)?;
        Ok(match kind {
            Kind::Bool => Value::from(false),
            Kind::Int32 | Kind::Int64 => Value::from(0),
            Kind::Text | Kind::Bytes => Value::from(""),
            Kind::Message(id) => self.message(id, &[], None, depth)?.unwrap_or_default(),
        })
    }

    fn count(&mut self, values: usize) -> Result<(), Fault> {
        self.values = self.values.saturating_add(values);
        let max_values = self.limits.max_values;
        if self.values > max_values { Err(Fault::TooMany { max_values }) } else { Ok(()) }
    }
}

fn text(payload: Payload<'_>) -> Result<String, Fault> {
    std::str::from_utf8(payload.bytes()?).map(str::to_owned).map_err(|_| Fault::NotText)
}

/// Whether a scalar is what Go makes of nothing.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn list_of<'v>(object: &'v mut Map<String, Value>, name: &str) -> &'v mut Vec<Value> {
    let value = object.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    value.as_array_mut().expect("a field has one shape")
}

fn map_of<'v>(object: &'v mut Map<String, Value>, name: &str) -> &'v mut Map<String, Value> {
    let value = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().expect("a field has one shape")
}

pub fn values_in(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        Value::Array(items) => 1 + items.iter().map(values_in).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values_in).sum::<usize>(),
    }
}
