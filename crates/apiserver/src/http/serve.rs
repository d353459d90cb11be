//! The listener: accepts connections, speaks TLS, and lets what is under way finish when the server stops.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::gate::{Gate, Peer};
use crate::authenticate::Certified;

/// Within this, a client has shaken hands and sent the headers of its first request.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Within this, the headers of a further request have arrived.
const HEADERS_WITHIN: Duration = Duration::from_secs(30);
/// Requests that one HTTP/2 connection may have under way.
const MAX_STREAMS: u32 = 1_000;
/// How often a silent HTTP/2 connection is asked whether it still lives, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(15);
/// How long connections may take to finish when the server stops.
const DRAIN_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted (no descriptors left).
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves until `closing`, then lets requests finish.
pub async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, gate: Arc<Gate>, closing: CancellationToken) {
    let acceptor = TlsAcceptor::from(tls);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, acceptor.clone(), gate.clone(), closing.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = closing.cancelled() => break,
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN_WITHIN, drained).await.is_err() {
        tracing::info!("some connections did not finish in time and are cut");
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, gate: Arc<Gate>, closing: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            gate.api().metrics.tls_handshake_errors.inc();
            return tracing::debug!(%error, "TLS handshake failed");
        }
        Err(_) => {
            gate.api().metrics.tls_handshake_errors.inc();
            return tracing::debug!("TLS handshake took too long");
        }
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let peer = Arc::new(Peer { certificate: certificate.map(|certificate| Certified::read(certificate)) });
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, peer) = (gate.clone(), peer.clone());
        async move { Ok::<_, std::convert::Infallible>(gate.handle(&peer, request).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "connection ended");
    }
}
