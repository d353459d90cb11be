//! What a streaming connection is about, and who carries it out.

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::shim::control::Streams;

/// To run one more process in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    pub container: String,
    pub command: Vec<String>,
    pub terminal: Terminal,
    pub streams: Streams,
}

/// To be connected with a container's own process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachRequest {
    pub container: String,
    pub terminal: Terminal,
    pub streams: Streams,
}

/// To reach ports of a sandbox. Only clients of the old WebSocket protocol need them named beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortForwardRequest {
    pub sandbox: String,
    pub ports: Vec<u16>,
}

/// Whether a process has a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    None,
    Tty,
}

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A connection to a port.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A process that runs, seen through its streams. Dropping it closes them; what that means to the process is its matter.
pub struct Session {
    /// Shut down or dropped at the end of the client's input.
    pub stdin: Option<Writer>,
    pub stdout: Option<Reader>,
    pub stderr: Option<Reader>,
    /// Takes a new size of the terminal, at once.
    pub resize: Option<Box<dyn FnMut(TerminalSize) + Send>>,
    /// Becomes known when the process ends.
    pub end: BoxFuture<'static, End>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    /// How it ended is not known, for this reason.
    Failed(String),
}

/// Why something was not begun; the client reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(pub String);

/// Who runs processes and reaches ports.
pub trait Backend: Send + Sync + 'static {
    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<Session, BackendError>>;

    fn attach(&self, request: AttachRequest) -> BoxFuture<'_, Result<Session, BackendError>>;

    /// Connects to a port of a sandbox.
    fn port_forward(&self, sandbox: String, port: u16) -> BoxFuture<'_, Result<Box<dyn ByteStream>, BackendError>>;
}
