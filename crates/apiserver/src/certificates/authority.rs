//! The certificate authority: made once, kept in two files, issues everything else.
//!
//! The key is written first. A key without a certificate is therefore a creation that was interrupted, and is finished
//! with that key; a certificate without its key is a loss, and an error.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use super::{CertificateError, Inspected, KeyedCertificate, files, inspect};
use crate::secret::Secret;

const CERTIFICATE_FILE: &str = "ca.crt";
const KEY_FILE: &str = "ca.key";
const COMMON_NAME: &str = "eventide-ca";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(10 * 365 * DAY.as_secs());
const LEAF_LIFETIME: Duration = Duration::from_secs(365 * DAY.as_secs());
/// Certificates are valid from a little earlier on, for clients whose clocks are behind.
const BACKDATED: Duration = Duration::from_secs(60 * 60);

const RESTORE: &str = "restore it from a backup; or, to begin with a new authority that no issued certificate and no \
                       kubeconfig fits any more, remove ca.crt and ca.key";

/// Who a client certificate speaks for.
///
/// One group at most: a certificate with several organizations would need an attribute several times, which the
/// issuing library cannot write. Certificates of others may have any number.
#[derive(Clone, Copy, Debug)]
pub struct ClientSubject<'a> {
    pub user: &'a str,
    pub group: Option<&'a str>,
}

/// The authority's certificate and its key.
pub struct Authority {
    certificate_pem: String,
    certificate: CertificateDer<'static>,
    subject: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate_pem).finish_non_exhaustive()
    }
}

impl Authority {
    /// The authority kept in `directory`; if there is none yet, a new one.
    pub fn load_or_create(directory: &Path, now: Timestamp) -> Result<Authority, CertificateError> {
        files::private_directory(directory)?;
        let (certificate_path, key_path) = (directory.join(CERTIFICATE_FILE), directory.join(KEY_FILE));
        match (files::read(&certificate_path)?, files::read_private(&key_path)?) {
            (Some(certificate), Some(key)) => Authority::load((&certificate_path, certificate), (&key_path, &key), now),
            (None, Some(key)) => Authority::create(&certificate_path, read_key(&key_path, &key)?, now),
            (None, None) => {
                let key = KeyPair::generate()?;
                files::write_private(&key_path, &key.serialize_pem())?;
                Authority::create(&certificate_path, key, now)
            }
            (Some(_), None) => {
                Err(CertificateError::Incomplete { missing: key_path, present: certificate_path, remedy: RESTORE })
            }
        }
    }

    fn create(path: &Path, key: KeyPair, now: Timestamp) -> Result<Authority, CertificateError> {
        let mut params = validity(now, AUTHORITY_LIFETIME)?;
        params.distinguished_name = named(COMMON_NAME, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let certificate_pem = params.self_signed(&key)?.pem();
        files::write_private(path, &certificate_pem)?;
        let (certificate, inspected) = read_certificate(path, &certificate_pem)?;
        Authority::assemble(certificate_pem, certificate, inspected, key)
    }

    fn load(
        (certificate_path, certificate_pem): (&Path, String),
        (key_path, key_pem): (&Path, &str),
        now: Timestamp,
    ) -> Result<Authority, CertificateError> {
        let key = read_key(key_path, key_pem)?;
        let (certificate, inspected) = read_certificate(certificate_path, &certificate_pem)?;
        if !inspected.is_authority {
            let why = "the certificate is not one of an authority".to_owned();
            return Err(CertificateError::Damaged { path: certificate_path.to_owned(), why, remedy: RESTORE });
        }
        if inspected.public_key != key.public_key_raw() {
            let (certificate, key) = (certificate_path.to_owned(), key_path.to_owned());
            return Err(CertificateError::Mismatch { certificate, key, remedy: RESTORE });
        }
        if now < inspected.from || now > inspected.until {
            let (path, from, until) = (certificate_path.to_owned(), inspected.from, inspected.until);
            let remedy = "set the clock if it is wrong; otherwise remove ca.crt (the key stays the authority's)";
            return Err(CertificateError::NotValidNow { path, from, until, remedy });
        }
        Authority::assemble(certificate_pem, certificate, inspected, key)
    }

    fn assemble(
        certificate_pem: String,
        certificate: CertificateDer<'static>,
        inspected: Inspected,
        key: KeyPair,
    ) -> Result<Authority, CertificateError> {
        let issuer = Issuer::from_ca_cert_der(&certificate, key)?;
        Ok(Authority { certificate_pem, certificate, subject: inspected.subject, issuer })
    }

    /// What clients must trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub(super) const fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    pub(super) fn named_as_issuer_of(&self, inspected: &Inspected) -> bool {
        inspected.issuer == self.subject
    }

    /// A certificate that proves who a client is, for a year.
    pub fn issue_client(
        &self,
        subject: ClientSubject<'_>,
        now: Timestamp,
    ) -> Result<KeyedCertificate, CertificateError> {
        let mut params = leaf(now, ExtendedKeyUsagePurpose::ClientAuth)?;
        params.distinguished_name = named(subject.user, subject.group);
        self.sign(&params)
    }

    /// A certificate for a server of these names and addresses, for a year.
    pub(super) fn issue_serving(
        &self,
        names: Vec<rcgen::SanType>,
        now: Timestamp,
    ) -> Result<KeyedCertificate, CertificateError> {
        let mut params = leaf(now, ExtendedKeyUsagePurpose::ServerAuth)?;
        params.distinguished_name = named("eventide-apiserver", None);
        params.subject_alt_names = names;
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<KeyedCertificate, CertificateError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(KeyedCertificate { certificate_pem: certificate.pem(), key_pem: Secret::new(key.serialize_pem()) })
    }
}

fn read_key(path: &Path, pem: &str) -> Result<KeyPair, CertificateError> {
    KeyPair::from_pem(pem).map_err(|error| CertificateError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
        remedy: RESTORE,
    })
}

fn read_certificate(path: &Path, pem: &str) -> Result<(CertificateDer<'static>, Inspected), CertificateError> {
    let damaged = |why| CertificateError::Damaged { path: path.to_owned(), why, remedy: RESTORE };
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| damaged(error.to_string()))?;
    let inspected = inspect(&der).map_err(damaged)?;
    Ok((der, inspected))
}

fn named(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}

fn leaf(now: Timestamp, usage: ExtendedKeyUsagePurpose) -> Result<CertificateParams, CertificateError> {
    let mut params = validity(now, LEAF_LIFETIME)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn validity(now: Timestamp, lifetime: Duration) -> Result<CertificateParams, CertificateError> {
    let at = |time: Timestamp| {
        time::OffsetDateTime::from_unix_timestamp(time.as_second()).map_err(|_| CertificateError::Time)
    };
    let mut params = CertificateParams::default();
    params.not_before = at(now.checked_sub(BACKDATED).map_err(|_| CertificateError::Time)?)?;
    params.not_after = at(now.checked_add(lifetime).map_err(|_| CertificateError::Time)?)?;
    Ok(params)
}
