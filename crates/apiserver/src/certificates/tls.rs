//! The server's side of TLS: versions, protocols, its certificate, and whose client certificates are believed.
//!
//! A client certificate is optional. One that does not come from a trusted authority, or is not valid now, ends the
//! handshake; that a valid one expires while its connection lives is noticed by [`crate::authenticate`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::{CertificateError, KeyedCertificate, files};
use crate::secret::Secret;

/// Files of the operator's own, in place of what would be issued or trusted here.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// `--tls-cert-file`: the server's certificate and the chain behind it.
    pub certificate: Option<PathBuf>,
    /// `--tls-private-key-file`
    pub private_key: Option<PathBuf>,
    /// `--client-ca-file`: authorities of client certificates, besides our own.
    pub client_authorities: Option<PathBuf>,
}

impl TlsFiles {
    /// The operator's certificate, if one is given.
    pub fn serving(&self) -> Result<Option<KeyedCertificate>, CertificateError> {
        match (&self.certificate, &self.private_key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                let (certificate_pem, key_pem) = (required(certificate)?, Secret::new(required(key)?));
                Ok(Some(KeyedCertificate { certificate_pem, key_pem }))
            }
            (Some(_), None) | (None, Some(_)) => Err(CertificateError::HalfAPair),
        }
    }

    /// The operator's client authorities, as PEM; empty if none are given.
    pub fn client_authorities(&self) -> Result<String, CertificateError> {
        match &self.client_authorities {
            None => Ok(String::new()),
            Some(path) => {
                let text = required(path)?;
                certificates(&format!("{}", path.display()), &text)?;
                Ok(text)
            }
        }
    }
}

/// The configuration of a listener: `serving` is shown to clients, theirs must come from `client_authorities` (PEM).
pub fn server_config(
    serving: &KeyedCertificate,
    client_authorities: &str,
) -> Result<Arc<ServerConfig>, CertificateError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in certificates("the client authorities", client_authorities)? {
        roots.add(authority).map_err(|error| failed("the client authorities", &error))?;
    }
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| failed("the client authorities", &error))?;
    let chain = certificates("the serving certificate", &serving.certificate_pem)?;
    let key = PrivateKeyDer::from_pem_slice(serving.key_pem.expose().as_bytes())
        .map_err(|error| failed("the serving key", &error))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| failed("TLS 1.2 and 1.3", &error))?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)
        .map_err(|error| failed("the serving certificate and key", &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A resumed session would not look at the client's certificate again.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn required(path: &Path) -> Result<String, CertificateError> {
    files::read(path)?.ok_or_else(|| CertificateError::Io {
        action: "open",
        path: path.to_owned(),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

fn certificates(what: &str, pem: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err(failed(what, &"there is no certificate in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(failed(what, &error)),
    }
}

fn failed(what: &str, why: &dyn std::fmt::Display) -> CertificateError {
    CertificateError::Tls { what: what.to_owned(), why: why.to_string() }
}
