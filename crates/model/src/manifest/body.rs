//! Reading the body of a request: bytes to one value, and values to typed objects, as tolerantly as a server must.
//!
//! Unlike a manifest on a person's disk, a request may hold fields nobody knows and keys that stand twice: what becomes of
//! them is the client's choice (`fieldValidation`), so they are reported and not judged here.

use serde::Deserialize;
use serde_json::Value;

use super::error::FieldFaultKind;
use super::source::{self, Source};
use super::tree::{self, Meter};
use super::{Format, Limits, ManifestError, decode, locate};

/// One value, and the fields that stood twice in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub value: Value,
    /// Paths of fields that stood twice, such as `spec.replicas`; the last one counts.
    pub repeated: Vec<String>,
}

/// Reads one value. In YAML, a key that stands twice is an error; only JSON bodies are tolerated.
pub fn read(bytes: &[u8], format: Format, limits: &Limits) -> Result<Body, ManifestError> {
    let text = source::text(bytes, limits)?;
    let source = Source { text, format, line: 1, column: 1 };
    let (value, repeated) = match (tree::parse(&source, 1, &Meter::new(*limits)), format) {
        (Err(ManifestError::DuplicateKey { .. }), Format::Json) => {
            tree::parse_repeating(&source, &Meter::new(*limits))?
        }
        (parsed, Format::Json | Format::Yaml) => (parsed?, Vec::new()),
    };
    let value = value.ok_or(ManifestError::Empty)?;
    Ok(Body { value, repeated: repeated.iter().map(|path| locate::render(path)).collect() })
}

/// A typed object, and what it left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<T> {
    pub object: T,
    /// Paths of fields that the type does not have.
    pub unknown: Vec<String>,
}

/// Why a value is no object of the type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Mismatch {
    pub field: String,
    pub message: String,
}

/// Decodes a value as far as the type knows it.
pub fn decode<'de, T: Deserialize<'de>>(value: &'de Value, limits: &Limits) -> Result<Decoded<T>, Mismatch> {
    let (result, unknown) = decode::tolerant(value, &Meter::new(*limits));
    match result {
        Ok(object) => {
            Ok(Decoded { object, unknown: unknown.iter().map(|fault| locate::render(&fault.path)).collect() })
        }
        Err(fault) => Err(Mismatch { field: locate::render(&fault.path), message: words(fault.kind) }),
    }
}

fn words(kind: FieldFaultKind) -> String {
    match kind {
        FieldFaultKind::Malformed { message } => message,
        FieldFaultKind::TooMany { max_fields } => format!("more than {max_fields} fields, the most that is read"),
        FieldFaultKind::Unknown { .. } => "unknown field".to_owned(),
        FieldFaultKind::Required => "required".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_reported_and_the_last_one_counts() {
        let text = br#"{"data": {"a": "1", "a": "2"}, "list": [{}, {"b": 1, "b": 2}]}"#;
        let body = read(text, Format::Json, &Limits::DEFAULT).unwrap();
        assert_eq!(body.value, json!({"data": {"a": "2"}, "list": [{}, {"b": 2}]}));
        assert_eq!(body.repeated, ["data.a", "list[1].b"]);
        assert!(read(b"a: 1\na: 2", Format::Yaml, &Limits::DEFAULT).is_err());
    }

    #[test]
    fn unknown_fields_are_reported_and_wrong_types_refused() {
        let value = json!({"metadata": {"nam": "x"}, "data": {"a": "b"}, "dta": {}});
        let decoded: Decoded<ConfigMap> = decode(&value, &Limits::DEFAULT).unwrap();
        assert_eq!(decoded.unknown, ["dta", "metadata.nam"]);
        let wrong = json!({"data": {"a": 5}});
        let error = decode::<ConfigMap>(&wrong, &Limits::DEFAULT).unwrap_err();
        assert_eq!(error.to_string(), "data.a: expected a string, found integer `5`");
    }

    #[test]
    fn a_number_too_large_for_an_integer_is_read_to_the_last_bit() {
        let text = "4444444444444444444444";
        let read_once = read(text.as_bytes(), Format::Json, &Limits::DEFAULT).unwrap().value;
        assert_eq!(read_once.as_f64(), text.parse().ok());
        let again = read(read_once.to_string().as_bytes(), Format::Json, &Limits::DEFAULT).unwrap().value;
        assert_eq!(again, read_once);
    }

    #[test]
    fn a_body_without_a_value_is_refused() {
        for text in ["", "null", "# nothing"] {
            assert!(read(text.as_bytes(), Format::Yaml, &Limits::DEFAULT).is_err(), "{text}");
        }
        assert!(read(b"{\"a\": 1} x", Format::Json, &Limits::DEFAULT).is_err());
    }
}
