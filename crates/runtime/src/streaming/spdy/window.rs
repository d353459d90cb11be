//! How much the peer lets us send: a window per stream and one over all of them.
//!
//! The SPDY library of the Go clients never opens a window again, so heeding windows from the start would end every
//! stream after 64 KiB. They are counted always, and heeded from the moment the peer speaks of them, by a setting or an
//! update. Until then TCP alone slows us down.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::INITIAL_WINDOW_BYTES;

/// A window must not grow beyond this.
const WINDOW_MAX: i64 = 0x7fff_ffff;

/// The windows of a connection.
pub struct Windows {
    counts: Mutex<Counts>,
    changed: Notify,
}

struct Counts {
    heeded: bool,
    initial: i64,
    connection: i64,
    streams: HashMap<u32, i64>,
}

/// A window was opened too far.
#[derive(Debug, PartialEq, Eq)]
pub struct Overflow;

impl Windows {
    pub fn new() -> Windows {
        let (initial, connection) = (INITIAL_WINDOW_BYTES, INITIAL_WINDOW_BYTES);
        let counts = Counts { heeded: false, initial, connection, streams: HashMap::new() };
        Windows { counts: Mutex::new(counts), changed: Notify::new() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open(&self, id: u32) {
        let mut counts = self.counts();
        let initial = counts.initial;
        counts.streams.insert(id, initial);
    }

    pub fn close(&self, id: u32) {
        self.counts().streams.remove(&id);
        self.changed.notify_waiters();
    }

    /// The peer changed the first window of streams, also of those that are open.
    pub fn set_initial(&self, bytes: u32) -> Result<(), Overflow> {
        let initial = i64::from(bytes);
        if initial > WINDOW_MAX {
            return Err(Overflow);
        }
        let mut counts = self.counts();
        let delta = initial - counts.initial;
        counts.heeded = true;
        counts.initial = initial;
        counts.streams.values_mut().for_each(|window| *window += delta);
        drop(counts);
        self.changed.notify_waiters();
        Ok(())
    }

    /// The peer opened a window again; stream 0 means the one over all.
    pub fn update(&self, id: u32, delta: u32) -> Result<(), Overflow> {
        let mut counts = self.counts();
        counts.heeded = true;
        let window = if id == 0 { Some(&mut counts.connection) } else { counts.streams.get_mut(&id) };
        // A stream may have ended while its update was on the way.
        let Some(window) = window else { return Ok(()) };
        *window += i64::from(delta);
        let grown = *window;
        drop(counts);
        self.changed.notify_waiters();
        if grown > WINDOW_MAX { Err(Overflow) } else { Ok(()) }
    }

    /// Waits until something may be sent on a stream; how many of the wanted bytes. None if the stream is closed.
    pub async fn take(&self, id: u32, wanted: usize) -> Option<usize> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.counts().take(id, wanted) {
                Some(0) => {}
                taken => return taken,
            }
            changed.await;
        }
    }
}

impl Counts {
    fn take(&mut self, id: u32, wanted: usize) -> Option<usize> {
        let stream = self.streams.get_mut(&id)?;
        let room = usize::try_from((*stream).min(self.connection)).unwrap_or(0);
        let taken = if self.heeded { wanted.min(room) } else { wanted };
        *stream -= taken as i64;
        self.connection -= taken as i64;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: usize = INITIAL_WINDOW_BYTES as usize;

    #[tokio::test]
    async fn a_peer_that_never_speaks_of_windows_is_not_held_to_them() {
        let windows = Windows::new();
        windows.open(1);
        for _ in 0..100 {
            assert_eq!(windows.take(1, WINDOW).await, Some(WINDOW));
        }
    }

    #[tokio::test]
    async fn a_window_that_is_heeded_ends_and_is_opened_again() {
        let windows = Windows::new();
        windows.open(1);
        windows.update(0, 10).unwrap();
        assert_eq!(windows.take(1, 2 * WINDOW).await, Some(WINDOW));
        let waiting = windows.take(1, 100);
        let opening = async {
            tokio::task::yield_now().await;
            windows.update(1, 7).unwrap();
        };
        assert_eq!(tokio::join!(waiting, opening).0, Some(7));
    }

    #[tokio::test]
    async fn the_window_over_all_streams_is_heeded_too() {
        let windows = Windows::new();
        windows.open(1);
        windows.open(3);
        windows.set_initial(1 << 20).unwrap();
        assert_eq!(windows.take(1, 60 * 1024).await, Some(60 * 1024));
        assert_eq!(windows.take(3, 60 * 1024).await, Some(4 * 1024));
    }

    #[tokio::test]
    async fn whoever_waits_for_a_window_of_a_closed_stream_hears_of_it() {
        let windows = Windows::new();
        windows.open(1);
        windows.set_initial(0).unwrap();
        let closing = async {
            tokio::task::yield_now().await;
            windows.close(1);
        };
        assert_eq!(tokio::join!(windows.take(1, 1), closing).0, None);
    }

    #[test]
    fn a_window_that_is_opened_too_far_is_an_error() {
        let windows = Windows::new();
        windows.open(1);
        assert_eq!(windows.update(1, 0x7fff_ffff), Err(Overflow));
        assert_eq!(windows.set_initial(u32::MAX), Err(Overflow));
    }
}
