//! The cluster's own certificate authority and what comes from it: serving and client certificates, kubeconfigs, the
//! key that signs service account tokens, and the server's TLS settings.
//!
//! Everything lives in one private directory. What others trust (the authority, the signing key) is made once and never
//! made anew by itself: a file that is damaged or does not fit is an error that names it and says what to do.

mod authority;
mod files;
mod kubeconfig;
mod serving;
mod signing_key;
#[cfg(test)]
mod tests;
mod tls;

use std::path::PathBuf;

use thiserror::Error;

pub use authority::{Authority, ClientSubject};
pub use files::{MAX_FILE_BYTES, write_private};
pub use kubeconfig::{CLUSTER_NAME, Kubeconfig};
pub use serving::{ServingNames, load_or_issue};
pub use signing_key::load_or_create as load_or_create_signing_key;
pub use tls::{TlsFiles, server_config};

use crate::secret::Secret;

/// A certificate, with the chain behind it if there is one, and its private key.
#[derive(Clone, Debug)]
pub struct KeyedCertificate {
    pub certificate_pem: String,
    pub key_pem: Secret,
}

/// Why there is no certificate, key or TLS configuration.
#[derive(Debug, Error)]
pub enum CertificateError {
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} is larger than {MAX_FILE_BYTES} bytes, so it holds no certificate or key", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} can be read by others (mode {mode:03o}): make it private with chmod 600", path.display())]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("{} is damaged ({why}): {remedy}", path.display())]
    Damaged { path: PathBuf, why: String, remedy: &'static str },
    #[error("{} and {} do not belong together: {remedy}", certificate.display(), key.display())]
    Mismatch { certificate: PathBuf, key: PathBuf, remedy: &'static str },
    #[error("{} is missing, although {} is there: {remedy}", missing.display(), present.display())]
    Incomplete { missing: PathBuf, present: PathBuf, remedy: &'static str },
    #[error("{} is valid only from {from} to {until}: {remedy}", path.display())]
    NotValidNow { path: PathBuf, from: jiff::Timestamp, until: jiff::Timestamp, remedy: &'static str },
    #[error("{name:?} cannot stand in a certificate: it is neither a host name nor an IP address")]
    BadName { name: String },
    #[error("a TLS certificate file and a TLS private key file are given together or not at all")]
    HalfAPair,
    #[error("cannot issue a certificate: {0}")]
    Issue(#[from] rcgen::Error),
    #[error("the time is outside of what a certificate can say")]
    Time,
    #[error("cannot set up TLS with {what}: {why}")]
    Tls { what: String, why: String },
}

/// A certificate read far enough to know whether it can still be used.
struct Inspected {
    from: jiff::Timestamp,
    until: jiff::Timestamp,
    public_key: Vec<u8>,
    is_authority: bool,
    issuer: Vec<u8>,
    subject: Vec<u8>,
}

fn inspect(der: &[u8]) -> Result<Inspected, String> {
    let (rest, certificate) = x509_parser::parse_x509_certificate(der).map_err(|error| error.to_string())?;
    if !rest.is_empty() {
        return Err("something follows the certificate".to_owned());
    }
    let at = |time: x509_parser::time::ASN1Time| {
        jiff::Timestamp::from_second(time.timestamp()).map_err(|error| error.to_string())
    };
    Ok(Inspected {
        from: at(certificate.validity().not_before)?,
        until: at(certificate.validity().not_after)?,
        public_key: certificate.public_key().subject_public_key.data.to_vec(),
        is_authority: certificate.is_ca(),
        issuer: certificate.issuer().as_raw().to_vec(),
        subject: certificate.subject().as_raw().to_vec(),
    })
}
