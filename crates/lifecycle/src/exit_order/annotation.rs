//! Reads `kruise.io/container-exit-priority`: one JSON object, container name to integer, nothing more.
//!
//! Stricter than JSON on purpose: a duplicate name, `1.0`, `1e2`, `-0` or anything after the object is refused, and
//! every refusal says where. Accepting or refusing is a function of the bytes alone.

use std::collections::BTreeMap;

use thiserror::Error;

use super::PRIORITY_ANNOTATION;

/// Annotations of a whole object may hold 256 KiB; one value cannot be larger.
pub const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// Why the annotation was refused. Offsets count bytes from the start of the value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AnnotationError {
    #[error("{PRIORITY_ANNOTATION}: must be one JSON object from container name to integer (byte {offset})")]
    NotAnObject { offset: usize },
    #[error("{PRIORITY_ANNOTATION}: {expected} expected (byte {offset})")]
    Syntax { expected: &'static str, offset: usize },
    #[error("{PRIORITY_ANNOTATION}: container {container:?} is named twice (byte {offset})")]
    Duplicate { container: String, offset: usize },
    #[error("{PRIORITY_ANNOTATION}: value for {container:?} is not an integer (byte {offset})")]
    NotAnInteger { container: String, offset: usize },
    #[error("{PRIORITY_ANNOTATION}: value for {container:?} is outside -2147483648..2147483647 (byte {offset})")]
    OutOfRange { container: String, offset: usize },
    #[error("{PRIORITY_ANNOTATION}: nothing may follow the object (byte {offset})")]
    Trailing { offset: usize },
    #[error("{PRIORITY_ANNOTATION}: may not be longer than {MAX_ANNOTATION_BYTES} bytes")]
    TooLong,
}

/// Why the text of one rank was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankTextError {
    NotAnInteger,
    OutOfRange,
}

/// Reads the annotation's value.
pub fn parse(text: &str) -> Result<BTreeMap<String, i32>, AnnotationError> {
    if text.len() > MAX_ANNOTATION_BYTES {
        return Err(AnnotationError::TooLong);
    }
    let mut reader = Reader { text, at: 0 };
    let ranks = reader.object()?;
    reader.skip_blanks();
    if reader.at < text.len() { Err(AnnotationError::Trailing { offset: reader.at }) } else { Ok(ranks) }
}

