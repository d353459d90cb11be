//! A client that is nobody's library: one connection to a server, requests as they are written here, answers as they
//! came. Tests of faults need to see each of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::server::Server;

/// Nothing that a test waits for takes longer.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a request carries.
pub type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// Why a request has no answer: the connection could not be made, or ended.
#[derive(Debug)]
pub struct NoAnswer(pub String);

impl<E: std::error::Error> From<E> for NoAnswer {
    fn from(error: E) -> NoAnswer {
        NoAnswer(error.to_string())
    }
}

/// Who connects, and with which protocols.
#[derive(Clone)]
pub struct Credentials {
    config: ClientConfig,
    address: String,
}

impl Credentials {
    /// The administrator of a server.
    pub fn admin(server: &Server) -> Credentials {
        Credentials::from_file(&server.kubeconfig())
    }

    /// The user of a kubeconfig of ours.
    pub fn from_file(path: &Path) -> Credentials {
        let file = std::fs::read_to_string(path).expect("a kubeconfig");
        let certificate = decoded(&file, "client-certificate-data");
        let key = decoded(&file, "client-key-data");
        let chain = vec![CertificateDer::from_pem_slice(&certificate).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_slice(&key).expect("a key");
        let config = builder(&file).with_client_auth_cert(chain, key).expect("a certificate and its key");
        Credentials { config, address: address(&file) }
    }

    /// Somebody who trusts the server and shows nothing.
    pub fn nobody(server: &Server) -> Credentials {
        let file = std::fs::read_to_string(server.kubeconfig()).expect("a kubeconfig");
        Credentials { config: builder(&file).with_no_client_auth(), address: address(&file) }
    }

    /// A connection with TLS on which nothing has been said.
    pub async fn connect(&self, protocols: &[&str]) -> Result<TlsStream<TcpStream>, NoAnswer> {
        let mut config = self.config.clone();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("127.0.0.1").expect("an address");
        Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
    }
}

fn builder(file: &str) -> rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert> {
    let authority = decoded(file, "certificate-authority-data");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&authority).expect("a certificate")).expect("an authority");
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_root_certificates(roots)
}

fn address(file: &str) -> String {
    let url = field(file, "server").trim_matches('"');
    url.strip_prefix("https://").expect("the address of a server").to_owned()
}

fn decoded(file: &str, name: &str) -> Vec<u8> {
    STANDARD.decode(field(file, name)).expect("base64")
}

/// A field of a kubeconfig, which has each of them once and on a line of its own.
fn field<'a>(file: &'a str, name: &str) -> &'a str {
    let found = file.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("{name} is missing"))
}

#[derive(Clone)]
enum Sender {
    One(Arc<tokio::sync::Mutex<http1::SendRequest<Body>>>),
    Two(http2::SendRequest<Body>),
}

/// One connection.
#[derive(Clone)]
pub struct Client {
    sender: Sender,
    authority: String,
}

impl Client {
    /// The administrator over HTTP/2, who can ask for many things at once.
    pub async fn admin(server: &Server) -> Client {
        Client::http2(&Credentials::admin(server)).await.expect("a connection")
    }

