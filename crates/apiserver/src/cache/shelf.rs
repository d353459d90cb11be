//! The objects of one kind in memory, and their newest changes.
//!
//! Watchers keep a place in the changes and read on from it; nothing is queued for them. A watcher that reads too slowly
//! finds its place gone and is told so, which is all that a slow client can cause.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock};

use store::Revision;
use tokio::sync::watch;

use super::item::{Happened, Item};
use crate::kind::Facts;

/// The most changes that are kept for watchers.
const MAX_CHANGES: usize = 4_096;
/// Changes are dropped earlier if their objects take more than this.
const MAX_CHANGES_BYTES: usize = 16 * 1024 * 1024;

/// Objects by their place among their kind.
pub type Objects = BTreeMap<Box<str>, Arc<Item>>;

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    pub happened: Happened,
    pub item: Arc<Item>,
    /// What the object was before, if it was.
    pub previous: Option<Arc<Item>>,
}

/// The objects of one kind.
pub struct Shelf {
    /// What kind the objects are stored as.
    pub kind: &'static Facts,
    state: RwLock<State>,
    newest: watch::Sender<u64>,
}

struct State {
    objects: Objects,
    changes: VecDeque<Arc<Change>>,
    changes_bytes: usize,
    /// Every change after this revision is in `changes`.
    complete_after: Revision,
}

/// A watcher's place was dropped before it read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// The oldest revision from which changes can still be read.
    pub oldest: Revision,
}

impl Shelf {
    /// An empty shelf.
    pub fn new(kind: &'static Facts) -> Shelf {
        let (objects, changes) = (BTreeMap::new(), VecDeque::new());
        let state = State { objects, changes, changes_bytes: 0, complete_after: Revision::FIRST };
        Shelf { kind, state: RwLock::new(state), newest: watch::Sender::new(0) }
    }

    /// Puts all objects there as of one revision. Watchers that were there before are overtaken.
    pub fn reset(&self, objects: Objects, at: Revision) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State { objects, changes: VecDeque::new(), changes_bytes: 0, complete_after: at };
        drop(state);
        self.newest.send_replace(at.get());
    }

    /// Takes a change in; its revision is higher than all before.
    pub fn apply(&self, happened: Happened, item: Item) {
        let revision = item.revision;
        let item = Arc::new(item);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let previous = match happened {
            Happened::Added | Happened::Modified => state.objects.insert(item.key.clone(), item.clone()),
            Happened::Deleted => state.objects.remove(&item.key),
        };
        state.changes_bytes += item.size_bytes();
        state.changes.push_back(Arc::new(Change { happened, item, previous }));
        state.forget();
        drop(state);
        self.newest.send_replace(revision.get());
    }

    pub fn get(&self, key: &str) -> Option<Arc<Item>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).objects.get(key).cloned()
    }

    /// The objects whose keys begin with `prefix` and come after `after`, in the order of their keys.
    pub fn list(&self, prefix: &str, after: Option<&str>) -> Listed {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            Some(_) | None => Bound::Included(prefix),
        };
        let objects = state.objects.range::<str, _>((start, Bound::Unbounded));
        let items = objects.take_while(|(key, _)| key.starts_with(prefix)).map(|(_, item)| item.clone()).collect();
        Listed { items, changed: state.changed() }
    }

    pub fn count(&self) -> usize {
        self.state.read().unwrap_or_else(PoisonError::into_inner).objects.len()
    }

    /// The changes after a revision, at most `most` of them, oldest first.
    pub fn changes_after(&self, revision: Revision, most: usize) -> Result<Vec<Arc<Change>>, Overtaken> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if revision < state.complete_after {
            return Err(Overtaken { oldest: state.complete_after });
        }
        let start = state.changes.partition_point(|change| change.item.revision <= revision);
        Ok(state.changes.range(start..).take(most).cloned().collect())
    }

    /// Wakes whenever there are new changes; the value means nothing else.
    pub fn wake(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    pub fn watchers(&self) -> usize {
        self.newest.receiver_count()
    }
}

