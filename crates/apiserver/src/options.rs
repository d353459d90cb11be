//! The options of each verb, read from the query and, for deletes, from the body.
//!
//! Parameters nobody knows are ignored. A known one that cannot be read is a 400 with the words of Go's parser, which is
//! what clients have always been shown; one that can be read and makes no sense is a 422 about the options.

mod delete;
mod list;
#[cfg(test)]
mod tests;
mod write;

use model::field::{Errors, Path, go_quoted};
use serde_json::Value;
use thiserror::Error;

pub use delete::{DeleteRequest, parse_delete};
pub use list::{
    Bookmarks, GetOptions, InitialEvents, ListOptions, ResourceVersion, Selection, VersionMatch, WatchOptions,
    parse_get, parse_list, parse_watch,
};
pub use write::{FieldValidation, WriteOptions, WriteVerb, parse_write};

use crate::query::Query;
use crate::status::{Qualified, Status};

/// Why options were refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionsError {
    /// Something could not be read.
    #[error("{0}")]
    Malformed(String),
    /// Everything could be read, but not all of it makes sense together.
    #[error("{kind}: {errors}")]
    Invalid { kind: &'static str, errors: Errors },
}

impl From<OptionsError> for Status {
    fn from(error: OptionsError) -> Status {
        match error {
            OptionsError::Malformed(why) => Status::bad_request(why),
            OptionsError::Invalid { kind, errors } => Status::invalid(Qualified::new("meta.k8s.io", kind), "", &errors),
        }
    }
}

/// Whether the request is carried out or only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    No,
    All,
}

/// What each row of a table carries besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    None,
    Metadata,
    Object,
}

/// How much of its object a row of a table carries.
pub fn parse_include_object(query: &Query) -> Result<IncludeObject, OptionsError> {
    match query.first("includeObject") {
        None | Some("" | "Metadata") => Ok(IncludeObject::Metadata),
        Some("None") => Ok(IncludeObject::None),
        Some("Object") => Ok(IncludeObject::Object),
        Some(other) => Err(OptionsError::Malformed(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty",
            go_quoted(other)
        ))),
    }
}

/// Refuses with everything that was wrong, or goes on.
fn verdict(kind: &'static str, errors: Errors) -> Result<(), OptionsError> {
    if errors.is_empty() { Ok(()) } else { Err(OptionsError::Invalid { kind, errors }) }
}

/// `All` is the only way to ask for a dry run; every value is looked at.
fn dry_run(values: &[String], errors: &mut Errors) -> DryRun {
    if values.iter().any(|value| value != "All") {
        errors.not_supported(Path::root().child("dryRun"), Value::from(values), &["All"]);
    }
    if values.is_empty() { DryRun::No } else { DryRun::All }
}

/// A whole number, read as Go reads it.
fn integer(query: &Query, name: &str) -> Result<Option<i64>, OptionsError> {
    let Some(text) = query.first(name) else { return Ok(None) };
    text.parse().map(Some).map_err(|error| OptionsError::Malformed(go_number_error("ParseInt", text, &error)))
}

/// What Go's `strconv` says about such a text.
fn go_number_error(function: &str, text: &str, error: &std::num::ParseIntError) -> String {
    let why = match error.kind() {
        std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {}: {why}", go_quoted(text))
}
