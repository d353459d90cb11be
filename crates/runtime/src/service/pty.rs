//! The runtime's end of a process's terminal, without blocking.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::fs::OFlags;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::streaming::TerminalSize;

pub struct Pty(AsyncFd<OwnedFd>);

/// What the process writes.
pub struct PtyReader(Arc<Pty>);

/// What the process reads.
pub struct PtyWriter(Arc<Pty>);

impl Pty {
    pub fn new(terminal: OwnedFd) -> io::Result<Pty> {
        rustix::fs::fcntl_setfl(&terminal, OFlags::RDWR | OFlags::NONBLOCK)?;
        #[expect(unsafe_code, reason = "registering a descriptor must be promised to be sound")]
        // SAFETY: the descriptor is owned by what is returned, and stays open as long as it is registered.
        let registered = unsafe { AsyncFd::register(terminal) }?;
        Ok(Pty(registered))
    }

    pub fn reader(self: &Arc<Self>) -> PtyReader {
        PtyReader(self.clone())
    }

    pub fn writer(self: &Arc<Self>) -> PtyWriter {
        PtyWriter(self.clone())
    }

    /// Takes a new size; one that cannot be had does not matter.
    pub fn resize(&self, size: TerminalSize) {
        let size = rustix::termios::Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
        let _ = rustix::termios::tcsetwinsize(self.0.get_ref(), size);
    }
}

impl AsyncRead for PtyReader {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.0.poll_read_ready(context))?;
            let read = guard.try_io(|pty| Ok(rustix::io::read(pty.get_ref(), buffer.initialize_unfilled())?));
            match read {
                Ok(Ok(read)) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                // A terminal that nobody has open on the other side gives an error instead of its end.
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Poll::Ready(Ok(())),
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for PtyWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.0.poll_write_ready(context))?;
            if let Ok(written) = guard.try_io(|pty| Ok(rustix::io::write(pty.get_ref(), bytes)?)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// A terminal has one line in both directions: its input cannot be ended alone.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
