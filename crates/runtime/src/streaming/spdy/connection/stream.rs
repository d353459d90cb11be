//! One stream, as its user sees it: a pipe that can also be reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, DuplexStream, ReadBuf, ReadHalf};
use tokio_util::sync::CancellationToken;

use super::{Direction, Shared};
use crate::streaming::spdy::{Fin, Frame, Headers, reset};

/// The most data in one frame.
const FRAME_BYTES: usize = 16 * 1024;

/// A stream that the peer opened and nobody has accepted.
pub struct Opened {
    pub headers: Headers,
    pub(super) stream: Stream,
    pub(super) outbound: ReadHalf<DuplexStream>,
}

impl Opened {
    pub fn id(&self) -> u32 {
        self.stream.id
    }

    /// Tells the peer that the stream stands. What is written to it is sent in the background.
    pub async fn accept(self) -> Stream {
        let Opened { stream, outbound, .. } = self;
        let reply = Frame::SynReply { id: stream.id, fin: Fin::More, headers: Headers::default() };
        // Fails when the connection is over, as every later write will.
        let _ = stream.shared.control.send(reply).await;
        let sent = stream.sent.clone().drop_guard();
        let pumping = pump(Arc::clone(&stream.shared), stream.id, outbound, stream.reset.clone());
        stream.shared.pumps.spawn(async move {
            let _sent = sent;
            pumping.await;
        });
        stream
    }

    /// Tells the peer that the stream is not wanted.
    pub async fn refuse(self) {
        self.stream.reset_for(reset::REFUSED_STREAM).await;
    }
}

/// A stream. Shutting it down ends our direction; dropping it does that too, and swallows what the peer still sends.
pub struct Stream {
    id: u32,
    pipe: DuplexStream,
    reset: CancellationToken,
    sent: CancellationToken,
    shared: Arc<Shared>,
}

impl Stream {
    pub(super) fn new(id: u32, pipe: DuplexStream, reset: CancellationToken, shared: Arc<Shared>) -> Stream {
        Stream { id, pipe, reset, sent: CancellationToken::new(), shared }
    }

    /// Cancelled when everything that was written is on its way, the end included, or never will be.
    pub fn sent(&self) -> CancellationToken {
        self.sent.clone()
    }

    /// Cancelled when the peer ends both directions in the middle.
    pub fn reset_by_peer(&self) -> CancellationToken {
        self.reset.clone()
    }

    /// Ends both directions at once; what was not sent is lost.
    pub async fn reset(self) {
        self.reset_for(reset::CANCEL).await;
    }

    async fn reset_for(self, status: u32) {
        if self.shared.break_off(self.id) {
            // Fails when the connection is over: the peer knows.
            let _ = self.shared.control.send(Frame::RstStream { id: self.id, status }).await;
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        let polled = Pin::new(&mut this.pipe).poll_read(cx, into);
        let read = into.filled().len() - before;
        if read > 0 {
            this.shared.credits.add(this.id, read);
        }
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().pipe).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_shutdown(cx)
    }
}

/// Sends what is written to a stream, as far as the peer has room, and then its end.
async fn pump(shared: Arc<Shared>, id: u32, outbound: ReadHalf<DuplexStream>, reset: CancellationToken) {
    tokio::select! {
        () = send(&shared, id, outbound) => {}
        () = reset.cancelled() => {}
        () = shared.gone.cancelled() => {}
    }
    shared.ended(id, Direction::Outbound);
}

async fn send(shared: &Shared, id: u32, mut outbound: ReadHalf<DuplexStream>) {
    let mut buffer = vec![0; FRAME_BYTES];
    loop {
        let read = outbound.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            let last = Frame::Data { id, fin: Fin::Last, bytes: Bytes::new() };
            // Fails when the connection is over.
            let _ = shared.data.send(last).await;
            return;
        }
        let mut rest = Bytes::copy_from_slice(&buffer[..read]);
        while !rest.is_empty() {
            let Some(room) = shared.windows.take(id, rest.len()).await else { return };
            let frame = Frame::Data { id, fin: Fin::More, bytes: rest.split_to(room) };
            if shared.data.send(frame).await.is_err() {
                return;
            }
        }
    }
}
