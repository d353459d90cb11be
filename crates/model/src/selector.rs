//! Which objects a request or an owner means: selectors over labels and over fields.
//!
//! [`Labels`] is read from the text of a query string (`app=web,tier in (a,b),!old`) or from a `LabelSelector` object;
//! [`Fields`] from the text of a query string (`spec.nodeName=n1,status.phase!=Running`), and is then bound to the
//! fields that the kind can be selected by. Syntax, validation and error texts are upstream's.

mod fields;
mod labels;
mod labels_text;
mod supported;

pub use fields::{Fields, Term, TermOperator};
pub use labels::{Labels, Operator, Requirement};
pub use supported::supported_fields;

/// Why a selector cannot be used. An API server answers every one of them with 400.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A label selector has something where something else belongs. `wanted` starts with its separator.
    #[error("found '{found}'{wanted}")]
    Unexpected { found: String, wanted: &'static str },
    /// One requirement of a label selector does not read.
    #[error("unable to parse requirement: {0}")]
    Unreadable(Box<SelectorError>),
    /// A requirement reads, but its key or values are not allowed.
    #[error("{0}")]
    Invalid(String),
    /// A `LabelSelector` object names an operator that is none.
    #[error("{} is not a valid label selector operator", crate::field::go_quoted(.0))]
    UnknownOperator(String),
    /// A term of a field selector has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    NoOperator { selector: String, term: String },
    /// A value of a field selector escapes what cannot be escaped.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    BadEscape(String),
    /// A value of a field selector holds a bare `,` or `=`. Upstream shows its code point.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
    /// Objects of this kind cannot be selected by the field.
    #[error("{0}")]
    UnsupportedField(String),
}

#[cfg(test)]
mod tests;
