//! Real TLS over loopback between our configuration and clients made from written kubeconfigs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;
use crate::authenticate::Certified;
use crate::certificates::{ClientSubject, Kubeconfig, load_or_issue, server_config};
use crate::identity::User;

const BOUND: Duration = Duration::from_secs(20);
const SERVER: &str = "https://127.0.0.1:6443";

struct Outcome {
    user: Option<User>,
    protocol: Option<Vec<u8>>,
}

fn server(ca: &Authority, path: &Path) -> Arc<ServerConfig> {
    let serving = load_or_issue(ca, path, &names(&["node-1"]), now()).expect("a certificate");
    server_config(&serving, ca.certificate_pem()).expect("a configuration")
}

/// What kubectl would read: the authority and, if wanted, the user's certificate.
fn client(kubeconfig: &Path, with_certificate: Presented) -> ClientConfig {
    let text = std::fs::read_to_string(kubeconfig).expect("a kubeconfig");
    let read: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
    assert_eq!(read["clusters"][0]["name"], "eventide");
    assert_eq!(read["clusters"][0]["cluster"]["server"], SERVER);
    assert_eq!(read["contexts"][0]["name"], read["current-context"]);
    let decoded = |value: &serde_json::Value| STANDARD.decode(value.as_str().expect("text")).expect("base64");
    let mut roots = RootCertStore::empty();
    let authority = decoded(&read["clusters"][0]["cluster"]["certificate-authority-data"]);
    roots.add(CertificateDer::from_pem_slice(&authority).expect("PEM")).expect("an authority");
    let user = &read["users"][0]["user"];
    let chain = vec![CertificateDer::from_pem_slice(&decoded(&user["client-certificate-data"])).expect("PEM")];
    let key = PrivateKeyDer::from_pem_slice(&decoded(&user["client-key-data"])).expect("PEM");
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    match with_certificate {
        Presented::Certificate => builder.with_client_auth_cert(chain, key).expect("a client"),
        Presented::Nothing => builder.with_no_client_auth(),
    }
}

#[derive(Clone, Copy)]
enum Presented {
    Certificate,
    Nothing,
}

/// One byte each way: only then has a TLS 1.3 client heard whether its certificate was taken.
async fn connect(server: Arc<ServerConfig>, client: ClientConfig, name: &str) -> Result<Outcome, String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let accepting = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let mut stream = TlsAcceptor::from(server).accept(stream).await.map_err(|error| error.to_string())?;
        stream.write_all(b"!").await.map_err(|error| error.to_string())?;
        let connection = stream.get_ref().1;
        let leaf = connection.peer_certificates().and_then(<[_]>::first).cloned();
        let protocol = connection.alpn_protocol().map(<[u8]>::to_vec);
        let user = leaf.and_then(|leaf| Certified::read(&leaf).user_at(Timestamp::now()).expect("readable"));
        // The client hangs up first; it may do so without the closing words.
        let _ = stream.read(&mut [0]).await;
        Ok(Outcome { user, protocol })
    });
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let asking = async {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let mut stream =
            TlsConnector::from(Arc::new(client)).connect(name, stream).await.map_err(|error| error.to_string())?;
        let mut byte = [0];
        stream.read_exact(&mut byte).await.map_err(|error| error.to_string())?;
        Ok::<(), String>(())
    };
    let asked = tokio::time::timeout(BOUND, asking).await.expect("the client ends in time");
    let accepted = tokio::time::timeout(BOUND, accepting).await.expect("the server ends in time").expect("no panic");
    asked.and(accepted)
}

struct Setup {
    directory: tempfile::TempDir,
    ca: Authority,
}

impl Setup {
    fn new() -> Setup {
        let directory = directory();
        let ca = authority(directory.path());
        Setup { directory, ca }
    }

    fn server(&self) -> Arc<ServerConfig> {
        server(&self.ca, self.directory.path())
    }

    fn admin(&self, presented: Presented) -> ClientConfig {
        let path = self.directory.path().join("admin.conf");
        Kubeconfig::admin(&self.ca, SERVER, now()).expect("issued").write(&path).expect("written");
        client(&path, presented)
    }
}

#[tokio::test]
async fn the_written_admin_kubeconfig_reaches_the_server_under_each_of_its_names() {
    let setup = Setup::new();
    for name in ["localhost", "127.0.0.1", "::1", "10.96.0.1", "kubernetes.default.svc.cluster.local", "node-1"] {
        let mut config = setup.admin(Presented::Certificate);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let outcome = connect(setup.server(), config, name).await.expect("a connection");
        let user = outcome.user.expect("a user");
        assert_eq!(user.name, "admin");
        assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
        assert_eq!(outcome.protocol.as_deref(), Some(&b"h2"[..]));
    }
}

#[tokio::test]
async fn a_client_without_a_certificate_is_let_in_as_nobody_and_may_speak_http_1() {
    let setup = Setup::new();
    let mut config = setup.admin(Presented::Nothing);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let outcome = connect(setup.server(), config, "localhost").await.expect("a connection");
    assert_eq!(outcome.user, None);
    assert_eq!(outcome.protocol.as_deref(), Some(&b"http/1.1"[..]));
}

#[tokio::test]
async fn a_client_that_trusts_another_authority_refuses_the_server() {
    let (setup, other) = (Setup::new(), Setup::new());
    let refused = connect(setup.server(), other.admin(Presented::Nothing), "localhost").await;
    assert!(refused.is_err_and(|error| error.contains("invalid peer certificate")));
}

#[tokio::test]
async fn a_server_name_that_is_not_in_the_certificate_is_refused_by_the_client() {
    let setup = Setup::new();
    let refused = connect(setup.server(), setup.admin(Presented::Nothing), "elsewhere.example").await;
    assert!(refused.is_err_and(|error| error.contains("not valid for name")));
}

#[tokio::test]
async fn a_client_certificate_of_another_authority_ends_the_handshake() {
    let (setup, other) = (Setup::new(), Setup::new());
    let path = setup.directory.path().join("mixed.conf");
    let foreign = other.ca.issue_client(ClientSubject { user: "eve", group: Some("system:masters") }, now());
    let mixed = Kubeconfig {
        server: SERVER,
        authority_pem: setup.ca.certificate_pem(),
        user: "eve",
        client: foreign.expect("issued"),
    };
    mixed.write(&path).expect("written");
    let refused = connect(setup.server(), client(&path, Presented::Certificate), "localhost").await;
    assert!(refused.is_err(), "both sides must fail");
}

#[tokio::test]
async fn an_expired_client_certificate_ends_the_handshake() {
    let setup = Setup::new();
    let path = setup.directory.path().join("old.conf");
    let subject = ClientSubject { user: "old", group: None };
    let old = Kubeconfig::issue(&setup.ca, SERVER, subject, now() - days(400)).expect("issued");
    old.write(&path).expect("written");
    let refused = connect(setup.server(), client(&path, Presented::Certificate), "localhost").await;
    let error = refused.map(|_| ()).expect_err("refused");
    assert!(error.to_lowercase().contains("expired"), "{error}");
}

#[tokio::test]
async fn a_serving_certificate_is_no_client_certificate() {
    let setup = Setup::new();
    let path = setup.directory.path().join("wrong-usage.conf");
    let serving = load_or_issue(&setup.ca, setup.directory.path(), &names(&["node-1"]), now()).expect("issued");
    let wrong = Kubeconfig { server: SERVER, authority_pem: setup.ca.certificate_pem(), user: "x", client: serving };
    wrong.write(&path).expect("written");
    assert!(connect(setup.server(), client(&path, Presented::Certificate), "localhost").await.is_err());
}
