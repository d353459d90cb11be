//! The server's own certificate: kept as long as it fits, issued anew when it is about to expire, when the names
//! changed, or when another authority took over.
//!
//! Certificate and key are one file, so that a crash cannot leave two that do not belong together.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{KeyPair, SanType};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::extensions::GeneralName;

use super::{Authority, CertificateError, KeyedCertificate, files, inspect};
use crate::secret::Secret;

const FILE: &str = "serving.pem";
/// A certificate is replaced this long before it expires.
const RENEWED_BEFORE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const REMEDY: &str = "remove it, and the next start issues a new one";

/// The names a server inside the cluster always has.
const FIXED_NAMES: [&str; 5] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];

/// The host names and addresses under which the server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingNames {
    hosts: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
}

impl ServingNames {
    /// What every server is called, the address of the service `kubernetes`, and `others`: the machine's name and
    /// whatever was asked for.
    pub fn new<S: AsRef<str>>(service: Option<IpAddr>, others: &[S]) -> Result<ServingNames, CertificateError> {
        let mut names = ServingNames {
            hosts: FIXED_NAMES.iter().map(|name| (*name).to_owned()).collect(),
            addresses: BTreeSet::from([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
        };
        names.addresses.extend(service);
        for other in others {
            names.add(other.as_ref())?;
        }
        Ok(names)
    }

    fn add(&mut self, name: &str) -> Result<(), CertificateError> {
        if let Ok(address) = name.parse::<IpAddr>() {
            self.addresses.insert(address);
            return Ok(());
        }
        match rustls_pki_types::DnsName::try_from(name) {
            Ok(_) => {
                self.hosts.insert(name.to_ascii_lowercase());
                Ok(())
            }
            Err(_) => Err(CertificateError::BadName { name: name.to_owned() }),
        }
    }

    fn alternatives(&self) -> Result<Vec<SanType>, CertificateError> {
        let hosts = self.hosts.iter().map(|host| Ok(SanType::DnsName(host.as_str().try_into()?)));
        let addresses = self.addresses.iter().map(|address| Ok(SanType::IpAddress(*address)));
        hosts.chain(addresses).collect()
    }
}

/// The certificate kept in `directory` if it fits, otherwise a new one, which is then kept.
pub fn load_or_issue(
    authority: &Authority,
    directory: &Path,
    names: &ServingNames,
    now: Timestamp,
) -> Result<KeyedCertificate, CertificateError> {
    files::private_directory(directory)?;
    let path = directory.join(FILE);
    if let Some(text) = files::read_private(&path)?
        && let Some(kept) = usable(authority, (&path, &text), names, now)?
    {
        return Ok(kept);
    }
    let issued = authority.issue_serving(names.alternatives()?, now)?;
    files::write_private(&path, &format!("{}{}", issued.certificate_pem, issued.key_pem.expose()))?;
    Ok(issued)
}

/// What the file holds, or none if it is sound and no longer fits.
fn usable(
    authority: &Authority,
    (path, text): (&Path, &str),
    names: &ServingNames,
    now: Timestamp,
) -> Result<Option<KeyedCertificate>, CertificateError> {
    let damaged = |why: String| CertificateError::Damaged { path: path.to_owned(), why, remedy: REMEDY };
    let der = CertificateDer::from_pem_slice(text.as_bytes()).map_err(|error| damaged(error.to_string()))?;
    let inspected = inspect(&der).map_err(damaged)?;
    let found = names_of(&der).map_err(damaged)?;
    // The PEM reader of the key takes the first section it finds; the key stands behind the certificate.
    let (certificate_pem, key_pem) = text
        .find("-----BEGIN PRIVATE KEY")
        .map(|at| text.split_at(at))
        .ok_or_else(|| damaged("no key in it".into()))?;
    let key = KeyPair::from_pem(key_pem).map_err(|error| damaged(error.to_string()))?;
    if key.public_key_raw() != inspected.public_key {
        return Err(damaged("certificate and key in it do not belong together".into()));
    }
    let renewal = inspected.until.checked_sub(RENEWED_BEFORE).map_err(|_| CertificateError::Time)?;
    let current = now >= inspected.from && now < renewal;
    let ours = authority.named_as_issuer_of(&inspected) && signed_by(authority, &der);
    let fits = current && ours && found == *names;
    let (certificate_pem, key_pem) = (certificate_pem.to_owned(), Secret::new(key_pem.to_owned()));
    Ok(fits.then_some(KeyedCertificate { certificate_pem, key_pem }))
}

fn signed_by(authority: &Authority, der: &[u8]) -> bool {
    let Ok((_, issuer)) = x509_parser::parse_x509_certificate(authority.certificate()) else { return false };
    let Ok((_, certificate)) = x509_parser::parse_x509_certificate(der) else { return false };
    certificate.verify_signature(Some(issuer.public_key())).is_ok()
}

fn names_of(der: &[u8]) -> Result<ServingNames, String> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).map_err(|error| error.to_string())?;
    let mut names = ServingNames { hosts: BTreeSet::new(), addresses: BTreeSet::new() };
    let Some(alternatives) = certificate.subject_alternative_name().map_err(|error| error.to_string())? else {
        return Ok(names);
    };
    for name in &alternatives.value.general_names {
        match name {
            GeneralName::DNSName(host) => {
                names.hosts.insert((*host).to_owned());
            }
            GeneralName::IPAddress(bytes) => names.addresses.extend(address(bytes)),
            // Anything else was not put there by us; the comparison of the rest decides.
            _ => {}
        }
    }
    Ok(names)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match *bytes {
        [a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d).into()),
        _ => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
    }
}
