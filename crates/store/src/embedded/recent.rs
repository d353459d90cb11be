//! The newest events, shared by all watchers, so that those who keep up never read the disk.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::tables::History;
use crate::limits::{MAX_RECENT_BYTES, MAX_RECENT_EVENTS, MAX_WATCH_BUFFER};
use crate::{Event, Prefix, Revision};

#[derive(Debug)]
pub struct Recent {
    ring: Mutex<Ring>,
}

/// Events without a gap between them.
#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Event>,
    bytes: usize,
}

/// Where the committer announces what is durable. Watchers learn of its end when it is dropped.
pub type Announcements = watch::Sender<Revision>;

impl Recent {
    pub fn new() -> Recent {
        Recent { ring: Mutex::default() }
    }

    /// Shows durable events to watchers. `newest` is the revision after the last of them.
    pub fn publish(&self, events: impl IntoIterator<Item = Event>, newest: Revision, announcements: &Announcements) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            ring.push(event);
        }
        drop(ring);
        announcements.send_replace(newest);
    }

    /// The events after `after` under `prefix`; none if they are not all in memory.
    pub fn history(&self, prefix: &Prefix, after: Revision) -> Option<History> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ring.events.front()?.revision();
        let skip = usize::try_from(after.next().get().checked_sub(first.get())?).ok()?;
        if skip >= ring.events.len() {
            return None;
        }
        let mut history = History { events: Vec::new(), seen: after };
        for event in ring.events.range(skip..) {
            if prefix.covers(event.key()) {
                history.events.push(event.clone());
            }
            history.seen = event.revision();
            if history.events.len() == MAX_WATCH_BUFFER {
                break;
            }
        }
        Some(history)
    }
}

impl Ring {
    fn push(&mut self, event: Event) {
        // After a failure, changes may have become durable that were never published; watchers read them from disk.
        if self.events.back().is_some_and(|last| last.revision().next() != event.revision()) {
            *self = Ring::default();
        }
        self.bytes += event.value_bytes();
        self.events.push_back(event);
        while self.events.len() > MAX_RECENT_EVENTS || self.bytes > MAX_RECENT_BYTES {
            let Some(dropped) = self.events.pop_front() else { break };
            self.bytes -= dropped.value_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Entry, Key};

    fn event(number: u64, bytes: usize) -> Event {
        let revision = Revision::new(number).unwrap();
        let value = Bytes::from(vec![0; bytes]);
        Event::Created { entry: Entry { key: Key::new("k").unwrap(), value, created: revision, modified: revision } }
    }

    fn revisions(ring: &Ring) -> Vec<u64> {
        ring.events.iter().map(|event| event.revision().get()).collect()
    }

    #[test]
    fn memory_for_recent_events_is_bounded_by_count_and_by_bytes() {
        let mut ring = Ring::default();
        (2..10_000).for_each(|number| ring.push(event(number, 1)));
        assert_eq!(ring.events.len(), MAX_RECENT_EVENTS);
        ring.push(event(10_000, MAX_RECENT_BYTES - 1));
        assert_eq!(revisions(&ring), [9_999, 10_000]);
        ring.push(event(10_001, MAX_RECENT_BYTES + 1));
        assert_eq!(revisions(&ring), []);
        assert_eq!(ring.bytes, 0);
    }

    #[test]
    fn a_gap_starts_the_ring_anew() {
        let mut ring = Ring::default();
        [2, 3, 5, 6].into_iter().for_each(|number| ring.push(event(number, 1)));
        assert_eq!(revisions(&ring), [5, 6]);
    }
}
