//! The compact form of a signed token: three segments, the last of which proves the first two.
//!
//! The length is bounded before anything is read. Nothing of a payload is believed before its signature was checked,
//! except the issuer's name, to tell foreign tokens from broken ones.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::claims::Claims;
use super::key::{KeyError, SigningKey, VerifyingKey};
use super::verify::VerifyError;
use crate::secret::Secret;

/// Tokens issued here stay below two kilobytes, unless their audiences are very many.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;
pub(super) const ALGORITHM: &str = "ES256";

#[derive(Serialize)]
struct OwnHeader<'a> {
    alg: &'a str,
    kid: &'a str,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: String,
    /// Extensions that must be understood; none are.
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct IssuerOnly {
    #[serde(default)]
    iss: String,
}

/// What a token says of itself. Nothing of it is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    pub key_id: String,
    pub claims: Claims,
}

/// Reads a token without believing it. For diagnosis, and for fuzzing what stands behind the signature.
pub fn read_unverified(token: &[u8]) -> Result<Unverified, VerifyError> {
    let segments = Segments::split(token)?;
    let (header, claims) = (segments.header()?, segments.claims()?);
    Ok(Unverified { key_id: header.kid, claims })
}

pub(super) fn sign(key: &SigningKey, claims: &Claims) -> Result<Secret, KeyError> {
    let header = OwnHeader { alg: ALGORITHM, kid: key.verifying_key().id() };
    // Both are plain structs with text keys, which serde_json cannot fail on.
    let encode = |json: Result<Vec<u8>, serde_json::Error>| URL_SAFE_NO_PAD.encode(json.unwrap_or_default());
    let signed = format!("{}.{}", encode(serde_json::to_vec(&header)), encode(serde_json::to_vec(claims)));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?);
    Ok(Secret::new(format!("{signed}.{signature}")))
}

/// The claims of a token of this issuer that one of these keys signed.
pub(super) fn open(token: &[u8], issuer: &str, keys: &[VerifyingKey]) -> Result<Claims, VerifyError> {
    let segments = Segments::split(token)?;
    let stated: IssuerOnly = json(segments.payload)?;
    if stated.iss != issuer {
        return Err(VerifyError::ForeignIssuer);
    }
    let header = segments.header()?;
    let mut candidates = keys.iter().filter(|key| header.kid.is_empty() || key.id() == header.kid).peekable();
    if candidates.peek().is_none() {
        return Err(VerifyError::UnknownKey);
    }
    let signature = decode(segments.signature)?;
    if !candidates.any(|key| key.verifies(segments.signed.as_bytes(), &signature)) {
        return Err(VerifyError::BadSignature);
    }
    segments.claims()
}

struct Segments<'a> {
    signed: &'a str,
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl<'a> Segments<'a> {
    fn split(token: &'a [u8]) -> Result<Segments<'a>, VerifyError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(VerifyError::TooLong);
        }
        let token = std::str::from_utf8(token).map_err(|_| VerifyError::Malformed)?;
        let (signed, signature) = token.rsplit_once('.').ok_or(VerifyError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(VerifyError::Malformed)?;
        if payload.contains('.') {
            return Err(VerifyError::Malformed);
        }
        Ok(Segments { signed, header, payload, signature })
    }

    fn header(&self) -> Result<Header, VerifyError> {
        let header: Header = json(self.header)?;
        if header.alg != ALGORITHM || header.crit.is_some() {
            return Err(VerifyError::WrongAlgorithm);
        }
        Ok(header)
    }

    fn claims(&self) -> Result<Claims, VerifyError> {
        json(self.payload)
    }
}

fn decode(segment: &str) -> Result<Vec<u8>, VerifyError> {
    URL_SAFE_NO_PAD.decode(segment).map_err(|_| VerifyError::Malformed)
}

fn json<T: serde::de::DeserializeOwned>(segment: &str) -> Result<T, VerifyError> {
    serde_json::from_slice(&decode(segment)?).map_err(|_| VerifyError::Malformed)
}
