//! Why a manifest was refused, in words that say what was wrong, where, and what to do.

use std::fmt;

use thiserror::Error;

use super::Kind;

/// Where in a manifest something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The document, from 1, if the text got far enough to have documents.
    pub document: Option<usize>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(document @ 2..) = self.document {
            write!(f, "document {document}, ")?;
        }
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The notation of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Yaml,
    Json,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Yaml => "YAML",
            Format::Json => "JSON",
        })
    }
}

/// Why a manifest was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ManifestError {
    #[error("the manifest is larger than {max_bytes} bytes, the most that is read")]
    TooLarge { max_bytes: usize },
    #[error("{at}: not UTF-8: byte 0x{byte:02x} at offset {offset}")]
    NotUtf8 { at: Place, offset: usize, byte: u8 },
    #[error("the manifest holds no object")]
    Empty,
    #[error("{at}: malformed {format}: {message}")]
    Syntax { at: Place, format: Format, message: String },
    #[error("{at}: key {key:?} stands twice in the same object")]
    DuplicateKey { at: Place, key: String },
    #[error("{at}: nested deeper than {max_depth} levels, the most that is read")]
    TooDeep { at: Place, max_depth: usize },
    #[error("{at}: more than {max_values} values, aliases expanded, the most that is read")]
    TooManyValues { at: Place, max_values: usize },
    #[error("more than {max_documents} documents, the most that is read")]
    TooManyDocuments { max_documents: usize },
    #[error("{at}: expected an object with apiVersion and kind, found {found}")]
    NotAnObject { at: Place, found: &'static str },
    #[error("{at}: items of a List must be a list, found {found}")]
    ItemsNotAList { at: Place, found: &'static str },
    #[error("{at}: {field} is not set")]
    MissingType { at: Place, field: &'static str },
    #[error("{at}: {field} must be a string, found {found}")]
    TypeNotText { at: Place, field: &'static str, found: &'static str },
    #[error(
        "{at}: kind {kind:?} ({api_version}) holds no pod; kinds that are understood: {}, and a v1 List of them",
        Kind::names()
    )]
    UnknownKind { at: Place, kind: String, api_version: String },
    #[error("{at}: apiVersion of a {kind} must be {}, found {found:?}", .kind.api_version())]
    WrongApiVersion { at: Place, kind: Kind, found: String },
    /// What is wrong with the fields of one document: at most a hundred unknown ones, and the first that cannot be
    /// decoded. Never empty.
    #[error("{}", lines(.0))]
    Fields(Vec<FieldFault>),
}

/// One field that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault {
    pub at: Place,
    /// The field's path in upstream's notation, `spec.containers[0].name`.
    pub field: String,
    pub kind: FieldFaultKind,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldFaultKind {
    /// No such field; perhaps this one was meant.
    Unknown { suggestion: Option<&'static str> },
    /// A value of the wrong type or out of its type's range.
    Malformed { message: String },
    /// The pod template itself is missing.
    Required,
    /// The typed objects would take too much memory.
    TooMany { max_fields: usize },
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FieldFault { at, field, kind } = self;
        match kind {
            FieldFaultKind::Unknown { suggestion: None } => write!(f, "{at}: unknown field {field:?}"),
            FieldFaultKind::Unknown { suggestion: Some(meant) } => {
                write!(f, "{at}: unknown field {field:?}, did you mean {meant:?}?")
            }
            FieldFaultKind::Malformed { message } => write!(f, "{at}: {field}: Invalid value: {message}"),
            FieldFaultKind::Required => write!(f, "{at}: {field}: Required value"),
            FieldFaultKind::TooMany { max_fields } => {
                write!(
                    f,
                    "{at}: {field}: the objects up to here have more than {max_fields} fields, the most that is read"
                )
            }
        }
    }
}

fn lines(faults: &[FieldFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
