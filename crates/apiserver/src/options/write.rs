//! Options of the verbs that write an object: create, update, patch.

use model::field::{Errors, Path, go_quoted};

use super::{DryRun, OptionsError, dry_run, verdict};
use crate::query::Query;

/// The longest name of a field manager, in bytes.
const MAX_FIELD_MANAGER_BYTES: usize = 128;

/// Which verb the options belong to; a refusal names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    Create,
    Update,
    /// Any patch that is not an apply.
    Patch,
}

impl WriteVerb {
    const fn options_kind(self) -> &'static str {
        match self {
            WriteVerb::Create => "CreateOptions",
            WriteVerb::Update => "UpdateOptions",
            WriteVerb::Patch => "PatchOptions",
        }
    }
}

/// What happens to fields nobody knows, and to fields given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    /// The default.
    Warn,
    Strict,
}

/// How an object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    pub dry_run: DryRun,
    pub field_validation: FieldValidation,
    /// Who owns the fields written; unset means what the user agent says.
    pub field_manager: Option<String>,
}

pub fn parse_write(query: &Query, verb: WriteVerb) -> Result<WriteOptions, OptionsError> {
    let root = Path::root();
    let mut errors = Errors::new();
    match verb {
        WriteVerb::Create | WriteVerb::Update => {}
        WriteVerb::Patch => {
            if query.first("force").is_some() {
                errors.forbidden(root.child("force"), "may not be specified for non-apply patch");
            }
        }
    }
    let manager = query.first("fieldManager").unwrap_or_default();
    check_field_manager(manager, &mut errors);
    let values: Vec<String> = query.all("dryRun").map(str::to_owned).collect();
    let dry_run = dry_run(&values, &mut errors);
    let field_validation = match query.first("fieldValidation") {
        None | Some("" | "Warn") => FieldValidation::Warn,
        Some("Ignore") => FieldValidation::Ignore,
        Some("Strict") => FieldValidation::Strict,
        Some(other) => {
            errors.not_supported(root.child("fieldValidation"), other, &["", "Ignore", "Strict", "Warn"]);
            FieldValidation::Warn
        }
    };
    verdict(verb.options_kind(), errors)?;
    let field_manager = Some(manager).filter(|manager| !manager.is_empty()).map(str::to_owned);
    Ok(WriteOptions { dry_run, field_validation, field_manager })
}

fn check_field_manager(manager: &str, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("fieldManager");
    if manager.len() > MAX_FIELD_MANAGER_BYTES {
        errors.too_long(path, MAX_FIELD_MANAGER_BYTES);
        // Upstream goes on to name every character of a text of any length; that it is too long says enough.
        return;
    }
    for (position, c) in manager.char_indices().filter(|(_, c)| !is_printable(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(c));
        errors.invalid(path, manager, &detail);
    }
}

/// Whether Go would print the character as it is: its quoted form has nothing to escape but what quoting itself needs.
fn is_printable(c: char) -> bool {
    matches!(c, '"' | '\\') || !go_quoted(c.encode_utf8(&mut [0; 4])).contains('\\')
}
