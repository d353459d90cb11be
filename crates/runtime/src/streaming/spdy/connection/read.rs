//! What a peer's frames do.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, WriteHalf, duplex, split};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;

use super::stream::{Opened, Stream};
use super::{Direction, Directions, PIPE_BYTES, STREAMS_MAX, Shared};
use crate::streaming::spdy::{Decoder, Fin, Frame, Headers, SETTING_INITIAL_WINDOW, SpdyError, Ways, reset};

/// How much is read at a time.
const READ_BYTES: usize = 32 * 1024;
/// While a full pipe stops the reading, the peer is asked this often: its end shows only when something is sent.
const ASK_EVERY: Duration = Duration::from_secs(15);
/// Pings of a server have even numbers.
const OUR_PING: u32 = 2;

/// Reads one connection.
pub struct Reader {
    shared: Arc<Shared>,
    opener: mpsc::Sender<Opened>,
    pipes: HashMap<u32, WriteHalf<DuplexStream>>,
    /// The highest id that was opened.
    last: u32,
}

/// Whether to go on.
enum Next {
    Read,
    End,
}

impl Reader {
    pub fn new(shared: Arc<Shared>, opener: mpsc::Sender<Opened>) -> Reader {
        Reader { shared, opener, pipes: HashMap::new(), last: 0 }
    }

    /// Reads until the peer ends; an error is what the peer did wrong.
    pub async fn run(mut self, mut from: impl AsyncRead + Unpin) -> Result<(), SpdyError> {
        let (mut decoder, mut buffer) = (Decoder::default(), vec![0; READ_BYTES]);
        loop {
            // A connection that breaks ends like one that is closed.
            let read = from.read(&mut buffer).await.unwrap_or(0);
            if read == 0 {
                return Ok(());
            }
            self.shared.activity.seen();
            for frame in decoder.push(&buffer[..read])? {
                if let Next::End = self.handle(frame).await? {
                    return Ok(());
                }
            }
        }
    }

    async fn handle(&mut self, frame: Frame) -> Result<Next, SpdyError> {
        match frame {
            Frame::SynStream { id, fin, ways, headers, .. } => self.opened(id, fin, ways, headers).await?,
            Frame::Data { id, fin, bytes } => self.data(id, fin, &bytes).await?,
            Frame::Headers { id, fin: Fin::Last, .. } => self.finished(id).await,
            Frame::Headers { fin: Fin::More, .. } | Frame::SynReply { .. } => {}
            Frame::RstStream { id, .. } => {
                self.pipes.remove(&id);
                self.shared.break_off(id);
            }
            Frame::Settings(settings) => self.settings(&settings)?,
            Frame::WindowUpdate { id, delta } => {
                if self.shared.windows.update(id, delta).is_err() {
                    if id == 0 {
                        return Err(SpdyError::Window);
                    }
                    self.pipes.remove(&id);
                    self.shared.break_off(id);
                    self.answer(Frame::RstStream { id, status: reset::FLOW_CONTROL_ERROR })?;
                }
            }
            Frame::Ping(id) if id % 2 == 1 => self.answer(Frame::Ping(id))?,
            Frame::Ping(_) => {}
            // A client says goodbye when it has ended its streams; one that still has some is heard out.
            Frame::GoAway { .. } if self.shared.streams().is_empty() => return Ok(Next::End),
            Frame::GoAway { .. } => {}
        }
        Ok(Next::Read)
    }

    async fn opened(&mut self, id: u32, fin: Fin, ways: Ways, headers: Headers) -> Result<(), SpdyError> {
        if id.is_multiple_of(2) || id <= self.last {
            return self.answer(Frame::RstStream { id, status: reset::PROTOCOL_ERROR });
        }
        self.last = id;
        let full = self.shared.streams().len() >= STREAMS_MAX;
        // Kubernetes has no streams of one way; without the way back there is nothing to answer with.
        if full || ways == Ways::OpenerOnly {
            return self.answer(Frame::RstStream { id, status: reset::REFUSED_STREAM });
        }
        let (ours, theirs) = duplex(PIPE_BYTES);
        let (outbound, inbound) = split(ours);
        let reset = CancellationToken::new();
        let directions = Directions { inbound: true, outbound: true, reset: reset.clone() };
        self.shared.streams().insert(id, directions);
        self.shared.windows.open(id);
        self.pipes.insert(id, inbound);
        let stream = Stream::new(id, theirs, reset, Arc::clone(&self.shared));
        let opened = Opened { headers, stream, outbound };
        if self.opener.try_send(opened).is_err() {
            self.pipes.remove(&id);
            self.shared.break_off(id);
            return self.answer(Frame::RstStream { id, status: reset::REFUSED_STREAM });
        }
        if fin == Fin::Last {
            self.finished(id).await;
        }
        Ok(())
    }

    async fn data(&mut self, id: u32, fin: Fin, bytes: &Bytes) -> Result<(), SpdyError> {
        if id > self.last {
            return self.answer(Frame::RstStream { id, status: reset::INVALID_STREAM });
        }
        self.shared.credits.add(0, bytes.len());
        if !bytes.is_empty() && !self.delivered(id, bytes).await {
            self.shared.credits.add(id, bytes.len());
        }
        if fin == Fin::Last {
            self.finished(id).await;
        }
        Ok(())
    }

    /// Whether somebody will read it. The stream stays open when not: the peer ends it when it likes.
    async fn delivered(&mut self, id: u32, bytes: &[u8]) -> bool {
        let Some(pipe) = self.pipes.get_mut(&id) else { return false };
        let shared = &self.shared;
        let mut writing = std::pin::pin!(pipe.write_all(bytes));
        loop {
            tokio::select! {
                written = &mut writing => return written.is_ok(),
                () = tokio::time::sleep(ASK_EVERY) => {
                    // When there is no room, there is enough to send that shows whether the peer is there.
                    let _ = shared.control.try_send(Frame::Ping(OUR_PING));
                }
            }
        }
    }

    async fn finished(&mut self, id: u32) {
        if let Some(mut pipe) = self.pipes.remove(&id) {
            // Fails only when nobody reads it.
            let _ = pipe.shutdown().await;
        }
        self.shared.ended(id, Direction::Inbound);
    }

    fn settings(&self, settings: &[(u32, u32)]) -> Result<(), SpdyError> {
        for (id, value) in settings {
            if *id == SETTING_INITIAL_WINDOW {
                self.shared.windows.set_initial(*value).map_err(|_| SpdyError::Window)?;
            }
        }
        Ok(())
    }

    fn answer(&self, frame: Frame) -> Result<(), SpdyError> {
        match self.shared.control.try_send(frame) {
            // After our goodbye nothing is answered any more.
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err(SpdyError::Unread),
        }
    }
}
