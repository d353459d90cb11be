//! Exec and attach over either transport: which streams the client opens, and what goes over them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::backend::{AttachRequest, Backend, ExecRequest, Terminal};
use super::protocol::{Framing, Outcome, Version};
use super::session::Client;
use super::spdy::{Connection, Opened, Stream};
use super::websocket::{Channels, Use};
use super::{IDLE_LIMIT, STREAMS_WITHIN};
use crate::shim::control::Streams;

const STDIN: usize = 0;
const STDOUT: usize = 1;
const STDERR: usize = 2;
const ERROR: usize = 3;
const RESIZE: usize = 4;
/// The names of the streams over SPDY; their places are the channels of a WebSocket.
const NAMES: [&str; 5] = ["stdin", "stdout", "stderr", "error", "resize"];

/// Which of the two is wanted.
pub enum RemoteCommand {
    Exec(ExecRequest),
    Attach(AttachRequest),
}

impl RemoteCommand {
    fn terminal(&self) -> Terminal {
        match self {
            RemoteCommand::Exec(request) => request.terminal,
            RemoteCommand::Attach(request) => request.terminal,
        }
    }

    fn streams(&self) -> Streams {
        match self {
            RemoteCommand::Exec(request) => request.streams,
            RemoteCommand::Attach(request) => request.streams,
        }
    }

    /// Runs it for a client until it has ended and the client's transport knows how.
    async fn run(self, backend: &dyn Backend, mut client: Client) {
        let outcome = match self {
            RemoteCommand::Exec(request) => match backend.exec(request).await {
                Ok(session) => Outcome::of_exec(client.attend(session).await),
                Err(error) => Outcome::exec_broke(&error.to_string()),
            },
            RemoteCommand::Attach(request) => match backend.attach(request).await {
                Ok(session) => Outcome::of_attach(client.attend(session).await),
                Err(error) => Outcome::attach_broke(&error.to_string()),
            },
        };
        if let Err(error) = client.conclude(&outcome).await {
            tracing::debug!(%error, "a client did not hear how its session ended");
        }
    }
}

/// Serves a client over WebSocket.
pub async fn over_websocket(
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    (version, framing): (Version, Framing),
    command: RemoteCommand,
    backend: Arc<dyn Backend>,
) {
    let streams = command.streams();
    let mut uses = [Use::Nothing, Use::Nothing, Use::Nothing, Use::ToClient, Use::FromClient];
    for (wanted, channel, usage) in [
        (streams.stdin, STDIN, Use::FromClient),
        (streams.stdout, STDOUT, Use::ToClient),
        (streams.stderr, STDERR, Use::ToClient),
    ] {
        if wanted {
            uses[channel] = usage;
        }
    }
    let (channels, ends) = Channels::start(io, &uses, framing, IDLE_LIMIT).await;
    let Ok([stdin, stdout, stderr, error, resize]) = <[_; 5]>::try_from(ends) else { return };
    // An empty message on the first channel that is written shows the client that the connection stands.
    let first = uses.iter().position(|usage| *usage == Use::ToClient).unwrap_or(ERROR);
    channels.send(first as u8, &[]).await;
    let client = Client {
        sent: vec![stdout.sent, stderr.sent],
        stdin: streams.stdin.then(|| Box::new(stdin.pipe) as _),
        stdout: streams.stdout.then(|| Box::new(stdout.pipe) as _),
        stderr: streams.stderr.then(|| Box::new(stderr.pipe) as _),
        resize: Some(Box::new(resize.pipe)),
        error: Box::new(error.pipe),
        gone: channels.gone(),
        version,
    };
    command.run(&*backend, client).await;
    channels.close().await;
}

/// Serves a client over SPDY.
pub async fn over_spdy(
    io: impl AsyncRead + AsyncWrite + Send + 'static,
    version: Version,
    command: RemoteCommand,
    backend: Arc<dyn Backend>,
) {
    let mut connection = Connection::start(io, IDLE_LIMIT);
    let Some(client) = opened(&mut connection, &command, version, STREAMS_WITHIN).await else {
        return connection.close().await;
    };
    let refusing = async {
        while let Some(opened) = connection.accept().await {
            opened.refuse().await;
        }
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        () = command.run(&*backend, client) => {}
        never = refusing => match never {},
    }
    connection.close().await;
}

/// Waits for the streams that belong to a request; others are refused. None if they do not all come in time.
async fn opened(
    connection: &mut Connection,
    command: &RemoteCommand,
    version: Version,
    within: Duration,
) -> Option<Client> {
    let streams = command.streams();
    let resizes = command.terminal() == Terminal::Tty && version >= Version::V3;
    let wanted = [streams.stdin, streams.stdout, streams.stderr, true, resizes];
    let mut found: [Option<Stream>; 5] = Default::default();
    let collecting = async {
        while found.iter().zip(wanted).any(|(found, wanted)| wanted && found.is_none()) {
            let opened = connection.accept().await?;
            match place_of(&opened).filter(|place| wanted[*place] && found[*place].is_none()) {
                Some(place) => found[place] = Some(opened.accept().await),
                None => opened.refuse().await,
            }
        }
        Some(())
    };
    let collected = tokio::time::timeout(within, collecting).await;
    if collected.is_err() {
        tracing::debug!("a streaming client did not open its streams in time");
    }
    collected.ok()??;
    let [stdin, stdout, stderr, error, resize] = found;
    Some(Client {
        sent: [&stdout, &stderr].into_iter().flatten().map(Stream::sent).collect(),
        stdin: stdin.map(|stream| Box::new(stream) as _),
        stdout: stdout.map(|stream| Box::new(stream) as _),
        stderr: stderr.map(|stream| Box::new(stream) as _),
        resize: resize.map(|stream| Box::new(stream) as _),
        error: Box::new(error?),
        gone: connection.gone(),
        version,
    })
}

fn place_of(opened: &Opened) -> Option<usize> {
    let name = opened.headers.get("streamType")?;
    let place = NAMES.iter().position(|known| *known == name)?;
    assert!(place <= RESIZE, "there is a name for every channel");
    Some(place)
}
