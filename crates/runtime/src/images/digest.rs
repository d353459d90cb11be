//! What content is called: the SHA-256 of its bytes, as registries and archives write it.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use thiserror::Error;

const ALGORITHM: &str = "sha256";
const HEX_LENGTH: usize = 64;

/// Why a text is no digest.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DigestError {
    #[error("digest {0:?} has no algorithm: write it as sha256:<64 hexadecimal digits>")]
    NoAlgorithm(String),
    #[error("digest algorithm {0:?} is not supported: only sha256 is")]
    Algorithm(String),
    #[error("digest {0:?} must have 64 lower-case hexadecimal digits")]
    Digits(String),
}

/// The SHA-256 of some content; ordered as its text is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digits alone: a file name.
    pub fn hex(&self) -> String {
        self.0.iter().fold(String::with_capacity(HEX_LENGTH), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Reads the digits alone.
    pub fn from_hex(hex: &str) -> Result<Digest, DigestError> {
        let refused = || DigestError::Digits(hex.to_owned());
        let lower = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if hex.len() != HEX_LENGTH || !hex.bytes().all(lower) {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).map_err(|_| refused())?;
        }
        Ok(Digest(bytes))
    }

    /// The chain id of a layer on top of others: shared trees are named after everything below them, too.
    pub fn chained(below: Option<&Digest>, diff_id: &Digest) -> Digest {
        match below {
            None => *diff_id,
            Some(below) => Digest::of(format!("{below} {diff_id}").as_bytes()),
        }
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        match text.split_once(':') {
            Some((ALGORITHM, hex)) => Digest::from_hex(hex),
            Some((algorithm, _)) => Err(DigestError::Algorithm(algorithm.to_owned())),
            None => Err(DigestError::NoAlgorithm(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Digest, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A digest in the making.
#[derive(Clone)]
pub struct Hasher(Context);

impl Default for Hasher {
    fn default() -> Hasher {
        Hasher(Context::new(&SHA256))
    }
}

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Digest {
        let finished = self.0.finish();
        let mut bytes = [0; 32];
        bytes.copy_from_slice(finished.as_ref());
        Digest(bytes)
    }
}

/// Passes bytes on and notes their digest and number.
pub struct HashingReader<R> {
    inner: R,
    hasher: Hasher,
    length: u64,
}

impl<R: Read> HashingReader<R> {
    pub fn new(inner: R) -> HashingReader<R> {
        HashingReader { inner, hasher: Hasher::default(), length: 0 }
    }

    /// What has been read so far: its digest and its length.
    pub fn finish(self) -> (Digest, u64) {
        (self.hasher.finish(), self.length)
    }

    pub fn length(&self) -> u64 {
        self.length
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.length += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_reads_back_as_it_was_written() {
        assert_eq!(Digest::of(b"").to_string(), EMPTY);
        assert_eq!(EMPTY.parse::<Digest>(), Ok(Digest::of(b"")));
        let (digest, length) = {
            let mut reader = HashingReader::new(&b"abc"[..]);
            io::copy(&mut reader, &mut io::sink()).unwrap();
            reader.finish()
        };
        assert_eq!((digest, length), (Digest::of(b"abc"), 3));
    }

    #[test]
    fn what_is_no_digest_is_refused_with_its_reason() {
        let rows = [
            ("abc", DigestError::NoAlgorithm("abc".into())),
            ("md5:abc", DigestError::Algorithm("md5".into())),
            ("sha256:ABC", DigestError::Digits("ABC".into())),
            ("sha256:../../etc/passwd", DigestError::Digits("../../etc/passwd".into())),
        ];
        for (text, error) in rows {
            assert_eq!(text.parse::<Digest>(), Err(error), "{text}");
        }
        assert!(EMPTY.to_uppercase().replace("SHA256", "sha256").parse::<Digest>().is_err());
    }

    #[test]
    fn a_chain_id_depends_on_everything_below() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        assert_eq!(Digest::chained(None, &a), a);
        assert_eq!(Digest::chained(Some(&a), &b), Digest::of(format!("{a} {b}").as_bytes()));
    }
}
