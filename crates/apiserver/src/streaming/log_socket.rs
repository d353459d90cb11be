//! A log over WebSocket: every piece becomes a message. What the client sends is not looked at, only that it goes away.
//!
//! Only this direction and no extension is needed, which makes a frame a header of at most ten bytes; the full protocol
//! is between clients and nodes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};

use super::body::ProxyBody;
use crate::status::Status;

/// What a server appends to the key of a client to show that it understood (RFC 6455, 1.3).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The close frame of a stream that came to its end: status 1000.
const CLOSE: [u8; 4] = [0x88, 2, 0x03, 0xE8];

/// How the pieces of a log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Binary,
    Base64,
}

impl Protocol {
    fn named(name: &str) -> Option<Protocol> {
        match name {
            "binary.k8s.io" => Some(Protocol::Binary),
            "base64.binary.k8s.io" => Some(Protocol::Base64),
            _ => None,
        }
    }
}

/// A WebSocket that a client wants to read a log from.
pub struct LogSocket {
    key: HeaderValue,
    protocol: Protocol,
    /// The protocol as the client named it, if it did.
    chosen: Option<String>,
}

impl LogSocket {
    /// Whether the client wants a WebSocket; an error if it is one that cannot be had.
    pub fn asked_for(headers: &HeaderMap) -> Result<Option<LogSocket>, Status> {
        let websocket = headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
        if !websocket || !super::headers::is_upgrade(headers) {
            return Ok(None);
        }
        if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
            return Err(Status::bad_request("the only version of WebSocket that is spoken here is 13"));
        }
        let key = headers.get(SEC_WEBSOCKET_KEY).cloned();
        let key = key.ok_or_else(|| Status::bad_request("a WebSocket needs the header Sec-WebSocket-Key"))?;
        let named = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
        let named: Vec<&str> = named.flat_map(|value| value.split(',')).map(str::trim).collect();
        let known = named.iter().find_map(|name| Some((*name, Protocol::named(name)?)));
        match known {
            Some((name, protocol)) => Ok(Some(LogSocket { key, protocol, chosen: Some(name.to_owned()) })),
            None if named.is_empty() => Ok(Some(LogSocket { key, protocol: Protocol::Binary, chosen: None })),
            None => Err(Status::bad_request("a log is sent as binary.k8s.io or base64.binary.k8s.io")),
        }
    }

    /// Agrees, and sends the log once the client's end is there.
    pub fn open(self, client: OnUpgrade, log: ProxyBody) -> Response<ProxyBody> {
        let protocol = self.protocol;
        tokio::spawn(async move {
            match client.await {
                Ok(client) => send(TokioIo::new(client), protocol, log).await,
                Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
            }
        });
        let mut response = Response::new(ProxyBody::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        let proof = [self.key.as_bytes(), ACCEPT_SUFFIX.as_bytes()].concat();
        let proof = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &proof));
        let values = [(SEC_WEBSOCKET_ACCEPT, Some(proof)), (SEC_WEBSOCKET_PROTOCOL, self.chosen)];
        for (name, value) in values {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

async fn send(client: impl AsyncRead + AsyncWrite, protocol: Protocol, log: ProxyBody) {
    let (mut reads, writes) = split(client);
    let mut unread = [0; 512];
    let gone = async { while reads.read(&mut unread).await.is_ok_and(|count| count > 0) {} };
    tokio::select! {
        () = gone => {}
        sent = messages(writes, protocol, log) => if let Err(error) = sent {
            tracing::debug!(%error, "a log broke off");
        },
    }
}

/// As upstream does, an empty message first: it shows the client that the connection stands.
async fn messages(
    mut client: impl AsyncWrite + Unpin,
    protocol: Protocol,
    mut log: ProxyBody,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    client.write_all(&frame(protocol, &Bytes::new())).await?;
    client.flush().await?;
    while let Some(piece) = log.frame().await {
        if let Ok(piece) = piece?.into_data() {
            client.write_all(&frame(protocol, &piece)).await?;
            client.flush().await?;
        }
    }
    client.write_all(&CLOSE).await?;
    Ok(client.shutdown().await?)
}

fn frame(protocol: Protocol, piece: &Bytes) -> Vec<u8> {
    let (opcode, payload) = match protocol {
        Protocol::Binary => (0x82, piece.clone()),
        Protocol::Base64 => (0x81, STANDARD.encode(piece).into()),
    };
    let mut frame = vec![opcode];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < 126 => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        (_, Err(_)) => {
            frame.push(127);
            frame.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&payload);
    frame
}
