//! When something last went over a connection, so that one over which nothing goes any more can be ended.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time of the last sign of life.
pub struct Activity(Mutex<Instant>);

impl Activity {
    pub fn begun() -> Activity {
        Activity(Mutex::new(Instant::now()))
    }

    pub fn seen(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns once nothing has been seen for this long.
    pub async fn ceased(&self, limit: Duration) {
        loop {
            let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + limit;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}
