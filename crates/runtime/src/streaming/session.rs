//! A session between a process and a client, whatever the transport: input in, output out, and at the end how it ended.
//!
//! Nothing is kept between the two but one buffer per stream: a client that does not read stops its own session. The
//! outcome comes after all output. A client that goes away has its last input passed on; then its session is over.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio_util::sync::CancellationToken;

use super::backend::{End, Reader, Session, TerminalSize, Writer};
use super::protocol::{Outcome, Version};

/// How much is copied at a time.
const COPY_BYTES: usize = 32 * 1024;
/// After the end of a process, whoever it left behind with its output has this long to write; then it is over.
const QUIET_AFTER_END: Duration = Duration::from_secs(5);
/// After the client has gone, the process has this long to take the input that is left.
const INPUT_AFTER_CLIENT: Duration = Duration::from_secs(5);
/// Sizes of terminals that do not end within this are none.
const SIZE_BYTES_MAX: usize = 4096;

/// The client's end of every stream.
pub struct Client {
    pub stdin: Option<Reader>,
    pub stdout: Option<Writer>,
    pub stderr: Option<Writer>,
    /// JSON with sizes of the terminal, one after the other.
    pub resize: Option<Reader>,
    pub error: Writer,
    /// Each is cancelled when all that was written to an output is on its way.
    pub sent: Vec<CancellationToken>,
    /// Cancelled when the client has gone.
    pub gone: CancellationToken,
    pub version: Version,
}

impl Client {
    /// Connects both until the process has ended and its output is with the client's transport, or the client has gone.
    pub async fn attend(&mut self, session: Session) -> End {
        let Session { stdin, stdout, stderr, resize, end } = session;
        let exited = CancellationToken::new();
        let ended = async {
            let end = end.await;
            exited.cancel();
            end
        };
        let output = async {
            let out = deliver(stdout, self.stdout.as_mut(), &exited);
            let err = deliver(stderr, self.stderr.as_mut(), &exited);
            tokio::join!(ended, out, err).0
        };
        let taken = CancellationToken::new();
        let input = async {
            let (stdin_of_client, sizes) = (self.stdin.take(), self.resize.take());
            let passing = async {
                pass_on(stdin_of_client, stdin).await;
                taken.cancel();
            };
            tokio::join!(passing, follow(sizes, resize));
            pending::<Infallible>().await
        };
        let left = async {
            self.gone.cancelled().await;
            // A process that does not take it in time does without.
            let _ = tokio::time::timeout(INPUT_AFTER_CLIENT, taken.cancelled()).await;
        };
        tokio::select! {
            end = output => end,
            never = input => match never {},
            () = left => End::Failed("the client went away".to_owned()),
        }
    }

    /// Ends the streams, the one with the outcome last.
    pub async fn conclude(mut self, outcome: &Outcome) -> io::Result<()> {
        for output in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
            // A client that has closed one of its streams may still wait for the outcome.
            let _ = output.shutdown().await;
        }
        for sent in &self.sent {
            sent.cancelled().await;
        }
        self.error.write_all(&self.version.last_words(outcome)).await?;
        self.error.shutdown().await
    }
}

/// Copies the client's input, and then its end. A process that takes no more is no reason to end anything else.
async fn pass_on(from: Option<Reader>, to: Option<Writer>) {
    let (Some(mut from), Some(mut to)) = (from, to) else { return };
    let copied = copy(&mut from, &mut to).await;
    if copied.is_ok() {
        let _ = to.shutdown().await;
    }
}

/// Copies output until its end; after the end of the process only while it keeps coming.
async fn deliver(from: Option<Reader>, to: Option<&mut Writer>, exited: &CancellationToken) {
    let (Some(mut from), Some(to)) = (from, to) else { return };
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let quiet = async {
            exited.cancelled().await;
            tokio::time::sleep(QUIET_AFTER_END).await;
        };
        let read = tokio::select! {
            read = from.read(&mut buffer) => read.unwrap_or(0),
            () = quiet => 0,
        };
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// What a client writes about its terminal.
#[derive(Deserialize)]
struct Size {
    #[serde(rename = "Width")]
    width: u16,
    #[serde(rename = "Height")]
    height: u16,
}

async fn follow(from: Option<Reader>, resize: Option<Box<dyn FnMut(TerminalSize) + Send>>) {
    let Some(mut from) = from else { return };
    let mut resize = resize.unwrap_or_else(|| Box::new(|_| {}));
    let mut unread = Vec::new();
    while from.read_buf(&mut unread).await.is_ok_and(|read| read > 0) {
        match sizes(&mut unread) {
            Ok(all) => all.into_iter().for_each(&mut resize),
            Err(error) => return tracing::debug!(%error, "a size of a terminal cannot be read"),
        }
        if unread.len() > SIZE_BYTES_MAX {
            return tracing::debug!("a size of a terminal has no end");
        }
    }
}

/// Takes the sizes that are complete.
fn sizes(unread: &mut Vec<u8>) -> Result<Vec<TerminalSize>, serde_json::Error> {
    let mut stream = serde_json::Deserializer::from_slice(unread).into_iter::<Size>();
    let (mut all, mut done) = (Vec::new(), 0);
    while let Some(size) = stream.next() {
        match size {
            Ok(Size { width, height }) => all.push(TerminalSize { columns: width, rows: height }),
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(error),
        }
        done = stream.byte_offset();
    }
    unread.drain(..done);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_in_any_pieces() {
        let mut unread = br#"{"Width":80,"Height":24}{"Width":100,"Hei"#.to_vec();
        assert_eq!(sizes(&mut unread).unwrap(), [TerminalSize { columns: 80, rows: 24 }]);
        unread.extend_from_slice(b"ght\":30}\n");
        assert_eq!(sizes(&mut unread).unwrap(), [TerminalSize { columns: 100, rows: 30 }]);
        assert_eq!(sizes(&mut unread).unwrap(), []);
        assert!(sizes(&mut b"{]".to_vec()).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_child_left_behind_does_not_keep_a_session_open() {
        let (mut process, stdout) = tokio::io::duplex(64);
        let (ours, mut client_out) = tokio::io::duplex(64);
        let (error, _client_error) = tokio::io::duplex(64);
        let mut client = Client {
            stdin: None,
            stdout: Some(Box::new(ours)),
            stderr: None,
            resize: None,
            error: Box::new(error),
            sent: Vec::new(),
            gone: CancellationToken::new(),
            version: Version::V4,
        };
        let session = Session {
            stdin: None,
            stdout: Some(Box::new(stdout)),
            stderr: None,
            resize: None,
            end: Box::pin(std::future::ready(End::Exited(0))),
        };
        process.write_all(b"the last line").await.unwrap();
        assert_eq!(client.attend(session).await, End::Exited(0));
        let mut seen = [0; 13];
        client_out.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"the last line");
    }
}