/// Objects in the order of their keys.
pub struct Listed {
    pub items: Vec<Arc<Item>>,
    /// The newest change of any object of the kind: since then this list has not changed.
    pub changed: Revision,
}

impl State {
    fn changed(&self) -> Revision {
        self.changes.back().map_or(self.complete_after, |change| change.item.revision)
    }

    fn forget(&mut self) {
        while self.changes.len() > MAX_CHANGES || (self.changes_bytes > MAX_CHANGES_BYTES && self.changes.len() > 1) {
            let Some(oldest) = self.changes.pop_front() else { return };
            self.changes_bytes -= oldest.item.size_bytes();
            self.complete_after = oldest.item.revision;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static KIND: Facts = Facts::namespaced("", "v1", "Pod", "pods", "pod");

    fn revision(number: u64) -> Revision {
        Revision::new(number).unwrap()
    }

    fn item(key: &str, number: u64) -> Item {
        Item::new(key, Happened::Added, br#"{"metadata":{"name":"x"}}"#, revision(number))
    }

    #[test]
    fn lists_are_in_the_order_of_keys_and_cut_at_the_prefix() {
        let shelf = Shelf::new(&KIND);
        for (number, key) in ["b/2", "a/1", "b/1", "b-c/1", "c/1"].into_iter().enumerate() {
            shelf.apply(Happened::Added, item(key, number as u64 + 2));
        }
        let keys = |prefix, after| -> Vec<String> {
            shelf.list(prefix, after).items.iter().map(|item| item.key.to_string()).collect()
        };
        assert_eq!(keys("", None), ["a/1", "b-c/1", "b/1", "b/2", "c/1"]);
        assert_eq!(keys("b/", None), ["b/1", "b/2"]);
        assert_eq!(keys("b/", Some("b/1")), ["b/2"]);
        assert_eq!(keys("", Some("b-c/1")), ["b/1", "b/2", "c/1"]);
        assert_eq!(shelf.list("", None).changed, revision(6));
    }

    #[test]
    fn changes_are_read_from_a_place_and_tell_what_was_there_before() {
        let shelf = Shelf::new(&KIND);
        shelf.apply(Happened::Added, item("a", 2));
        shelf.apply(Happened::Modified, item("a", 3));
        shelf.apply(Happened::Deleted, item("a", 4));
        let all = shelf.changes_after(Revision::FIRST, 10).unwrap();
        let before: Vec<Option<u64>> =
            all.iter().map(|change| change.previous.as_ref().map(|item| item.revision.get())).collect();
        assert_eq!(before, [None, Some(2), Some(3)]);
        assert_eq!(shelf.changes_after(revision(2), 1).unwrap()[0].item.revision, revision(3));
        assert!(shelf.changes_after(revision(9), 10).unwrap().is_empty());
        assert!(shelf.get("a").is_none());
    }

    #[test]
    fn a_watcher_that_falls_too_far_behind_is_overtaken() {
        let shelf = Shelf::new(&KIND);
        let last = MAX_CHANGES as u64 + 10;
        for number in 2..=last {
            shelf.apply(Happened::Added, item("a", number));
        }
        let oldest = revision(last - MAX_CHANGES as u64);
        assert_eq!(shelf.changes_after(Revision::FIRST, 1).unwrap_err(), Overtaken { oldest });
        assert_eq!(shelf.changes_after(oldest, usize::MAX).unwrap().len(), MAX_CHANGES);
    }

    #[test]
    fn a_reset_overtakes_everyone() {
        let shelf = Shelf::new(&KIND);
        shelf.apply(Happened::Added, item("a", 2));
        shelf.reset(BTreeMap::new(), revision(8));
        assert!(shelf.changes_after(revision(2), 1).is_err());
        assert!(shelf.changes_after(revision(8), 1).unwrap().is_empty());
        assert_eq!(shelf.count(), 0);
    }
}