/// Reads one rank: an optional `-`, then digits without leading zeros, within 32 bits; `-0` is refused.
pub fn parse_rank(text: &str) -> Result<i32, RankTextError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    if !plain || padded || text == "-0" {
        return Err(RankTextError::NotAnInteger);
    }
    text.parse().map_err(|_| RankTextError::OutOfRange)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn object(&mut self) -> Result<BTreeMap<String, i32>, AnnotationError> {
        self.skip_blanks();
        if !self.eat(b'{') {
            return Err(AnnotationError::NotAnObject { offset: self.at });
        }
        let mut ranks = BTreeMap::new();
        self.skip_blanks();
        if self.eat(b'}') {
            return Ok(ranks);
        }
        loop {
            self.entry(&mut ranks)?;
            self.skip_blanks();
            if self.eat(b'}') {
                return Ok(ranks);
            }
            self.expect(b',', "\",\" or \"}\"")?;
        }
    }

    fn entry(&mut self, ranks: &mut BTreeMap<String, i32>) -> Result<(), AnnotationError> {
        self.skip_blanks();
        let name_at = self.at;
        let container = self.string()?;
        self.skip_blanks();
        self.expect(b':', "\":\"")?;
        self.skip_blanks();
        let offset = self.at;
        let rank = match parse_rank(self.scalar()) {
            Ok(rank) => rank,
            Err(RankTextError::NotAnInteger) => return Err(AnnotationError::NotAnInteger { container, offset }),
            Err(RankTextError::OutOfRange) => return Err(AnnotationError::OutOfRange { container, offset }),
        };
        match ranks.insert(container.clone(), rank) {
            None => Ok(()),
            Some(_) => Err(AnnotationError::Duplicate { container, offset: name_at }),
        }
    }

    /// A JSON string, unescaped by the JSON library; only its end is found here.
    fn string(&mut self) -> Result<String, AnnotationError> {
        let start = self.at;
        let expected = AnnotationError::Syntax { expected: "a container name in double quotes", offset: start };
        if !self.eat(b'"') {
            return Err(expected);
        }
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return serde_json::from_str(&self.text[start..self.at]).map_err(|_| expected),
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        Err(expected)
    }

    /// The text up to whatever ends a value.
    fn scalar(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|byte| !matches!(byte, b',' | b'}' | b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), AnnotationError> {
        if self.eat(byte) { Ok(()) } else { Err(AnnotationError::Syntax { expected, offset: self.at }) }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(text: &str) -> Vec<(String, i32)> {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).into_iter().collect()
    }

    /// R1, R2, R7
    #[test]
    fn an_object_of_integers_is_accepted() {
        assert_eq!(ranks("{}"), []);
        assert_eq!(ranks(" {\n} "), []);
        assert_eq!(ranks(r#"{"envoy": 1,"log-agent":2}"#), [("envoy".into(), 1), ("log-agent".into(), 2)]);
        assert_eq!(ranks(r#"{"a":-5}"#), [("a".into(), -5)]);
        assert_eq!(ranks("{\"\\u0061\":\t0\r\n}"), [("a".into(), 0)]);
    }

    /// R3
    #[test]
    fn anything_but_one_object_is_denied() {
        for text in
            ["", "null", "[]", "1", "x", "\"a\"", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["{}{}", "{} x", "{\"a\":1}}", "{},"] {
            assert!(matches!(parse(text), Err(AnnotationError::Trailing { .. })), "{text}");
        }
        let duplicate = parse(r#"{"a":1, "\u0061":1}"#).unwrap_err();
        assert_eq!(duplicate, AnnotationError::Duplicate { container: "a".into(), offset: 8 });
    }

    /// R4
    #[test]
    fn values_that_are_not_plain_integers_are_denied() {
        let values =
            ["\"2\"", "true", "null", "{}", "[1]", "1.0", "1e2", "1E2", "-0", "01", "+1", "0x1", "1_0", "--1", "-", ""];
        for value in values {
            let error = parse(&format!("{{\"envoy\":{value}}}")).unwrap_err();
            assert!(matches!(error, AnnotationError::NotAnInteger { .. }), "{value}: {error}");
        }
    }

    /// R5
    #[test]
    fn the_range_is_signed_32_bit() {
        assert_eq!(ranks(r#"{"a":2147483647,"b":-2147483648}"#), [("a".into(), i32::MAX), ("b".into(), i32::MIN)]);
        for value in ["2147483648", "-2147483649", "9999999999999999999999"] {
            let error = parse(&format!("{{\"a\":{value}}}")).unwrap_err();
            assert_eq!(error, AnnotationError::OutOfRange { container: "a".into(), offset: 5 });
        }
    }

    /// R9
    #[test]
    fn a_denial_names_key_container_and_byte_offset() {
        let error = parse(r#"{"main":0,"envoy":"2"}"#).unwrap_err().to_string();
        assert_eq!(error, "kruise.io/container-exit-priority: value for \"envoy\" is not an integer (byte 18)");
    }

    /// R12
    #[test]
    fn random_text_never_panics_and_gives_the_same_answer_twice() {
        let alphabet: Vec<char> = "{}\"\\:, \n-+0129aAenvoyu\u{0}\u{e9}\u{1f600}[]tf.".chars().collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..10_000 {
            let mut text = String::from("{\"");
            for _ in 0..(state >> 33) % 24 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push(alphabet[(state >> 33) as usize % alphabet.len()]);
            }
            state = state.wrapping_add(0x1234_5678_9abc_def1);
            assert_eq!(parse(&text), parse(&text));
        }
    }
}
