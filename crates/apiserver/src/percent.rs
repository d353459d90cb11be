//! Percent-encoding, and decoding as strict as Go's: a malformed escape is an error, where the usual crates let it through.

/// Decodes every `%xx`; `None` if one of them is malformed.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = hex(bytes.next()?)?;
            let low = hex(bytes.next()?)?;
            decoded.push(high << 4 | low);
        } else {
            decoded.push(byte);
        }
    }
    Some(decoded)
}

/// Encodes everything that has a meaning of its own in a path segment or in a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_to_the_same() {
        assert_eq!(encode("a b/c&d=é+%"), "a%20b%2Fc%26d%3D%C3%A9%2B%25");
        assert_eq!(decode(&encode("a b/c&d=é+%")).as_deref(), Some("a b/c&d=é+%".as_bytes()));
    }

    #[test]
    fn escapes_are_decoded_and_malformed_ones_refused() {
        assert_eq!(decode("a%2Fb%2f%25").as_deref(), Some(&b"a/b/%"[..]));
        for malformed in ["%", "%2", "%zz", "a%2", "%é"] {
            assert_eq!(decode(malformed), None, "{malformed}");
        }
    }
}
