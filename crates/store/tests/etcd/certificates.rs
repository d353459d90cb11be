//! TLS with certificates on both sides.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use store::etcd::{ClientCertificate, ConnectError, EtcdOptions, EtcdTls, OptionsError};
use store::{Change, EtcdStore, Notice, Prefix, Revision, Store, StoreError, Watch};
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, Version, key};

crate::on_both_versions! {
    certificates_on_both_sides_are_checked
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A certificate and its key, signed by the authority.
fn issue(authority: &Authority, directory: &Path, name: &str) -> ClientCertificate {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    ClientCertificate {
        certificate: write(directory, &format!("{name}.pem"), &certificate.pem()),
        key: write(directory, &format!("{name}.key"), &key.serialize_pem()),
    }
}

async fn certificates_on_both_sides_are_checked<V: Version>() {
    let directory = tempfile::tempdir().unwrap();
    let files = tempfile::tempdir().unwrap();
    let (ours, foreign) = (authority(), authority());
    let ca = write(files.path(), "ca.pem", &ours.pem());
    let foreign_ca = write(files.path(), "foreign-ca.pem", &foreign.pem());
    let etcd = issue(&ours, files.path(), "etcd");
    let [trusted, certificate, private] = [&ca, &etcd.certificate, &etcd.key].map(|path| path.display().to_string());
    let arguments = ["--client-cert-auth", "--trusted-ca-file", &trusted];
    let arguments = [&arguments[..], &["--cert-file", &certificate, "--key-file", &private]].concat();
    let server = Server::<V>::launch(directory, "https", &arguments);
    let options = |authority: &PathBuf, client: Option<ClientCertificate>| {
        let tls = Some(EtcdTls { authority: authority.clone(), client });
        let text = format!("https://{}", server.endpoint());
        EtcdOptions::parse(&text, Prefix::ALL, tls).unwrap()
    };
    let known = issue(&ours, files.path(), "known");
    let patient = EtcdOptions { call_within: PATIENCE, ..options(&ca, Some(known.clone())) };
    let store = EtcdStore::connect(patient).await.unwrap();
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    store.commit(Change::create(key("a"), "1")).await.unwrap();
    assert!(matches!(timeout(PATIENCE, watch.next()).await.unwrap(), Ok(Notice::Event(_))));

    let unknown = issue(&foreign, files.path(), "unknown");
    for (authority, client) in [(&ca, None), (&ca, Some(unknown)), (&foreign_ca, Some(known.clone()))] {
        let hasty = EtcdOptions { call_within: std::time::Duration::from_secs(1), ..options(authority, client) };
        let error = EtcdStore::connect(hasty).await.unwrap_err();
        assert!(matches!(&error, ConnectError::Store(StoreError::Unavailable { .. })), "{error}");
    }
    let absent = ClientCertificate { key: files.path().join("absent"), ..known };
    let error = EtcdStore::connect(options(&ca, Some(absent))).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Options(OptionsError::File { .. })), "{error}");
    let nonsense = write(files.path(), "nonsense", "nonsense");
    let client = ClientCertificate { certificate: nonsense.clone(), key: nonsense };
    let error = EtcdStore::connect(options(&ca, Some(client))).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Options(OptionsError::Certificates { .. })), "{error}");
}
