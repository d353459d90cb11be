//! Requests to the server: a path with a token, and an upgrade to a protocol that is spoken here. All else is refused
//! with a sentence that says why.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::backend::{Backend, PortForwardRequest};
use super::protocol::{self, Framing, PORT_FORWARD, TUNNELLED_PORT_FORWARD, Version};
use super::remote_command::{self, RemoteCommand};
use super::{Promised, State, port_forward};

const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const ACCEPTED_PROTOCOLS: HeaderName = HeaderName::from_static("x-accepted-stream-protocol-versions");
const SPDY: &str = "SPDY/3.1";

type Answer = Response<Full<Bytes>>;

/// What is done with the connection once it is upgraded.
enum Service {
    CommandOverWebSocket(RemoteCommand, Version, Framing),
    CommandOverSpdy(RemoteCommand, Version),
    PortsOverChannels(PortForwardRequest, Framing),
    PortsOverTunnel(PortForwardRequest),
    PortsOverSpdy(PortForwardRequest),
}

/// Answers a request; after an upgrade the connection is served in the background.
pub fn answer(state: &Arc<State>, mut request: Request<Incoming>) -> Answer {
    if request.method() != Method::GET && request.method() != Method::POST {
        return refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST are answered here");
    }
    let Some(promised) = promised(state, request.uri().path()) else {
        return refusal(StatusCode::NOT_FOUND, "404 page not found");
    };
    let (service, agreement) = match agree(promised, request.headers()) {
        Ok(agreed) => agreed,
        Err(refusal) => return *refusal,
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let (backend, closing) = (Arc::clone(&state.backend), state.closing.clone());
    state.tasks.spawn(async move {
        let serving = async {
            match upgrade.await {
                Ok(upgraded) => service.run(TokioIo::new(upgraded), backend).await,
                Err(error) => tracing::debug!(%error, "a streaming connection was not upgraded"),
            }
        };
        tokio::select! {
            () = serving => {}
            () = closing.cancelled() => {}
        }
    });
    agreement
}

impl Service {
    async fn run(self, io: TokioIo<hyper::upgrade::Upgraded>, backend: Arc<dyn Backend>) {
        match self {
            Service::CommandOverWebSocket(command, version, framing) => {
                remote_command::over_websocket(io, (version, framing), command, backend).await;
            }
            Service::CommandOverSpdy(command, version) => {
                remote_command::over_spdy(io, version, command, backend).await;
            }
            Service::PortsOverChannels(request, framing) => {
                port_forward::over_channels(io, framing, request, backend).await;
            }
            Service::PortsOverTunnel(request) => port_forward::over_tunnel(io, request, backend).await,
            Service::PortsOverSpdy(request) => port_forward::over_spdy(io, request, backend).await,
        }
    }
}

/// What a path's token stands for, if it is one of this kind. The token is used up either way.
fn promised(state: &State, path: &str) -> Option<Promised> {
    let (kind, token) = path.strip_prefix('/')?.split_once('/')?;
    let promised = state.take(token)?;
    (promised.kind() == kind).then_some(promised)
}

/// Chooses a protocol, in the order of the client's liking.
fn agree(promised: Promised, headers: &HeaderMap) -> Result<(Service, Answer), Box<Answer>> {
    if !words(headers, &CONNECTION).iter().any(|word| word.eq_ignore_ascii_case("upgrade")) {
        return Err(refuse("unable to upgrade: this address is for upgrades to WebSocket or SPDY/3.1 only"));
    }
    let upgrades = words(headers, &UPGRADE);
    if upgrades.iter().any(|word| word.eq_ignore_ascii_case("websocket")) {
        return over_websocket(promised, headers);
    }
    if upgrades.iter().any(|word| word.eq_ignore_ascii_case(SPDY)) {
        return over_spdy(promised, headers);
    }
    Err(refuse("unable to upgrade: the header Upgrade must ask for websocket or SPDY/3.1"))
}

fn over_websocket(promised: Promised, headers: &HeaderMap) -> Result<(Service, Answer), Box<Answer>> {
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(refuse("unable to upgrade: the only version of WebSocket that is spoken here is 13"));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY);
    let key = key.ok_or_else(|| refuse("unable to upgrade: a WebSocket needs the header Sec-WebSocket-Key"))?;
    let offered = words(headers, &SEC_WEBSOCKET_PROTOCOL);
    let (service, chosen) = match promised {
        Promised::Command(command) => {
            let chosen = offered.iter().find_map(|name| Some((Some(*name), protocol::channels_named(name)?)));
            let plain = offered.is_empty().then_some((None, (Version::V1, Framing::Binary)));
            let (name, (version, framing)) = chosen.or(plain).ok_or_else(|| unknown(&offered))?;
            (Service::CommandOverWebSocket(command, version, framing), name)
        }
        Promised::Ports(request) => {
            let chosen = offered.iter().find_map(|name| Some((Some(*name), protocol::ports_named(name)?)));
            let plain = offered.is_empty().then_some((None, Framing::Binary));
            let (name, framing) = chosen.or(plain).ok_or_else(|| unknown(&offered))?;
            (over_channels(request, framing)?, name)
        }
    };
    let accepted = derive_accept_key(key.as_bytes());
    let mut answer = switching("websocket");
    for (name, value) in [(SEC_WEBSOCKET_ACCEPT, Some(accepted.as_str())), (SEC_WEBSOCKET_PROTOCOL, chosen)] {
        if let Some(Ok(value)) = value.map(HeaderValue::from_str) {
            answer.headers_mut().insert(name, value);
        }
    }
    Ok((service, answer))
}

