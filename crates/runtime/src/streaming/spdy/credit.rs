//! How much we let the peer send: what was taken from a stream is given back to it, in amounts worth a frame.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::INITIAL_WINDOW_BYTES;

/// From half a window on, the peer is told.
const WORTH_TELLING: u32 = INITIAL_WINDOW_BYTES as u32 / 2;

/// What was taken and not given back yet.
pub struct Credits {
    taken: Mutex<BTreeMap<u32, u32>>,
    due: Notify,
}

impl Credits {
    pub fn new() -> Credits {
        Credits { taken: Mutex::new(BTreeMap::new()), due: Notify::new() }
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<u32, u32>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This much was taken from a stream, or with 0, from the connection.
    pub fn add(&self, id: u32, bytes: usize) {
        let mut all = self.taken();
        let taken = all.entry(id).or_default();
        *taken = taken.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX)).min(0x7fff_ffff);
        if *taken >= WORTH_TELLING {
            self.due.notify_one();
        }
    }

    pub fn close(&self, id: u32) {
        self.taken().remove(&id);
    }

    /// Waits until something is worth telling, and returns it.
    pub async fn due(&self) -> Vec<(u32, u32)> {
        loop {
            let due: Vec<(u32, u32)> = self.taken().extract_if(.., |_, bytes| *bytes >= WORTH_TELLING).collect();
            if !due.is_empty() {
                return due;
            }
            self.due.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_amounts_are_told_together() {
        let credits = Credits::new();
        credits.add(1, 1000);
        credits.add(3, 40_000);
        assert_eq!(credits.due().await, [(3, 40_000)]);
        credits.add(1, 32_000);
        credits.add(3, 1);
        assert_eq!(credits.due().await, [(1, 33_000)]);
    }
}
