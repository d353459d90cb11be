//! Port-forward over either transport: for every connection of the client's, one stream of data and one for an error.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, copy_bidirectional};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::backend::{Backend, PortForwardRequest};
use super::protocol::Framing;
use super::spdy::{Connection, Opened, Stream};
use super::websocket::{Channels, Use};
use super::{IDLE_LIMIT, STREAMS_WITHIN};

/// Serves a client over WebSocket: two channels for each port of the request, in its order.
pub async fn over_channels(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    framing: Framing,
    request: PortForwardRequest,
    backend: Arc<dyn Backend>,
) {
    let uses: Vec<Use> = request.ports.iter().flat_map(|_| [Use::Both, Use::ToClient]).collect();
    let (channels, ends) = Channels::start(io, &uses, framing, IDLE_LIMIT).await;
    for (number, port) in (0..=u8::MAX).zip(request.ports.iter().flat_map(|port| [port, port])) {
        channels.send(number, &port.to_le_bytes()).await;
    }
    let mut ends = ends.into_iter();
    let mut forwards = JoinSet::new();
    for port in request.ports {
        let (Some(data), Some(error)) = (ends.next(), ends.next()) else { break };
        forwards.spawn(over_pair(Arc::clone(&backend), request.sandbox.clone(), port, data.pipe, error.pipe));
    }
    tokio::select! {
        _done = forwards.join_all() => channels.close().await,
        () = channels.gone().cancelled_owned() => {}
    }
}

async fn over_pair(
    backend: Arc<dyn Backend>,
    sandbox: String,
    port: u16,
    mut data: DuplexStream,
    mut error: DuplexStream,
) {
    if let Err(reason) = forward(&*backend, &sandbox, port, &mut data).await {
        // Fails when the client is gone.
        let _ = error.write_all(reason.as_bytes()).await;
    }
}

/// Serves a client whose SPDY frames are inside WebSocket messages.
pub async fn over_tunnel(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: PortForwardRequest,
    backend: Arc<dyn Backend>,
) {
    let (channels, mut ends) = Channels::start(io, &[Use::Both], Framing::Raw, IDLE_LIMIT).await;
    let Some(inside) = ends.pop() else { return };
    over_spdy(inside.pipe, request, backend).await;
    channels.close().await;
}

/// Serves a client over SPDY.
pub async fn over_spdy(
    io: impl AsyncRead + AsyncWrite + Send + 'static,
    request: PortForwardRequest,
    backend: Arc<dyn Backend>,
) {
    let mut connection = Connection::start(io, IDLE_LIMIT);
    let mut waiting: HashMap<String, Half> = HashMap::new();
    let mut forwards = JoinSet::new();
    loop {
        let oldest = waiting.values().map(|half| half.since).min();
        let opened = tokio::select! {
            opened = connection.accept() => opened,
            Some(_done) = forwards.join_next() => continue,
            () = expired(oldest) => {
                give_up(&mut waiting).await;
                continue;
            }
        };
        let Some(opened) = opened else { return };
        let Some(half) = Half::accepted(opened).await else { continue };
        match waiting.remove(&half.request) {
            None => drop(waiting.insert(half.request.clone(), half)),
            Some(other) if other.kind == half.kind => {
                half.stream.reset().await;
                waiting.insert(other.request.clone(), other);
            }
            Some(other) => {
                let (data, error) = if half.kind == Kind::Data { (half, other) } else { (other, half) };
                forwards.spawn(over_streams(Arc::clone(&backend), request.sandbox.clone(), data, error.stream));
            }
        }
    }
}

async fn expired(oldest: Option<Instant>) {
    match oldest {
        Some(since) => tokio::time::sleep_until(since + STREAMS_WITHIN).await,
        None => std::future::pending().await,
    }
}

/// Resets the streams whose others did not come in time.
async fn give_up(waiting: &mut HashMap<String, Half>) {
    let now = Instant::now();
    let late: Vec<Half> =
        waiting.extract_if(|_, half| half.since + STREAMS_WITHIN <= now).map(|(_, half)| half).collect();
    for half in late {
        half.stream.reset().await;
    }
}

/// What a stream of a pair is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Error,
}

/// One stream of a pair.
struct Half {
    kind: Kind,
    port: u16,
    /// What both streams of a pair have in common.
    request: String,
    stream: Stream,
    since: Instant,
}

impl Half {
    /// Accepts a stream that says what it is for; any other is refused.
    async fn accepted(opened: Opened) -> Option<Half> {
        let (Some(kind), Some(port)) = (kind_of(&opened), port_of(&opened)) else {
            opened.refuse().await;
            return None;
        };
        let request = request_of(&opened, kind);
        Some(Half { kind, port, request, stream: opened.accept().await, since: Instant::now() })
    }
}

fn kind_of(opened: &Opened) -> Option<Kind> {
    match opened.headers.get("streamType")? {
        "data" => Some(Kind::Data),
        "error" => Some(Kind::Error),
        _ => None,
    }
}

fn port_of(opened: &Opened) -> Option<u16> {
    opened.headers.get("port")?.parse().ok().filter(|port| *port > 0)
}

/// Old clients do not number their requests; they open the stream of data right after the one for the error.
fn request_of(opened: &Opened, kind: Kind) -> String {
    match (opened.headers.get("requestID"), kind) {
        (Some(id), _) if !id.is_empty() => id.to_owned(),
        (_, Kind::Error) => opened.id().to_string(),
        (_, Kind::Data) => opened.id().saturating_sub(2).to_string(),
    }
}

async fn over_streams(backend: Arc<dyn Backend>, sandbox: String, mut data: Half, mut error: Stream) {
    let reset = data.stream.reset_by_peer();
    let forwarded = tokio::select! {
        forwarded = forward(&*backend, &sandbox, data.port, &mut data.stream) => forwarded,
        () = reset.cancelled_owned() => Ok(()),
    };
    if let Err(reason) = forwarded {
        // Fails when the client is gone.
        let _ = error.write_all(reason.as_bytes()).await;
        data.stream.reset().await;
    }
}

/// Connects to a port and copies both ways; each end is passed on by itself.
async fn forward(
    backend: &dyn Backend,
    sandbox: &str,
    port: u16,
    data: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> Result<(), String> {
    let explain = |reason: String| format!("error forwarding port {port} to pod {sandbox}, uid : {reason}");
    let connected = backend.port_forward(sandbox.to_owned(), port).await;
    let mut target = connected.map_err(|error| explain(error.to_string()))?;
    let copied = copy_bidirectional(data, &mut target).await;
    copied.map(drop).map_err(|error| explain(error.to_string()))
}
