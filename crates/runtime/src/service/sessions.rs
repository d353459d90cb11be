//! What streaming connections are connected with: processes in containers, containers' own streams, ports of sandboxes.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use cri::v1::NamespaceMode;
use futures_util::future::BoxFuture;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::TcpStream;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::attached;
use super::pty::Pty;
use crate::container::State;
use crate::engine::{Engine, Running, Stream};
use crate::shim::control::{Question, Streams};
use crate::shims::Connection;
use crate::spec;
use crate::streaming::{
    AttachRequest, Backend, BackendError, ByteStream, End, ExecRequest, Reader, Session, Terminal, Writer,
    dial_in_namespace,
};

/// The engine, as the streaming server sees it.
pub struct Sessions {
    engine: Arc<Engine>,
}

impl Sessions {
    pub fn new(engine: Arc<Engine>) -> Sessions {
        Sessions { engine }
    }

    async fn exec(&self, request: ExecRequest) -> Result<Session, BackendError> {
        let container = self.engine.running(&request.container).map_err(told)?;
        match request.terminal {
            Terminal::Tty => {
                let wanted = spec::Terminal::Attached;
                let running = self.engine.exec(&container, &request.command, wanted, &[]).await.map_err(told)?;
                with_terminal(running, request.streams)
            }
            Terminal::None => {
                let mut pipes = Pipes::make(request.streams).map_err(told)?;
                let theirs = std::mem::take(&mut pipes.theirs);
                let along: Vec<_> = theirs.iter().map(|(pipe, stream)| (pipe.as_fd(), *stream)).collect();
                let wanted = spec::Terminal::None;
                let running = self.engine.exec(&container, &request.command, wanted, &along).await.map_err(told)?;
                Ok(Session { resize: None, end: ended(running), ..pipes.session })
            }
        }
    }

    async fn attach(&self, request: AttachRequest) -> Result<Session, BackendError> {
        let container = self.engine.running(&request.container).map_err(told)?;
        let question = Question::Attach { streams: request.streams };
        let mut connection = Connection::ask(&container.directory, &question, &[]).map_err(told)?;
        connection.answer().await.map_err(told)?;
        let end: BoxFuture<'static, End> = Box::pin(async move {
            container.ended().await;
            match container.state() {
                State::Exited { exit, .. } => End::Exited(exit.code),
                State::Created | State::Running(_) => End::Failed("the container goes on".to_owned()),
            }
        });
        Ok(attached::session(connection, request.streams, end))
    }

    async fn port_forward(&self, id: &str, port: u16) -> Result<Box<dyn ByteStream>, BackendError> {
        let sandbox = self.engine.sandboxes.find(id).map_err(told)?;
        if !sandbox.is_ready() {
            return Err(BackendError(format!("sandbox {id:?} is stopped")));
        }
        let stream = match sandbox.network_mode() {
            NamespaceMode::Node => TcpStream::connect(("localhost", port)).await,
            NamespaceMode::Pod | NamespaceMode::Container | NamespaceMode::Target => {
                dial_in_namespace(&sandbox.netns(), port).await
            }
        };
        let refused = |error| BackendError(format!("failed to connect to port {port} of sandbox {id:?}: {error}"));
        Ok(Box::new(stream.map_err(refused)?))
    }
}

impl Backend for Sessions {
    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<Session, BackendError>> {
        Box::pin(self.exec(request))
    }

    fn attach(&self, request: AttachRequest) -> BoxFuture<'_, Result<Session, BackendError>> {
        Box::pin(self.attach(request))
    }

    fn port_forward(&self, sandbox: String, port: u16) -> BoxFuture<'_, Result<Box<dyn ByteStream>, BackendError>> {
        Box::pin(async move { self.port_forward(&sandbox, port).await })
    }
}

fn told(error: impl std::fmt::Display) -> BackendError {
    BackendError(error.to_string())
}

fn ended(mut running: Running) -> BoxFuture<'static, End> {
    Box::pin(async move {
        match running.ended().await {
            Ok(code) => End::Exited(code),
            Err(error) => End::Failed(error.to_string()),
        }
    })
}

fn with_terminal(mut running: Running, streams: Streams) -> Result<Session, BackendError> {
    let terminal = running.terminal.take().ok_or_else(|| BackendError("the process got no terminal".to_owned()))?;
    let pty = Arc::new(Pty::new(terminal).map_err(told)?);
    let resized = pty.clone();
    Ok(Session {
        stdin: streams.stdin.then(|| Box::new(pty.writer()) as Writer),
        stdout: streams.stdout.then(|| Box::new(pty.reader()) as Reader),
        stderr: None,
        resize: Some(Box::new(move |size| resized.resize(size))),
        end: ended(running),
    })
}

/// Pipes between a process and whoever is connected with it.
struct Pipes {
    session: Session,
    theirs: Vec<(OwnedFd, Stream)>,
}

impl Pipes {
    fn make(streams: Streams) -> std::io::Result<Pipes> {
        let never: BoxFuture<'static, End> = Box::pin(std::future::pending());
        let mut session = Session { stdin: None, stdout: None, stderr: None, resize: None, end: never };
        let mut theirs = Vec::new();
        if streams.stdin {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            session.stdin = Some(Box::new(Sender::from_owned_fd(write)?));
            theirs.push((read, Stream::Stdin));
        }
        for (wanted, stream) in [(streams.stdout, Stream::Stdout), (streams.stderr, Stream::Stderr)] {
            if !wanted {
                continue;
            }
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            let reader: Reader = Box::new(Receiver::from_owned_fd(read)?);
            match stream {
                Stream::Stdout => session.stdout = Some(reader),
                Stream::Stderr | Stream::Stdin => session.stderr = Some(reader),
            }
            theirs.push((write, stream));
        }
        Ok(Pipes { session, theirs })
    }
}
