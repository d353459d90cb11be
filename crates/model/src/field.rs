//! Where in an object something is wrong, and how to say so in upstream's words.
//!
//! A [`Path`] borrows its parent, so walking a valid object allocates nothing; text is made only when an error is
//! recorded. An [`Error`] renders as the API server renders it: `path: Invalid value: V: detail`.

use std::fmt;

use serde_json::Value;

/// The way from the root of an object to one of its fields.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The object itself; its children are written without a leading dot.
    pub const fn root() -> Path<'static> {
        Path { parent: None, step: Step::Root }
    }

    /// A named field below this one. `name` may hold dots (`spec.template`).
    pub const fn child(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// An element of the list at this path.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of the map at this path.
    pub const fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => {
                let first = self.parent.is_none_or(|p| matches!(p.step, Step::Root));
                if first { f.write_str(name) } else { write!(f, ".{name}") }
            }
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

impl fmt::Debug for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What kind of mistake a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TypeInvalid,
    Internal,
}

impl ErrorKind {
    /// The machine-readable reason, as in the causes of a Kubernetes `Status`.
    pub const fn reason(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "FieldValueNotFound",
            ErrorKind::Required => "FieldValueRequired",
            ErrorKind::Duplicate => "FieldValueDuplicate",
            ErrorKind::Invalid => "FieldValueInvalid",
            ErrorKind::NotSupported => "FieldValueNotSupported",
            ErrorKind::Forbidden => "FieldValueForbidden",
            ErrorKind::TooLong => "FieldValueTooLong",
            ErrorKind::TooMany => "FieldValueTooMany",
            ErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            ErrorKind::Internal => "InternalError",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "Not found",
            ErrorKind::Required => "Required value",
            ErrorKind::Duplicate => "Duplicate value",
            ErrorKind::Invalid | ErrorKind::TypeInvalid => "Invalid value",
            ErrorKind::NotSupported => "Unsupported value",
            ErrorKind::Forbidden => "Forbidden",
            ErrorKind::TooLong => "Too long",
            ErrorKind::TooMany => "Too many",
            ErrorKind::Internal => "Internal error",
        }
    }
}

/// One mistake in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// The field's path in upstream's notation, `spec.containers[0].name`.
    pub field: String,
    /// The message without the path: `Invalid value: 0: must be greater than 0`.
    pub message: String,
}

