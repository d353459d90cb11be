//! One connection to a node or a pod, with HTTP/1.1 on it: the only version in which connections are upgraded.

use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::RequestBody;

/// What is held of an answer while the client is slow.
const BUFFER_BYTES: usize = 64 * 1024;
/// A silent peer is asked whether it still lives after this long, this often, and this many times.
const ASK_AFTER: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_secs(15);
const ASK_TIMES: u32 = 4;

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("dial tcp {at}: {source}")]
    Dial { at: String, source: std::io::Error },
    #[error("{host} is neither a host name nor an address")]
    Name { host: String },
    #[error("tls: {0}")]
    Tls(std::io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
}

/// A connection that waits for a request.
pub struct Agent {
    pub sender: SendRequest<RequestBody>,
    /// Moves the bytes. The connection is closed when this is dropped.
    pub driver: AbortOnDropHandle<()>,
}

/// Connects; by TLS if there is a configuration for it.
pub async fn connect(host: &str, port: u16, tls: Option<&Arc<ClientConfig>>) -> Result<Agent, ConnectError> {
    let dialed = TcpStream::connect((host, port)).await;
    let stream = dialed.map_err(|source| ConnectError::Dial { at: format!("{host}:{port}"), source })?;
    // Without these options a stream is slower, or ends later; it works all the same.
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(ASK_AFTER).with_interval(ASK_EVERY).with_retries(ASK_TIMES);
    let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
    match tls {
        None => shake_hands(stream).await,
        Some(config) => {
            let name = ServerName::try_from(host.to_owned());
            let name = name.map_err(|_| ConnectError::Name { host: host.to_owned() })?;
            let connector = TlsConnector::from(Arc::clone(config));
            shake_hands(connector.connect(name, stream).await.map_err(ConnectError::Tls)?).await
        }
    }
}

async fn shake_hands(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Agent, ConnectError> {
    let mut builder = Builder::new();
    builder.max_buf_size(BUFFER_BYTES);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to a node ended");
        }
    });
    Ok(Agent { sender, driver: AbortOnDropHandle::new(driver) })
}