    pub async fn http2(credentials: &Credentials) -> Result<Client, NoAnswer> {
        let stream = TokioIo::new(credentials.connect(&["h2"]).await?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        // How the connection ended is told to those who wait for answers.
        tokio::spawn(connection);
        Ok(Client { sender: Sender::Two(sender), authority: credentials.address.clone() })
    }

    pub async fn http1(credentials: &Credentials) -> Result<Client, NoAnswer> {
        let stream = TokioIo::new(credentials.connect(&["http/1.1"]).await?);
        let (sender, connection) = http1::handshake(stream).await?;
        tokio::spawn(connection);
        let sender = Sender::One(Arc::new(tokio::sync::Mutex::new(sender)));
        Ok(Client { sender, authority: credentials.address.clone() })
    }

    /// Sends a request as it is.
    pub async fn send(&self, mut request: Request<Body>) -> Result<Response<Incoming>, NoAnswer> {
        let path = request.uri().path_and_query().expect("a path").as_str().to_owned();
        let response = match &self.sender {
            Sender::One(sender) => {
                request.headers_mut().insert("host", self.authority.parse().expect("an address"));
                sender.lock().await.send_request(request).await?
            }
            Sender::Two(sender) => {
                *request.uri_mut() = format!("https://{}{path}", self.authority).parse().expect("an address");
                sender.clone().send_request(request).await?
            }
        };
        Ok(response)
    }

    /// Sends a request and waits for the whole answer.
    pub async fn ask(&self, request: Request<Body>) -> Result<Answer, NoAnswer> {
        let (parts, body) = self.send(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { code: parts.status, headers: parts.headers, body })
    }

    pub async fn get(&self, path: &str) -> Result<Answer, NoAnswer> {
        self.ask(request(Method::GET, path, "")).await
    }

    pub async fn post(&self, path: &str, object: &Value) -> Result<Answer, NoAnswer> {
        self.ask(request(Method::POST, path, object.to_string())).await
    }

    pub async fn put(&self, path: &str, object: &Value) -> Result<Answer, NoAnswer> {
        self.ask(request(Method::PUT, path, object.to_string())).await
    }

    /// A merge patch.
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Answer, NoAnswer> {
        let mut request = request(Method::PATCH, path, patch.to_string());
        let kind = http::HeaderValue::from_static("application/merge-patch+json");
        request.headers_mut().insert("content-type", kind);
        self.ask(request).await
    }

    pub async fn delete(&self, path: &str) -> Result<Answer, NoAnswer> {
        self.ask(request(Method::DELETE, path, "")).await
    }

    /// Begins a watch.
    pub async fn watch(&self, path: &str) -> Result<Watch, NoAnswer> {
        let response = self.send(request(Method::GET, path, "")).await?;
        assert_eq!(response.status(), 200, "{path}");
        Ok(Watch::new(response))
    }
}

/// A request with a JSON body.
pub fn request(method: Method, path: &str, body: impl Into<Bytes>) -> Request<Body> {
    let builder = Request::builder().method(method).uri(path).header("content-type", "application/json");
    builder.body(Full::new(body.into()).boxed_unsync()).expect("a request")
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub code: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The body, which must be JSON.
    pub fn json(&self) -> Value {
        let text = || String::from_utf8_lossy(&self.body).into_owned();
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", text()))
    }

    /// The object of an answer that must be a success.
    pub fn object(&self) -> Value {
        assert!(self.code.is_success(), "{}: {}", self.code, String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The refusal of an answer that must be one.
    pub fn refusal(&self) -> Value {
        assert!(!self.code.is_success(), "{}: {}", self.code, String::from_utf8_lossy(&self.body));
        let status = self.json();
        assert_eq!((&status["kind"], &status["code"]), (&"Status".into(), &self.code.as_u16().into()), "{status}");
        status
    }
}

/// A watch that is read line by line.
pub struct Watch {
    body: Incoming,
    unread: Vec<u8>,
}

impl Watch {
    /// A watch whose answer has begun.
    pub fn new(response: Response<Incoming>) -> Watch {
        Watch { body: response.into_body(), unread: Vec::new() }
    }

    /// The next event; none if the watch has ended as it should.
    pub async fn next(&mut self) -> Result<Option<Event>, NoAnswer> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(Some(Event(serde_json::from_slice(&line)?)));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await;
            match frame.map_err(|_| NoAnswer("nothing happens".to_owned()))? {
                Some(frame) => self.unread.extend_from_slice(frame?.data_ref().unwrap_or(&Bytes::new())),
                None if self.unread.is_empty() => return Ok(None),
                None => return Err(NoAnswer("a watch ended within an event".to_owned())),
            }
        }
    }

    /// The next event of a watch that must go on.
    pub async fn event(&mut self) -> Event {
        self.next().await.expect("a connection that lives").expect("a watch that goes on")
    }
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Event(pub Value);

impl Event {
    /// `ADDED` and so on.
    pub fn kind(&self) -> &str {
        self.0["type"].as_str().expect("an event has a type")
    }

    pub fn name(&self) -> &str {
        self.0["object"]["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub fn version(&self) -> u64 {
        version(&self.0["object"])
    }
}

/// The resource version of an object.
pub fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap_or_else(|| panic!("no version in {object}"));
    text.parse().expect("a number")
}

/// A config map.
pub fn config_map(name: &str, value: &str) -> Value {
    serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
}

/// Where config maps are.
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