impl Error {
    /// The machine-readable reason, as in the causes of a Kubernetes `Status`.
    pub const fn reason(&self) -> &'static str {
        self.kind.reason()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for Error {}

/// The value shown in an error. Upstream quotes plain texts as Go does and everything else as JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum BadValue {
    Text(String),
    Json(Value),
    /// A structure whose fields are shown in this order.
    Ordered(Vec<(&'static str, BadValue)>),
}

impl From<&str> for BadValue {
    fn from(text: &str) -> Self {
        BadValue::Text(text.to_owned())
    }
}

impl From<String> for BadValue {
    fn from(text: String) -> Self {
        BadValue::Text(text)
    }
}

impl From<&String> for BadValue {
    fn from(text: &String) -> Self {
        BadValue::Text(text.clone())
    }
}

macro_rules! bad_value_from {
    ($($from:ty),*) => {
        $(impl From<$from> for BadValue {
            fn from(value: $from) -> Self {
                BadValue::Json(value.into())
            }
        })*
    };
}

bad_value_from!(Value, bool, i32, i64, usize);

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadValue::Text(text) => f.write_str(&go_quoted(text)),
            BadValue::Json(value) => f.write_str(&go_json(value)),
            BadValue::Ordered(fields) => {
                for (i, (name, value)) in fields.iter().enumerate() {
                    let before = if i == 0 { '{' } else { ',' };
                    write!(f, "{before}\"{name}\":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Quotes as Go's `%q` does.
pub fn go_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            _ if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\'' => out.push(c),
            _ if is_printable(c) => out.push(c),
            _ if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            _ => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Whether the standard library would show the character as it is. Behind another one, so that a combining mark
/// counts as printable, as Go has it.
fn is_printable(c: char) -> bool {
    !format!("a{c}").escape_debug().any(|escaped| escaped == '\\')
}

/// JSON as Go's encoder writes it: safe to embed in HTML.
fn go_json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

/// Every mistake found so far, in the order in which they were found. Validation never stops at the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(Vec<Error>);

impl Errors {
    pub const fn new() -> Self {
        Errors(Vec::new())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.0.iter()
    }

    /// `Ok` if nothing was wrong.
    pub fn into_result(self) -> Result<(), Errors> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub fn required(&mut self, path: Path<'_>, detail: &str) {
        self.push(ErrorKind::Required, path, None, detail);
    }

    pub fn invalid(&mut self, path: Path<'_>, value: impl Into<BadValue>, detail: &str) {
        self.push(ErrorKind::Invalid, path, Some(value.into()), detail);
    }

    pub fn duplicate(&mut self, path: Path<'_>, value: impl Into<BadValue>) {
        self.push(ErrorKind::Duplicate, path, Some(value.into()), "");
    }

    pub fn duplicate_because(&mut self, path: Path<'_>, value: impl Into<BadValue>, detail: &str) {
        self.push(ErrorKind::Duplicate, path, Some(value.into()), detail);
    }

    pub fn not_found(&mut self, path: Path<'_>, value: impl Into<BadValue>) {
        self.push(ErrorKind::NotFound, path, Some(value.into()), "");
    }

    pub fn not_found_because(&mut self, path: Path<'_>, value: impl Into<BadValue>, detail: &str) {
        self.push(ErrorKind::NotFound, path, Some(value.into()), detail);
    }

    /// One `Invalid` for each complaint about the same value.
    pub fn invalid_each(&mut self, path: Path<'_>, value: &str, complaints: &[String]) {
        for complaint in complaints {
            self.invalid(path, value, complaint);
        }
    }

    pub fn forbidden(&mut self, path: Path<'_>, detail: &str) {
        self.push(ErrorKind::Forbidden, path, None, detail);
    }

    pub fn internal(&mut self, path: Path<'_>, detail: &str) {
        self.push(ErrorKind::Internal, path, None, detail);
    }

    /// `supported` is listed in the order given.
    pub fn not_supported<S: AsRef<str>>(&mut self, path: Path<'_>, value: impl Into<BadValue>, supported: &[S]) {
        let quoted: Vec<String> = supported.iter().map(|s| go_quoted(s.as_ref())).collect();
        let detail = if quoted.is_empty() { String::new() } else { format!("supported values: {}", quoted.join(", ")) };
        self.push(ErrorKind::NotSupported, path, Some(value.into()), &detail);
    }

    pub fn too_long(&mut self, path: Path<'_>, max_bytes: usize) {
        self.push(
            ErrorKind::TooLong,
            path,
            None,
            &format!("may not be more than {max_bytes} {}", plural(max_bytes, "byte")),
        );
    }

    pub fn too_many(&mut self, path: Path<'_>, actual: usize, max: usize) {
        self.push(
            ErrorKind::TooMany,
            path,
            Some(actual.into()),
            &format!("must have at most {max} {}", plural(max, "item")),
        );
    }

    fn push(&mut self, kind: ErrorKind, path: Path<'_>, value: Option<BadValue>, detail: &str) {
        let mut message = kind.words().to_owned();
        if let Some(value) = value {
            message.push_str(&format!(": {value}"));
        }
        if !detail.is_empty() {
            message.push_str(": ");
            message.push_str(detail);
        }
        self.0.push(Error { kind, field: path.to_string(), message });
    }
}

fn plural(count: usize, one: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{one}s") }
}

impl IntoIterator for Errors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Extend<Error> for Errors {
    fn extend<I: IntoIterator<Item = Error>>(&mut self, more: I) {
        self.0.extend(more);
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_upstream_writes_it() {
        let root = Path::root();
        let spec = root.child("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        let limits = first.child("resources").child("limits").key("cpu").to_string();
        assert_eq!(limits, "spec.containers[0].resources.limits[cpu]");
    }

    #[test]
    fn errors_render_as_upstream_renders_them() {
        let root = Path::root();
        let path = root.child("spec");
        let mut errors = Errors::new();
        errors.required(path, "");
        errors.required(path, "must specify a handler type");
        errors.invalid(path, 40, "must be less");
        errors.not_supported(path, "B", &["A", "C"]);
        errors.forbidden(path, "no");
        errors.too_long(path, 1);
        errors.too_many(path, 3, 2);
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "spec: Required value",
                "spec: Required value: must specify a handler type",
                "spec: Invalid value: 40: must be less",
                "spec: Unsupported value: \"B\": supported values: \"A\", \"C\"",
                "spec: Forbidden: no",
                "spec: Too long: may not be more than 1 byte",
                "spec: Too many: 3: must have at most 2 items",
            ]
        );
    }

    #[test]
    fn texts_are_quoted_as_go_quotes_them_and_other_values_as_json() {
        let shown = |value: BadValue| value.to_string();
        assert_eq!(
            shown("a\"\\\n\u{1}é'\u{301}\u{200b}\u{e0001}<".into()),
            r#""a\"\\\n\x01é'\u{301}\u200b\U000e0001<""#.replace("\\u{301}", "\u{301}")
        );
        assert_eq!(shown(Value::from("a<").into()), r#""a\u003c""#);
        assert_eq!(shown(i64::MIN.into()), "-9223372036854775808");
    }
}
