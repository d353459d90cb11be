//! HTTPS: trusted when its certificate is, refused otherwise.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use runtime::images::ErrorKind;
use runtime::images::registry::{Credentials, Scheme};
use rustls_pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::fixture::{Fixture, Layer, Packing, Store, quick};
use crate::registry::Registry;

/// An authority in PEM, and what a server needs that it vouches for.
fn certificates() -> (String, TlsAcceptor) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![server.der().clone()], key).unwrap();
    (pem, TlsAcceptor::from(Arc::new(config)))
}

/// TLS in front of a registry.
async fn secured(acceptor: TlsAcceptor, registry: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut client = acceptor.accept(client).await.ok()?;
                let mut server = TcpStream::connect(registry).await.ok()?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await.ok()
            });
        }
    });
    address
}

#[tokio::test]
async fn a_registry_is_believed_when_its_authority_is_trusted() {
    let (registry, store) = (Registry::start(), Store::new());
    let image = Fixture::of(vec![Layer::of(&[("a", b"1")], Packing::Gzip)]);
    registry.push("app", "1", &image);
    let (authority, acceptor) = certificates();
    let address = secured(acceptor, registry.address).await;
    let path = store.directory.path().join("authority.pem");
    std::fs::write(&path, authority).unwrap();
    let mut registries = quick();
    registries.schemes.insert(address.to_string(), Scheme::Https);
    let name = format!("{address}/app:1");
    let error = store.pull_with(&name, &Credentials::Anonymous, &registries).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("certificate"), "{error}");
    registries.authorities.push(path);
    assert_eq!(store.pull_with(&name, &Credentials::Anonymous, &registries).await.unwrap(), image.id());
    registries.authorities.push("/nowhere/authority.pem".into());
    let error = store.pull_with(&name, &Credentials::Anonymous, &registries).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("/nowhere"), "{error}");
}
