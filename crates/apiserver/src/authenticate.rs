//! Who sent a request: from a verified client certificate, from a bearer token, or nobody.
//!
//! No credentials are `None`: such a request goes on as [`User::anonymous`], which [`crate::authorize`] lets see health
//! and version. Credentials that prove nothing are an error, 401, whatever the request asks for.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use jiff::Timestamp;
use thiserror::Error;
use x509_parser::certificate::X509Certificate;
use x509_parser::x509::AttributeTypeAndValue;

use crate::identity::{User, extra};
use crate::status::Status;
use crate::tokens::{Directory, Verifier, VerifyError};

/// What a request and its connection carry.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// What the client's own certificate says, whose chain the TLS handshake has verified.
    pub certificate: Option<&'a Certified>,
    /// The value of the header `Authorization`.
    pub authorization: Option<&'a [u8]>,
}

/// What a certificate says; read once per connection, since reading it costs more than most requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified {
    said: Result<Option<User>, AuthenticateError>,
    /// Seconds since 1970, both included.
    valid: RangeInclusive<i64>,
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
    let by_certificate = credentials.certificate.map_or(Ok(None), |certificate| certificate.user_at(now));
    if let Ok(Some(user)) = by_certificate {
        return Ok(Some(user));
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

impl Certified {
    /// Reads a certificate. The chain is not looked at.
    pub fn read(certificate: &[u8]) -> Certified {
        match x509_parser::parse_x509_certificate(certificate) {
            Ok((_, parsed)) => {
                let (from, until) = (parsed.validity().not_before, parsed.validity().not_after);
                let user = subject(&parsed).map(|user| {
                    user.map(|user| user.with_extra(extra::CREDENTIAL_ID, &fingerprint(certificate)).authenticated())
                });
                Certified { said: user, valid: from.timestamp()..=until.timestamp() }
            }
            Err(_) => Certified { said: Err(AuthenticateError::UnreadableCertificate), valid: i64::MIN..=i64::MAX },
        }
    }

    /// The user it speaks for; none if it names nobody. A connection may outlive the certificate that opened it.
    pub fn user_at(&self, now: Timestamp) -> Result<Option<User>, AuthenticateError> {
        if self.valid.contains(&now.as_second()) {
            return self.said.clone();
        }
        Err(AuthenticateError::CertificateNotValidNow)
    }
}

fn subject(certificate: &X509Certificate<'_>) -> Result<Option<User>, AuthenticateError> {
    let text = |attribute: &AttributeTypeAndValue<'_>| attribute.as_str().map(str::to_owned);
    let unreadable = |_| AuthenticateError::UnreadableCertificate;
    // As upstream reads it: of several common names the last one counts.
    let Some(name) = certificate.subject().iter_common_name().last() else { return Ok(None) };
    let name = text(name).map_err(unreadable)?;
    if name.is_empty() {
        return Ok(None);
    }
    let groups: Result<Vec<String>, _> = certificate.subject().iter_organization().map(text).collect();
    Ok(Some(User { name, groups: groups.map_err(unreadable)?, ..User::default() }))
}

/// How the rest of the system calls a certificate.
fn fingerprint(certificate: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X509SHA256={hex}")
}