fn over_channels(request: PortForwardRequest, framing: Framing) -> Result<Service, Box<Answer>> {
    if framing == Framing::Raw {
        return Ok(Service::PortsOverTunnel(request));
    }
    // A channel is named by one byte, or one digit; a port has two.
    let most = if framing == Framing::Base64 { 5 } else { 127 };
    if request.ports.is_empty() || request.ports.len() > most {
        let reason = format!("unable to upgrade: this protocol needs 1 to {most} ports named in the request");
        return Err(refuse(&reason));
    }
    Ok(Service::PortsOverChannels(request, framing))
}

fn over_spdy(promised: Promised, headers: &HeaderMap) -> Result<(Service, Answer), Box<Answer>> {
    let offered = words(headers, &STREAM_PROTOCOL);
    if offered.is_empty() {
        return Err(refuse("unable to upgrade: the header X-Stream-Protocol-Version is needed"));
    }
    let (service, chosen) = match promised {
        Promised::Command(command) => {
            let version = |name: &&str| Version::OVER_SPDY.into_iter().find(|version| version.name() == *name);
            let chosen = offered.iter().find_map(version);
            let names = Version::OVER_SPDY.map(Version::name);
            let version = chosen.ok_or_else(|| no_common(&offered, &names))?;
            (Service::CommandOverSpdy(command, version), version.name())
        }
        Promised::Ports(request) => {
            if !offered.contains(&PORT_FORWARD) {
                return Err(no_common(&offered, &[PORT_FORWARD]));
            }
            (Service::PortsOverSpdy(request), PORT_FORWARD)
        }
    };
    let mut answer = switching(SPDY);
    answer.headers_mut().insert(STREAM_PROTOCOL, HeaderValue::from_static(chosen));
    Ok((service, answer))
}

/// The words of a header that is a list, of all its lines.
fn words<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Vec<&'h str> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|word| !word.is_empty()).collect()
}

fn switching(protocol: &'static str) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.headers_mut().insert(UPGRADE, HeaderValue::from_static(protocol));
    answer
}

fn unknown(offered: &[&str]) -> Box<Answer> {
    let known = format!("v5 to v1 of channel.k8s.io, base64.channel.k8s.io, or for ports {TUNNELLED_PORT_FORWARD}");
    refuse(&format!(
        "unable to upgrade: no WebSocket protocol in common: client offers {offered:?}, server knows {known}"
    ))
}

fn no_common(offered: &[&str], known: &[&'static str]) -> Box<Answer> {
    let reason = format!(
        "unable to upgrade: unable to negotiate protocol: client supports {offered:?}, server accepts {known:?}"
    );
    let mut answer = refusal(StatusCode::FORBIDDEN, &reason);
    for name in known {
        answer.headers_mut().append(ACCEPTED_PROTOCOLS, HeaderValue::from_static(name));
    }
    Box::new(answer)
}

fn refuse(reason: &str) -> Box<Answer> {
    Box::new(refusal(StatusCode::BAD_REQUEST, reason))
}

fn refusal(code: StatusCode, reason: &str) -> Answer {
    let mut answer = Response::new(Full::from(format!("{reason}\n")));
    *answer.status_mut() = code;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
    answer
}
