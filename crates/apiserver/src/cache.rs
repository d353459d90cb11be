//! Everything that is stored, in memory: what answers gets, lists and watches without touching the store.
//!
//! One watch of the whole store feeds one [`Shelf`] per stored kind. The cache begins a little in the past, so that
//! clients that were watching before a restart can read on where they stopped. It knows how far it has come
//! ([`Cache::fresh`]); whoever needs the newest state asks the store for its revision and waits until the cache is there.

mod feed;
mod item;
mod shelf;

use std::collections::HashMap;
use std::time::Duration;

use store::Revision;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

pub use feed::feed;
pub use item::{Attributes, CLOSING, Happened, Item};
pub use shelf::{Change, Listed, Overtaken, Shelf};

use crate::kind::{Facts, Served};

/// The stored objects of all kinds.
pub struct Cache {
    shelves: HashMap<(&'static str, &'static str), Shelf>,
    fresh: watch::Sender<Option<Revision>>,
}

/// The cache did not come as far as it was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    pub current: Option<Revision>,
}

impl Cache {
    /// An empty cache for the kinds that are stored; [`feed`] fills it.
    pub fn new(kinds: &[&'static dyn Served]) -> Cache {
        let stored = kinds.iter().filter(|kind| kind.stored_as().is_none()).map(|kind| kind.facts());
        let shelves = stored.map(|facts| ((facts.group, facts.resource), Shelf::new(facts)));
        Cache { shelves: shelves.collect(), fresh: watch::Sender::new(None) }
    }

    /// The objects that are stored as this kind.
    pub fn shelf(&self, stored: &Facts) -> &Shelf {
        &self.shelves[&(stored.group, stored.resource)]
    }

    pub fn shelves(&self) -> impl Iterator<Item = &Shelf> {
        self.shelves.values()
    }

    /// Every change up to this revision is in; none before the first filling.
    pub fn fresh(&self) -> Option<Revision> {
        *self.fresh.borrow()
    }

    /// Waits until every change up to `revision` is in.
    pub async fn wait_for(&self, revision: Revision, patience: Duration) -> Result<(), Behind> {
        let there = |fresh: &Option<Revision>| fresh.is_some_and(|fresh| fresh >= revision);
        if there(&self.fresh.borrow()) {
            return Ok(());
        }
        let mut fresh = self.fresh.subscribe();
        match timeout_at(Instant::now() + patience, fresh.wait_for(there)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Behind { current: self.fresh() }),
        }
    }

    fn has_come_to(&self, revision: Revision) {
        self.fresh.send_replace(Some(revision));
    }
}
