//! A node whose agent hands every request to the test.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A request that reached the node.
pub struct Asked {
    pub path_and_query: String,
    pub headers: HeaderMap,
    pub certificate_shown: bool,
    pub with: With,
}

/// What the test can do about a request.
pub enum With {
    /// The pieces of a log.
    Log(mpsc::Sender<io::Result<Bytes>>),
    Stream(OnUpgrade),
    /// It has been answered.
    Nothing,
}

impl Asked {
    pub fn log(self) -> mpsc::Sender<io::Result<Bytes>> {
        match self.with {
            With::Log(pieces) => pieces,
            With::Stream(_) | With::Nothing => panic!("{} is no log", self.path_and_query),
        }
    }

    /// The node's end of an upgraded connection.
    pub async fn stream(self) -> TokioIo<Upgraded> {
        match self.with {
            With::Stream(upgrade) => TokioIo::new(upgrade.await.unwrap()),
            With::Log(_) | With::Nothing => panic!("{} is no stream", self.path_and_query),
        }
    }
}

/// Starts the agent.
pub async fn start(tls: Arc<ServerConfig>) -> (SocketAddr, mpsc::UnboundedReceiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, asked) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, TlsAcceptor::from(tls.clone()), sender.clone()));
        }
    });
    (address, asked)
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, sender: mpsc::UnboundedSender<Asked>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let certificate_shown = stream.get_ref().1.peer_certificates().is_some();
    let service = service_fn(move |request| {
        let sender = sender.clone();
        async move { Ok::<_, Infallible>(answer(request, &sender, certificate_shown).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A connection that breaks is what some tests are about.
    let _ = connection.with_upgrades().await;
}

async fn answer(
    mut request: Request<Incoming>,
    sender: &mpsc::UnboundedSender<Asked>,
    certificate_shown: bool,
) -> Response<Body> {
    let path_and_query = request.uri().path_and_query().unwrap().to_string();
    let headers = request.headers().clone();
    let (response, with) = match path_and_query.split('/').nth(1).unwrap() {
        _ if path_and_query.contains("/default/web/b") => (refused(), With::Nothing),
        "containerLogs" => {
            let (pieces, receiver) = mpsc::channel(1);
            (Response::new(log_body(receiver)), With::Log(pieces))
        }
        "exec" | "attach" | "portForward" => {
            let upgrade = hyper::upgrade::on(&mut request);
            (switched(&headers), With::Stream(upgrade))
        }
        _ => {
            let method = request.method().clone();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let said = [method.as_str().as_bytes(), b" ", &body].concat();
            let mut response = Response::new(whole(said));
            *response.status_mut() = StatusCode::IM_A_TEAPOT;
            (response, With::Nothing)
        }
    };
    // Tests that do not look at the request have dropped the receiver.
    let _ = sender.send(Asked { path_and_query, headers, certificate_shown, with });
    response
}

fn refused() -> Response<Body> {
    let mut response = Response::new(whole("container \"b\" is not there\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn switched(headers: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(whole(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answered = response.headers_mut();
    answered.insert(CONNECTION, "Upgrade".parse().unwrap());
    answered.insert(UPGRADE, headers[UPGRADE].clone());
    if let Some(key) = headers.get(SEC_WEBSOCKET_KEY) {
        answered.insert(SEC_WEBSOCKET_ACCEPT, derive_accept_key(key.as_bytes()).parse().unwrap());
        answered.insert(SEC_WEBSOCKET_PROTOCOL, headers[SEC_WEBSOCKET_PROTOCOL].clone());
    }
    if let Some(version) = headers.get("x-stream-protocol-version") {
        answered.insert("x-stream-protocol-version", version.clone());
    }
    response
}

fn log_body(receiver: mpsc::Receiver<io::Result<Bytes>>) -> Body {
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece.map(Frame::data), receiver))
    });
    Body::new(StreamBody::new(pieces))
}

fn whole(bytes: impl Into<Bytes>) -> Body {
    Body::new(Full::new(bytes.into()).map_err(|never| match never {}))
}
