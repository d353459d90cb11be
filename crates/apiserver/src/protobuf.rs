//! The Kubernetes protobuf encoding, which typed clients send: bytes to the value that the same object is in JSON.
//!
//! A body is a prefix, an envelope that names the kind, and the object. The files in `proto` say what each message
//! holds; one walk over the bytes serves all kinds. Fields that nobody knows are passed over, as upstream does. Nothing
//! is encoded here: answers are JSON.

mod form;
mod object;
mod schema;
#[cfg(test)]
mod tests;
mod wire;

use model::field::go_quoted;
use model::manifest::Limits;
use prost::Message as _;
use serde_json::{Map, Value};
use thiserror::Error;

use object::{Located, Reading};
use schema::SCHEMA;

/// The media type of such a body.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with.
const PREFIX: &[u8] = b"k8s\0";

/// Why a body could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProtobufError {
    #[error("the body is longer than {max_bytes} bytes, the most that is read")]
    TooLong { max_bytes: usize },
    #[error("the body does not begin with the bytes \"k8s\\x00\", as the Kubernetes protobuf encoding does")]
    NoPrefix,
    #[error("the envelope around the object cannot be read: {0}")]
    Envelope(String),
    #[error("the object is packed as {}, and only objects as they are can be read", go_quoted(.0))]
    Packed(String),
    #[error("the object is of the content type {}, and only {MEDIA_TYPE} can be read", go_quoted(.0))]
    NotProtobuf(String),
    #[error("the envelope does not name the {0} of the object")]
    Nameless(&'static str),
    #[error("no kind {} is registered for version {}", go_quoted(.kind), go_quoted(.api_version))]
    UnknownKind { api_version: String, kind: String },
    #[error(transparent)]
    Object(#[from] Located),
}

/// What stands around every object.
#[derive(Clone, PartialEq, prost::Message)]
struct Envelope {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
    #[prost(string, tag = "3")]
    content_encoding: String,
    #[prost(string, tag = "4")]
    content_type: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

/// Reads one object. Its `apiVersion` and `kind` are those of the envelope; a field that is not set is absent.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Value, ProtobufError> {
    if bytes.len() > limits.max_bytes {
        return Err(ProtobufError::TooLong { max_bytes: limits.max_bytes });
    }
    let envelope = bytes.strip_prefix(PREFIX).ok_or(ProtobufError::NoPrefix)?;
    let envelope = Envelope::decode(envelope).map_err(|error| ProtobufError::Envelope(error.to_string()))?;
    if !envelope.content_encoding.is_empty() {
        return Err(ProtobufError::Packed(envelope.content_encoding));
    }
    if !matches!(envelope.content_type.as_str(), "" | MEDIA_TYPE) {
        return Err(ProtobufError::NotProtobuf(envelope.content_type));
    }
    let TypeMeta { api_version, kind } = envelope.type_meta.unwrap_or_default();
    for (name, said) in [("kind", &kind), ("apiVersion", &api_version)] {
        if said.is_empty() {
            return Err(ProtobufError::Nameless(name));
        }
    }
    let Some(message) = SCHEMA.find(&api_version, &kind) else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut fields = Map::new();
    Reading::new(&SCHEMA, limits).fields(message, &envelope.raw, &mut fields, 1)?;
    fields.insert("apiVersion".to_owned(), api_version.into());
    fields.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(fields))
}
