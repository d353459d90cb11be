//! The server's side of TLS when it is the client: who it is, and whose certificates it believes.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use super::Trust;
use crate::certificates::{CertificateError, KeyedCertificate};

/// The configuration of connections to agents or pods.
pub fn client_config(client: Option<&KeyedCertificate>, trust: &Trust) -> Result<Arc<ClientConfig>, CertificateError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| failed("TLS 1.2 and 1.3", &error))?;
    let builder = match trust {
        Trust::Authorities(pem) => builder.with_root_certificates(authorities(pem)?),
        Trust::Unverified => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified { provider })),
    };
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let chain = certificates("the certificate for nodes", &client.certificate_pem)?;
            let key = PrivateKeyDer::from_pem_slice(client.key_pem.expose().as_bytes())
                .map_err(|error| failed("the key for nodes", &error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| failed("the certificate for nodes", &error))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn authorities(pem: &str) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates("the authorities of nodes", pem)? {
        roots.add(authority).map_err(|error| failed("the authorities of nodes", &error))?;
    }
    Ok(roots)
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

/// Believes every certificate. That its holder has the key is still checked.
#[derive(Debug)]
struct Unverified {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
