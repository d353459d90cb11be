//! From bytes to the text of single documents, each with its place in the file.
//!
//! YAML is cut at its document markers, which cannot stand anywhere else at the start of a line; JSON is cut where one
//! value ends and the next begins.

use serde::de::IgnoredAny;

use super::{Format, Limits, ManifestError, Place};

/// The text of one document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub format: Format,
    /// Where `text` starts in the file, from 1.
    pub line: usize,
    pub column: usize,
}

impl Source<'_> {
    /// The place in the file of a place in `text`.
    pub fn place(&self, document: usize, line: usize, column: usize) -> Place {
        let column = if line <= 1 { self.column + column - 1 } else { column };
        Place { document: Some(document), line: self.line + line.max(1) - 1, column }
    }
}

/// The bytes as text, without a byte order mark.
pub(super) fn text<'a>(bytes: &'a [u8], limits: &Limits) -> Result<&'a str, ManifestError> {
    if bytes.len() > limits.max_bytes {
        return Err(ManifestError::TooLarge { max_bytes: limits.max_bytes });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let offset = error.valid_up_to();
            let before = String::from_utf8_lossy(&bytes[..offset]);
            let (line, column) = end_of(&before);
            let at = Place { document: None, line, column };
            Err(ManifestError::NotUtf8 { at, offset, byte: bytes[offset] })
        }
    }
}

/// Cuts a file into documents. Those that hold only comments and markers are left out.
pub(super) fn split(text: &str) -> Result<Vec<Source<'_>>, ManifestError> {
    if looks_like_json(text) { split_json(text) } else { Ok(split_yaml(text)) }
}

/// `{` and then a quoted key or the end of the object: a YAML flow mapping with plain keys is not JSON.
fn looks_like_json(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('{') else { return false };
    matches!(rest.trim_start().as_bytes().first(), None | Some(b'"' | b'}'))
}

fn split_json(text: &str) -> Result<Vec<Source<'_>>, ManifestError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut sources = Vec::new();
    let (mut end, mut line, mut column) = (0, 1, 1);
    while let Some(value) = values.next() {
        if let Err(error) = value {
            let (line, column) = place_of(&error, text);
            let at = Place { document: Some(sources.len() + 1), line, column };
            return Err(ManifestError::Syntax { at, format: Format::Json, message: without_place(&error) });
        }
        let start = end + text[end..].len() - text[end..].trim_start().len();
        (line, column) = advance(&text[end..start], line, column);
        end = values.byte_offset();
        sources.push(Source { text: &text[start..end], format: Format::Json, line, column });
        (line, column) = advance(&text[start..end], line, column);
    }
    Ok(sources)
}

fn split_yaml(text: &str) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    let mut part = Part { start: 0, line: 1, opened: false, filled: false };
    let mut offset = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let ends = is_marker(line, "...");
        if is_marker(line, "---") && part.opened {
            sources.extend(part.cut(text, offset));
            part = Part { start: offset, line: i + 1, opened: false, filled: false };
        }
        offset += line.len();
        part.take(line);
        if ends {
            sources.extend(part.cut(text, offset));
            part = Part { start: offset, line: i + 2, opened: false, filled: false };
        }
    }
    sources.extend(part.cut(text, offset));
    sources
}

/// A document whose end is not known yet.
struct Part {
    start: usize,
    line: usize,
    /// Something other than comments and directives stands in it; until then `---` opens it and ends nothing.
    opened: bool,
    /// Something other than comments and markers stands in it; if nothing does, there is nothing to parse.
    filled: bool,
}

impl Part {
    fn take(&mut self, line: &str) {
        let rest = ["---", "..."].into_iter().find(|marker| is_marker(line, marker)).map_or(line, |_| &line[3..]);
        let blank = rest.trim().is_empty() || rest.trim_start().starts_with('#');
        self.opened |= rest.len() < line.len() || !(blank || line.starts_with('%'));
        self.filled |= !blank;
    }

    fn cut<'a>(&self, text: &'a str, end: usize) -> Option<Source<'a>> {
        let text = &text[self.start..end];
        self.filled.then_some(Source { text, format: Format::Yaml, line: self.line, column: 1 })
    }
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// What serde_json says, without the place that it appends.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Where serde_json found a mistake; it counts columns in bytes, and from 0 in a line that ends too early.
pub(super) fn place_of(error: &serde_json::Error, text: &str) -> (usize, usize) {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = line.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or_default();
    (error.line().max(1), String::from_utf8_lossy(before).chars().count() + 1)
}

/// The line and column just after `text`.
fn end_of(text: &str) -> (usize, usize) {
    advance(text, 1, 1)
}

fn advance(text: &str, line: usize, column: usize) -> (usize, usize) {
    match text.rfind('\n') {
        None => (line, column + text.chars().count()),
        Some(at) => (line + text.matches('\n').count(), text[at + 1..].chars().count() + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(&str, usize, usize)> {
        split(text).unwrap().iter().map(|s| (s.text, s.line, s.column)).collect()
    }

    #[test]
    fn yaml_is_cut_at_document_markers() {
        assert_eq!(cut("a: 1\n---\nb: 2\n"), [("a: 1\n", 1, 1), ("---\nb: 2\n", 2, 1)]);
        assert_eq!(cut("# c\n---\na: 1\n"), [("# c\n---\na: 1\n", 1, 1)]);
        assert_eq!(cut("%YAML 1.2\n---\na: 1\n"), [("%YAML 1.2\n---\na: 1\n", 1, 1)]);
        assert_eq!(cut("---\n# c\n---\na: 1"), [("---\na: 1", 3, 1)]);
        assert_eq!(cut("--- # c\n--- x\n"), [("--- x\n", 2, 1)]);
        assert_eq!(cut("a: 1\n...\nb: 2\n"), [("a: 1\n...\n", 1, 1), ("b: 2\n", 3, 1)]);
        assert_eq!(cut("a: 1\n...\n---\nb: 2\n"), [("a: 1\n...\n", 1, 1), ("---\nb: 2\n", 3, 1)]);
        assert_eq!(cut("%BAD\n"), [("%BAD\n", 1, 1)]);
        assert_eq!(cut("a: |\n  x\n  --- y\n---- : 1\n").len(), 1);
    }

    #[test]
    fn json_is_cut_where_a_value_ends() {
        assert_eq!(cut("{}\n  {\"a\":1}{}"), [("{}", 1, 1), ("{\"a\":1}", 2, 3), ("{}", 2, 10)]);
    }

    #[test]
    fn a_flow_mapping_with_plain_keys_is_not_json() {
        assert_eq!(split("{a: 1}").unwrap()[0].format, Format::Yaml);
        assert_eq!(split(" { \"a\": 1}").unwrap()[0].format, Format::Json);
    }
}
