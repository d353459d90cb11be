//! One request to a webhook: where it is, whom it is believed to be, and a bound on everything it may cost.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::{ServiceReference, WebhookClientConfig};
use k8s_openapi::api::core::v1::Service;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::api::Api;

/// A longer answer is refused: it holds at most a patch of an object, in base64.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
const HTTPS_PORT: u16 = 443;

/// Why a webhook could not be asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CallError {
    #[error("clientConfig.caBundle is empty: without it no certificate of the webhook is trusted")]
    NoAuthority,
    #[error("clientConfig.caBundle cannot be used: {0}")]
    BadAuthority(String),
    #[error("clientConfig names neither a url nor a service")]
    Nowhere,
    #[error("clientConfig.url {url:?} cannot be used: {why}")]
    BadUrl { url: String, why: String },
    #[error("service {name:?} not found")]
    NoService { name: String },
    #[error("service {name:?} has no cluster IP to connect to")]
    NoClusterIp { name: String },
    #[error("no service port {port} found for service {name:?}")]
    NoPort { name: String, port: i32 },
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("TLS: {0}")]
    Tls(String),
    #[error("HTTP: {0}")]
    Http(String),
    #[error("the webhook answered with HTTP status {0}")]
    Code(u16),
    #[error("the answer is longer than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("context deadline exceeded: no complete answer within {0:?}")]
    TimedOut(Duration),
}

/// Where a webhook listens.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The host to connect to: a name to be resolved, or an address.
    host: String,
    port: u16,
    server_name: ServerName<'static>,
    /// As the webhook is told whom it is.
    authority: String,
    path: String,
}

impl Target {
    pub fn of(api: &Api, client: &WebhookClientConfig) -> Result<Target, CallError> {
        match (&client.url, &client.service) {
            (Some(url), _) => Target::of_url(url),
            (None, Some(reference)) => {
                let name = format!("{}/{}", reference.namespace, reference.name);
                let service = api.cached("", "services", &name).ok_or(CallError::NoService { name })?;
                Target::of_service(reference, &service)
            }
            (None, None) => Err(CallError::Nowhere),
        }
    }

    pub fn of_url(url: &str) -> Result<Target, CallError> {
        let refused = |why: &dyn std::fmt::Display| CallError::BadUrl { url: url.to_owned(), why: why.to_string() };
        let uri: Uri = url.parse().map_err(|error| refused(&error))?;
        if uri.scheme_str() != Some("https") {
            return Err(refused(&"only https is allowed"));
        }
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Ok(Target {
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(HTTPS_PORT),
            server_name: ServerName::try_from(host.to_owned()).map_err(|error| refused(&error))?,
            authority: uri.authority().map(ToString::to_string).unwrap_or_default(),
            path: uri.path().to_owned(),
        })
    }

    /// The names of services are not resolved by DNS: the server knows their addresses itself.
    pub fn of_service(reference: &ServiceReference, service: &Service) -> Result<Target, CallError> {
        let ServiceReference { name, namespace, path, port } = reference;
        let asked = port.unwrap_or(i32::from(HTTPS_PORT));
        let called = format!("{namespace}/{name}");
        let spec = service.spec.clone().unwrap_or_default();
        let host = spec.cluster_ip.filter(|address| !matches!(address.as_str(), "" | "None"));
        let host = host.ok_or_else(|| CallError::NoClusterIp { name: called.clone() })?;
        let offered = spec.ports.iter().flatten().any(|offered| offered.port == asked);
        let port = u16::try_from(asked).ok().filter(|_| offered);
        let port = port.ok_or(CallError::NoPort { name: called, port: asked })?;
        let known_as = format!("{name}.{namespace}.svc");
        let server_name = ServerName::try_from(known_as.clone())
            .map_err(|error| CallError::BadUrl { url: known_as.clone(), why: error.to_string() })?;
        let path = path.clone().filter(|path| !path.is_empty()).unwrap_or_else(|| "/".to_owned());
        Ok(Target { host, port, server_name, authority: format!("{known_as}:{port}"), path })
    }

    pub fn url(&self) -> String {
        format!("https://{}{}", self.authority, self.path)
    }
}

/// A TLS client that believes the authorities of this bundle and no others.
pub fn trusting(bundle: &[u8]) -> Result<Arc<ClientConfig>, CallError> {
    let bad = |error: &dyn std::fmt::Display| CallError::BadAuthority(error.to_string());
    if bundle.trim_ascii().is_empty() {
        return Err(CallError::NoAuthority);
    }
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"there is no certificate in it"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| bad(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Sends one question and reads the answer. The time bounds everything: resolving, connecting, TLS, the last byte.
pub async fn post(
    target: &Target,
    trust: Arc<ClientConfig>,
    question: Vec<u8>,
    timeout: Duration,
) -> Result<Bytes, CallError> {
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{}?timeout={seconds}s", target.path))
        .header(HOST, &target.authority)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "eventide")
        .body(Full::new(Bytes::from(question)))
        .map_err(|error| CallError::BadUrl { url: target.url(), why: error.to_string() })?;
    match tokio::time::timeout(timeout, exchange(target, trust, request)).await {
        Ok(answer) => answer,
        Err(_) => Err(CallError::TimedOut(timeout)),
    }
}

async fn exchange(
    target: &Target,
    trust: Arc<ClientConfig>,
    request: Request<Full<Bytes>>,
) -> Result<Bytes, CallError> {
    let http = |error: hyper::Error| CallError::Http(shown(&error));
    let connect = |error: io::Error| CallError::Connect(error.to_string());
    let socket = TcpStream::connect((target.host.as_str(), target.port)).await.map_err(connect)?;
    let secured = TlsConnector::from(trust).connect(target.server_name.clone(), socket).await;
    let secured = secured.map_err(|error| CallError::Tls(error.to_string()))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(secured)).await.map_err(http)?;
    let driven = async move {
        // How the connection ended is known to whoever waits for the answer.
        let _ = connection.await;
        std::future::pending::<Result<Bytes, CallError>>().await
    };
    let answered = async move {
        let response = sender.send_request(request).await.map_err(http)?;
        if !response.status().is_success() {
            return Err(CallError::Code(response.status().as_u16()));
        }
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() { CallError::TooLong } else { CallError::Http(error.to_string()) }
        })
    };
    tokio::select! {
        answer = answered => answer,
        never = driven => never,
    }
}

/// An error with what is behind it.
fn shown(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
