//! Watches of the embedded store: a place in history that moves on when it is asked.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch::Receiver;

use super::engine::Engine;
use super::recent::Recent;
use super::tables::History;
use crate::{Event, Notice, Prefix, Revision, StoreError, Watch, WatchEnd};

#[derive(Debug)]
pub struct EmbeddedWatch {
    pub(super) engine: Arc<Engine>,
    pub(super) recent: Arc<Recent>,
    pub(super) announced: Receiver<Revision>,
    pub(super) prefix: Prefix,
    /// Everything up to here is told or in `untold`.
    pub(super) seen: Revision,
    /// The newest revision that was told.
    pub(super) told: Revision,
    pub(super) untold: VecDeque<Event>,
    pub(super) ended: Option<WatchEnd>,
}

impl Watch for EmbeddedWatch {
    async fn next(&mut self) -> Result<Notice, WatchEnd> {
        loop {
            if let Some(notice) = self.next_untold() {
                return Ok(notice);
            }
            if let Some(end) = &self.ended {
                return Err(end.clone());
            }
            match self.look_further().await {
                Ok(history) => {
                    self.seen = history.seen;
                    self.untold.extend(history.events);
                }
                Err(end) => self.ended = Some(end),
            }
        }
    }
}

impl EmbeddedWatch {
    fn next_untold(&mut self) -> Option<Notice> {
        if let Some(event) = self.untold.pop_front() {
            self.told = event.revision();
            return Some(Notice::Event(event));
        }
        (self.seen > self.told).then(|| {
            self.told = self.seen;
            Notice::Progress(self.seen)
        })
    }

    /// Waits until there is more to see than was seen. Changes nothing, so that it can be dropped at any time.
    async fn look_further(&mut self) -> Result<History, WatchEnd> {
        let seen = self.seen;
        self.announced.wait_for(|newest| *newest > seen).await.map_err(|_| WatchEnd::Closed)?;
        if let Some(history) = self.recent.history(&self.prefix, seen) {
            return Ok(history);
        }
        let (engine, prefix) = (self.engine.clone(), self.prefix.clone());
        let read = move || engine.read(|snapshot| snapshot.history(&prefix, seen));
        match tokio::task::spawn_blocking(read).await {
            Ok(result) => result.map_err(end_for),
            Err(error) => Err(WatchEnd::Unavailable { reason: error.to_string() }),
        }
    }
}

fn end_for(error: StoreError) -> WatchEnd {
    match error {
        StoreError::Compacted { oldest, .. } => WatchEnd::Compacted { oldest },
        StoreError::Closed => WatchEnd::Closed,
        error => WatchEnd::Unavailable { reason: error.to_string() },
    }
}
