//! Certificates and headers, good and bad, and who they make a request's user.

use rcgen::KeyPair;

use super::*;
use crate::certificates::{Authority, ClientSubject};
use crate::tokens::{PodRecord, Record};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// Nothing exists, so no token is good.
struct Nothing;

impl Directory for Nothing {
    fn service_account(&self, _: &str, _: &str) -> Option<Record> {
        None
    }

    fn secret(&self, _: &str, _: &str) -> Option<Record> {
        None
    }

    fn pod(&self, _: &str, _: &str) -> Option<PodRecord> {
        None
    }

    fn node(&self, _: &str) -> Option<Record> {
        None
    }
}

fn verifier() -> Verifier {
    Verifier::new("https://issuer".into(), vec!["api".into()], Vec::new())
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

fn days(count: i64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_hours(24 * count)
}

fn certificate(user: &str, group: Option<&str>) -> CertificateDer<'static> {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::load_or_create(directory.path(), now()).expect("an authority");
    let issued = authority.issue_client(ClientSubject { user, group }, now()).expect("issued");
    CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).expect("PEM")
}

fn ask(
    certificate: Option<&CertificateDer<'_>>,
    authorization: Option<&str>,
    at: Timestamp,
) -> Result<Option<User>, AuthenticateError> {
    let certificate = certificate.map(|certificate| Certified::read(certificate));
    let credentials =
        Credentials { certificate: certificate.as_ref(), authorization: authorization.map(str::as_bytes) };
    authenticate(credentials, &verifier(), &Nothing, at)
}

#[test]
fn a_certificate_names_its_user_and_group() {
    let certificate = certificate("system:node:n1", Some("system:nodes"));
    let user = ask(Some(&certificate), None, now()).expect("good").expect("a user");
    assert_eq!(user.name, "system:node:n1");
    assert_eq!(user.groups, ["system:nodes", "system:authenticated"]);
    let id = user.extra[extra::CREDENTIAL_ID].join("");
    assert!(id.starts_with("X509SHA256=") && id.len() == 75, "{id}");
}

#[test]
fn a_certificate_that_expires_on_an_open_connection_is_refused() {
    let certificate = certificate("alice", None);
    let refused = ask(Some(&certificate), None, now() + days(366)).expect_err("refused");
    assert_eq!(refused, AuthenticateError::CertificateNotValidNow);
    let status = Status::from(refused);
    assert_eq!((status.code, status.message.as_str()), (401, "Unauthorized"));
}

#[test]
fn a_certificate_that_names_nobody_is_no_credential() {
    assert_eq!(ask(Some(&certificate("", None)), None, now()), Ok(None));
}

#[test]
fn several_organizations_are_several_groups() {
    let key = KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::default();
    let mut name = rcgen::DistinguishedName::new();
    name.push(rcgen::DnType::OrganizationName, "dev");
    // The same attribute once more, under the only other spelling the library has for it.
    name.push(rcgen::DnType::CustomDnType(vec![2, 5, 4, 10]), "ops");
    name.push(rcgen::DnType::CommonName, "alice");
    params.distinguished_name = name;
    let certificate = params.self_signed(&key).expect("a certificate");
    let user = Certified::read(certificate.der()).user_at(now()).expect("good").expect("a user");
    assert_eq!(user.groups, ["dev", "ops", "system:authenticated"]);
}

#[test]
fn no_credentials_are_nobody_and_bad_ones_are_an_error() {
    for nobody in [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic eDp5"), Some("Bearer  x")] {
        assert_eq!(ask(None, nobody, now()), Ok(None), "{nobody:?}");
    }
    for bad in ["Bearer x", "bearer x.y.z", "  BEARER x y", "Bearer e30.e30.e30"] {
        assert!(ask(None, Some(bad), now()).is_err(), "{bad}");
    }
}

#[test]
fn a_good_certificate_counts_whatever_the_token_says() {
    let certificate = certificate("alice", None);
    let user = ask(Some(&certificate), Some("Bearer nonsense"), now()).expect("good").expect("a user");
    assert_eq!(user.name, "alice");
    let garbage = CertificateDer::from(vec![1, 2, 3]);
    assert_eq!(ask(Some(&garbage), None, now()), Err(AuthenticateError::UnreadableCertificate));
}
