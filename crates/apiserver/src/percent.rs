//! Percent-decoding as strict as Go's: a malformed escape is an error, where the usual crates let it through.

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
    fn escapes_are_decoded_and_malformed_ones_refused() {
        assert_eq!(decode("a%2Fb%2f%25").as_deref(), Some(&b"a/b/%"[..]));
        for malformed in ["%", "%2", "%zz", "a%2", "%é"] {
            assert_eq!(decode(malformed), None, "{malformed}");
        }
    }
}
