//! Exec, attach and port-forward for CRI clients: each request is answered with an address of this server that works once,
//! and the client connects there by WebSocket or SPDY/3.1.
//!
//! The server moves bytes between the client and a [`Backend`]. It does not know containers, and the token in an address
//! is all that it asks of a client: it is meant to listen on loopback, where the node's agent reaches it.

mod activity;
mod backend;
mod dial;
mod http;
mod port_forward;
mod protocol;
mod remote_command;
mod session;
pub mod spdy;
mod tokens;
mod websocket;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use backend::{
    AttachRequest, Backend, BackendError, ByteStream, End, ExecRequest, PortForwardRequest, Reader, Session, Terminal,
    TerminalSize, Writer,
};
pub use dial::dial_in_namespace;

use crate::shim::control::Streams;
use remote_command::RemoteCommand;
use tokens::Pending;

/// A connection over which nothing goes for this long is ended.
const IDLE_LIMIT: Duration = Duration::from_secs(4 * 60 * 60);
/// A client has this long to open the streams that belong together.
const STREAMS_WITHIN: Duration = Duration::from_secs(30);
/// A client has this long to send the head of its request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// The head of a request has room in this.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// More requests at the same time than this wait to be accepted; upgraded connections do not count.
const REQUESTS_MAX: usize = 256;
/// After an accept failed, as it does without descriptors, this long passes until the next.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Why a request gets no address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RequestError {
    #[error("missing required container_id")]
    NoContainer,
    #[error("missing required pod_sandbox_id")]
    NoSandbox,
    #[error("tty and stderr cannot both be true")]
    TerminalWithStderr,
    #[error("one of stdin, stdout, or stderr must be set")]
    NoStreams,
    #[error("the system has no random bytes for a token")]
    NoRandomness,
}

/// What an address was given out for.
enum Promised {
    Command(RemoteCommand),
    Ports(PortForwardRequest),
}

impl Promised {
    /// The first segment of its path.
    fn kind(&self) -> &'static str {
        match self {
            Promised::Command(RemoteCommand::Exec(_)) => "exec",
            Promised::Command(RemoteCommand::Attach(_)) => "attach",
            Promised::Ports(_) => "portforward",
        }
    }
}

/// What requests share.
struct State {
    backend: Arc<dyn Backend>,
    pending: Mutex<Pending<Promised>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl State {
    fn take(&self, token: &str) -> Option<Promised> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).take(token, Instant::now())
    }
}

/// The server. It ends, with all its connections, when its token is cancelled.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

impl Server {
    /// Listens and serves in the background; port 0 takes any that is free.
    pub async fn start(
        listen: SocketAddr,
        backend: Arc<dyn Backend>,
        closing: CancellationToken,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let state = State { backend, pending: Mutex::default(), tasks: TaskTracker::new(), closing: closing.clone() };
        let state = Arc::new(state);
        let accepting = accept(listener, Arc::clone(&state));
        state.tasks.spawn(async move {
            tokio::select! {
                () = accepting => {}
                () = closing.cancelled() => {}
            }
        });
        Ok(Server { address, state })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when everything has ended after the token was cancelled.
    pub async fn stopped(&self) {
        self.state.closing.cancelled().await;
        self.state.tasks.close();
        self.state.tasks.wait().await;
    }

    pub fn exec_url(&self, request: ExecRequest) -> Result<String, RequestError> {
        check(&request.container, request.terminal, request.streams)?;
        self.promise(Promised::Command(RemoteCommand::Exec(request)))
    }

    pub fn attach_url(&self, request: AttachRequest) -> Result<String, RequestError> {
        check(&request.container, request.terminal, request.streams)?;
        self.promise(Promised::Command(RemoteCommand::Attach(request)))
    }

    pub fn port_forward_url(&self, request: PortForwardRequest) -> Result<String, RequestError> {
        if request.sandbox.is_empty() {
            return Err(RequestError::NoSandbox);
        }
        self.promise(Promised::Ports(request))
    }

    fn promise(&self, what: Promised) -> Result<String, RequestError> {
        let token = tokens::fresh().ok_or(RequestError::NoRandomness)?;
        let url = format!("http://{}/{}/{token}", self.address, what.kind());
        let mut pending = self.state.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.add(token, what, Instant::now());
        Ok(url)
    }
}

fn check(container: &str, terminal: Terminal, streams: Streams) -> Result<(), RequestError> {
    if container.is_empty() {
        return Err(RequestError::NoContainer);
    }
    // A terminal has one way out.
    if terminal == Terminal::Tty && streams.stderr {
        return Err(RequestError::TerminalWithStderr);
    }
    if streams == Streams::default() {
        return Err(RequestError::NoStreams);
    }
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let room = Arc::new(Semaphore::new(REQUESTS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a streaming connection was not accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let served = Arc::clone(&state);
        state.tasks.spawn(async move {
            tokio::select! {
                () = serve(stream, &served) => {}
                () = served.closing.cancelled() => {}
            }
            drop(permit);
        });
    }
}

/// Answers requests until one of them is upgraded.
async fn serve(stream: TcpStream, state: &Arc<State>) {
    // Key strokes are small and must not wait for more.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let answer = http::answer(state, request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a streaming request broke off");
    }
}
