//! Who sent a request: from a verified client certificate, from a bearer token, or nobody.
//!
//! No credentials are `None`: such a request goes on as [`User::anonymous`], which [`crate::authorize`] lets see health
//! and version. Credentials that prove nothing are an error, 401, whatever the request asks for.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use thiserror::Error;

use crate::identity::{User, extra};
use crate::status::Status;
use crate::tokens::{Directory, Verifier, VerifyError};

/// What a request and its connection carry.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// The client's own certificate, whose chain the TLS handshake has verified.
    pub certificate: Option<&'a CertificateDer<'a>>,
    /// The value of the header `Authorization`.
    pub authorization: Option<&'a [u8]>,
}

/// Why credentials prove nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AuthenticateError {
    #[error("the client certificate cannot be read")]
    UnreadableCertificate,
    #[error("the client certificate is not valid now")]
    CertificateNotValidNow,
    #[error(transparent)]
    Token(#[from] VerifyError),
}

impl From<AuthenticateError> for Status {
    /// Why it was refused is for the log; a client that cannot prove who it is learns nothing.
    fn from(_: AuthenticateError) -> Status {
        Status::unauthorized("Unauthorized")
    }
}

/// The user who sent a request. A certificate counts before a token; one that is good makes the other irrelevant.
pub fn authenticate(
    credentials: Credentials<'_>,
    verifier: &Verifier,
    directory: &dyn Directory,
    now: Timestamp,
) -> Result<Option<User>, AuthenticateError> {
    let by_certificate = credentials.certificate.map_or(Ok(None), |certificate| of_certificate(certificate, now));
    if let Ok(Some(user)) = by_certificate {
        return Ok(Some(user.authenticated()));
    }
    match credentials.authorization.and_then(bearer_token) {
        Some(token) => Ok(Some(verifier.verify(token, directory, now)?.user)),
        None => by_certificate,
    }
}

/// The token in an `Authorization` header; none if the header speaks of something else, or of no token.
pub fn bearer_token(header: &[u8]) -> Option<&[u8]> {
    let mut words = header.trim_ascii().splitn(3, |byte| *byte == b' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
}

/// The user a certificate speaks for; none if it names nobody. The chain is not looked at.
pub fn of_certificate(certificate: &[u8], now: Timestamp) -> Result<Option<User>, AuthenticateError> {
    let parsed = x509_parser::parse_x509_certificate(certificate);
    let (_, parsed) = parsed.map_err(|_| AuthenticateError::UnreadableCertificate)?;
    let (from, until) = (parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp());
    // A connection may outlive the certificate that opened it.
    if !(from..=until).contains(&now.as_second()) {
        return Err(AuthenticateError::CertificateNotValidNow);
    }
    let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| attribute.as_str().map(str::to_owned);
    let unreadable = |_| AuthenticateError::UnreadableCertificate;
    // As upstream reads it: of several common names the last one counts.
    let Some(name) = parsed.subject().iter_common_name().last() else { return Ok(None) };
    let name = text(name).map_err(unreadable)?;
    if name.is_empty() {
        return Ok(None);
    }
    let groups: Result<Vec<String>, _> = parsed.subject().iter_organization().map(text).collect();
    let user = User { name, groups: groups.map_err(unreadable)?, ..User::default() };
    Ok(Some(user.with_extra(extra::CREDENTIAL_ID, &fingerprint(certificate))))
}

/// How the rest of the system calls a certificate.
fn fingerprint(certificate: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X509SHA256={hex}")
}
