//! One HTTP/1.1 connection over TLS with the credentials of a kubeconfig.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Where a server is and how to be let in.
#[derive(Clone)]
pub struct Target {
    /// `HOST:PORT`
    authority: String,
    tls: Arc<ClientConfig>,
}

impl Target {
    /// Reads a kubeconfig with one cluster and one user whose credentials are inside the file.
    pub fn of_kubeconfig(path: &Path) -> Result<Target> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let config: Value = serde_saphyr::from_str(&text)?;
        let cluster = &config["clusters"][0]["cluster"];
        let user = &config["users"][0]["user"];
        let server = cluster["server"].as_str().context("no server")?;
        let pem =
            |value: &Value| -> Result<Vec<u8>> { Ok(STANDARD.decode(value.as_str().context("no credentials")?)?) };
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(&pem(&cluster["certificate-authority-data"])?) {
            roots.add(authority?)?;
        }
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(&pem(&user["client-certificate-data"])?).collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(&pem(&user["client-key-data"])?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        let authority = server.strip_prefix("https://").context("a server without TLS")?.to_owned();
        Ok(Target { authority, tls: Arc::new(tls) })
    }

    pub async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let host = self.authority.rsplit_once(':').map_or(&*self.authority, |(host, _)| host);
        let name = ServerName::try_from(host.to_owned())?;
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection { sender, authority: self.authority.clone() })
    }
}

/// A connection that is open.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Connection {
    /// Sends a request and reads the whole answer, which must be a success.
    pub async fn send(&mut self, method: Method, path: &str, content_type: &str, body: Bytes) -> Result<Bytes> {
        let answer = self.open(method.clone(), path, content_type, body).await?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{method} {path}: {status}: {}", String::from_utf8_lossy(&bytes));
        Ok(bytes)
    }

    /// Sends a request; the answer is read by the caller.
    pub async fn open(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<http::Response<Incoming>> {
        self.sender.ready().await?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.authority)
            .header("content-type", content_type)
            .body(Full::new(body))?;
        Ok(self.sender.send_request(request).await?)
    }
}
