//! A backend that runs commands as plain processes of this machine, and the server in front of it.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use runtime::shim::control::Streams;
use runtime::streaming::{
    AttachRequest, Backend, BackendError, ByteStream, End, ExecRequest, PortForwardRequest, Server, Session, Terminal,
    TerminalSize,
};
use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Nothing here takes longer.
pub const WITHIN: Duration = Duration::from_secs(20);

pub const ALL: Streams = Streams { stdin: true, stdout: true, stderr: true };
pub const OUTPUT: Streams = Streams { stdin: false, stdout: true, stderr: true };

/// What the backend saw.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    Resized(TerminalSize),
    /// The input of an attached container ended after these bytes.
    InputEnded(Vec<u8>),
}

struct Processes {
    seen: mpsc::UnboundedSender<Seen>,
}

impl Backend for Processes {
    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<Session, BackendError>> {
        let seen = self.seen.clone();
        Box::pin(async move {
            let [program, arguments @ ..] = &request.command[..] else { return Err(BackendError("no command".into())) };
            let mut command = Command::new(program);
            command
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            if request.streams.stdin {
                command.stdin(Stdio::piped());
            }
            let mut child = command.spawn().map_err(|error| BackendError(error.to_string()))?;
            Ok(Session {
                stdin: child.stdin.take().map(|stdin| Box::new(stdin) as _),
                stdout: child.stdout.take().map(|stdout| Box::new(stdout) as _),
                stderr: child.stderr.take().map(|stderr| Box::new(stderr) as _),
                resize: Some(Box::new(move |size| drop(seen.send(Seen::Resized(size))))),
                end: Box::pin(exit_of(child)),
            })
        })
    }

    /// A container that greets, and listens until its input ends; then it exits with 7.
    fn attach(&self, _request: AttachRequest) -> BoxFuture<'_, Result<Session, BackendError>> {
        let seen = self.seen.clone();
        Box::pin(async move {
            let (stdin, heard) = duplex(64);
            let (ended, end) = tokio::sync::oneshot::channel();
            tokio::spawn(listen(heard, seen, ended));
            Ok(Session {
                stdin: Some(Box::new(stdin)),
                stdout: Some(Box::new(&b"hello\n"[..])),
                stderr: None,
                resize: None,
                end: Box::pin(async { end.await.unwrap_or(End::Failed("nobody listens".into())) }),
            })
        })
    }

    fn port_forward(&self, _sandbox: String, port: u16) -> BoxFuture<'_, Result<Box<dyn ByteStream>, BackendError>> {
        Box::pin(async move {
            let connected = TcpStream::connect(("127.0.0.1", port)).await;
            connected.map(|stream| Box::new(stream) as _).map_err(|error| BackendError(error.to_string()))
        })
    }
}

async fn exit_of(mut child: Child) -> End {
    match child.wait().await {
        Ok(status) => End::Exited(status.code().unwrap_or(137)),
        Err(error) => End::Failed(error.to_string()),
    }
}

async fn listen(mut heard: DuplexStream, seen: mpsc::UnboundedSender<Seen>, ended: tokio::sync::oneshot::Sender<End>) {
    let mut all = Vec::new();
    heard.read_to_end(&mut all).await.unwrap();
    // Whoever does not look at it does not wait for it either.
    let _ = seen.send(Seen::InputEnded(all));
    let _ = ended.send(End::Exited(7));
}

/// A server with its backend; both end when it is dropped.
pub struct Scene {
    pub server: Server,
    seen: mpsc::UnboundedReceiver<Seen>,
    pub closing: CancellationToken,
    _end: DropGuard,
}

impl Scene {
    pub async fn start() -> Scene {
        let (sender, seen) = mpsc::unbounded_channel();
        let closing = CancellationToken::new();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::start(listen, Arc::new(Processes { seen: sender }), closing.clone()).await.unwrap();
        Scene { server, seen, closing: closing.clone(), _end: closing.drop_guard() }
    }

    /// The path that runs a script.
    pub fn exec(&self, script: &str, streams: Streams) -> String {
        self.exec_in(script, streams, Terminal::None)
    }

    pub fn exec_in(&self, script: &str, streams: Streams, terminal: Terminal) -> String {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let request = ExecRequest { container: "c1".to_owned(), command, terminal, streams };
        self.path(&self.server.exec_url(request).unwrap())
    }

    pub fn attach(&self) -> String {
        let streams = Streams { stderr: false, ..ALL };
        let request = AttachRequest { container: "c1".to_owned(), terminal: Terminal::None, streams };
        self.path(&self.server.attach_url(request).unwrap())
    }

    pub fn port_forward(&self, ports: &[u16]) -> String {
        let request = PortForwardRequest { sandbox: "s1".to_owned(), ports: ports.to_vec() };
        self.path(&self.server.port_forward_url(request).unwrap())
    }

    fn path(&self, url: &str) -> String {
        url.strip_prefix(&format!("http://{}", self.server.address())).expect("the server's own address").to_owned()
    }

    pub async fn seen(&mut self) -> Seen {
        tokio::time::timeout(WITHIN, self.seen.recv()).await.expect("something is seen in time").unwrap()
    }
}

/// A port that answers everything with the same, in capitals, after the end of what it is sent.
pub async fn shouting_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).await.unwrap();
                tokio::io::AsyncWriteExt::write_all(&mut stream, &all.to_ascii_uppercase()).await
            });
        }
    });
    port
}

/// A port where nobody listens.
pub async fn silent_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
}
