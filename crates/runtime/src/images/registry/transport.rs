//! One HTTP request: the connection, TLS, redirects, and a bound on every wait.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{Patience, Registries, RegistryError};

const REDIRECTS_MAX: usize = 5;
const AGENT: &str = concat!("eventide/", env!("CARGO_PKG_VERSION"));

/// Whom to trust and how long to wait.
pub struct Transport {
    trust: Arc<ClientConfig>,
    pub patience: Patience,
}

/// What is asked.
#[derive(Clone)]
pub struct Ask {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Transport {
    /// Reads certificates from disk.
    pub fn new(registries: &Registries) -> Result<Transport, RegistryError> {
        let mut roots = RootCertStore::empty();
        // A machine without any is fine as long as registries speak HTTP or bring their own.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for path in &registries.authorities {
            let refused = |why: String| RegistryError::Settings(format!("certificates in {path:?}: {why}"));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| refused(error.to_string()))?;
                roots.add(certificate).map_err(|error| refused(error.to_string()))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| RegistryError::Settings(error.to_string()))?;
        let trust = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        Ok(Transport { trust, patience: registries.patience })
    }

    /// Sends a request and follows redirects. What proves who we are stays with the host it was meant for.
    pub async fn send(&self, mut ask: Ask) -> Result<Response<Incoming>, RegistryError> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_once(&ask).await?;
            let Some(next) = redirected(&ask, &response)? else { return Ok(response) };
            if origin(&next) != origin(&ask.uri) {
                ask.headers.remove(AUTHORIZATION);
            }
            ask.uri = next;
        }
        Err(RegistryError::Invalid { at: at(&ask.uri), why: "it redirects in a circle".to_owned() })
    }

    async fn send_once(&self, ask: &Ask) -> Result<Response<Incoming>, RegistryError> {
        let unavailable = |why: String| RegistryError::Unavailable { at: at(&ask.uri), why };
        let connected = timeout(self.patience.connect, self.connect(&ask.uri)).await;
        let stream = connected.map_err(|_| unavailable("no connection in time".to_owned()))??;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| unavailable(error.to_string()))?;
        // It ends with the response, or when that is dropped.
        tokio::spawn(connection);
        let mut request = Request::new(Full::new(ask.body.clone()));
        *request.method_mut() = ask.method.clone();
        let path = ask.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        *request.uri_mut() = path.parse().map_err(|_| invalid(&ask.uri, "its address cannot be asked for"))?;
        *request.headers_mut() = ask.headers.clone();
        let host = ask.uri.authority().and_then(|host| host.as_str().parse().ok());
        request.headers_mut().insert(HOST, host.ok_or_else(|| invalid(&ask.uri, "its address has no host"))?);
        request.headers_mut().insert(USER_AGENT, http::HeaderValue::from_static(AGENT));
        let response = timeout(self.patience.stall, sender.send_request(request)).await;
        let response = response.map_err(|_| unavailable("no answer in time".to_owned()))?;
        response.map_err(|error| unavailable(error.to_string()))
    }

    async fn connect(&self, uri: &Uri) -> Result<Box<dyn Stream>, RegistryError> {
        let unavailable = |error: std::io::Error| RegistryError::Unavailable { at: at(uri), why: error.to_string() };
        let host = uri.host().ok_or_else(|| invalid(uri, "its address has no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await.map_err(unavailable)?;
        stream.set_nodelay(true).map_err(unavailable)?;
        if !secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(host).map_err(|_| invalid(uri, "its name cannot be in a certificate"))?;
        let stream = TlsConnector::from(Arc::clone(&self.trust)).connect(name, stream).await;
        Ok(Box::new(stream.map_err(unavailable)?))
    }
}

/// Where a redirect leads; nothing if it is none.
fn redirected(ask: &Ask, response: &Response<Incoming>) -> Result<Option<Uri>, RegistryError> {
    let (status, location) = (response.status(), response.headers().get(LOCATION));
    let Some(location) = location.filter(|_| status.is_redirection() && ask.method == Method::GET) else {
        return Ok(None);
    };
    let refused = |why| invalid(&ask.uri, why);
    let location = location.to_str().map_err(|_| refused("it redirects to no address"))?;
    let next = match (location.starts_with("//"), location.starts_with('/')) {
        (false, true) => {
            let (scheme, host) = (ask.uri.scheme_str().unwrap_or("http"), ask.uri.authority());
            format!("{scheme}://{}{location}", host.map_or("", http::uri::Authority::as_str))
        }
        (true, _) => format!("{}:{location}", ask.uri.scheme_str().unwrap_or("http")),
        (false, false) => location.to_owned(),
    };
    let next: Uri = next.parse().map_err(|_| refused("it redirects to no address"))?;
    match (ask.uri.scheme_str(), next.scheme_str()) {
        (_, Some("https")) | (Some("http"), Some("http")) => Ok(Some(next)),
        (Some("https"), Some("http")) => Err(refused("it redirects from HTTPS to HTTP")),
        (_, _) => Err(refused("it redirects to another protocol")),
    }
}

fn origin(uri: &Uri) -> (Option<&str>, Option<&str>, Option<u16>) {
    (uri.scheme_str(), uri.host(), uri.port_u16())
}

fn invalid(uri: &Uri, why: &str) -> RegistryError {
    RegistryError::Invalid { at: at(uri), why: why.to_owned() }
}

/// An address for a message: without its query, which may hold secrets.
pub fn at(uri: &Uri) -> String {
    let (scheme, host) = (uri.scheme_str().unwrap_or("http"), uri.authority().map_or("", http::uri::Authority::as_str));
    format!("{scheme}://{host}{}", uri.path())
}
