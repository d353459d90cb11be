//! Revisions: how many changes the store has seen.

use std::fmt;
use std::num::NonZeroU64;

/// A moment in the history of the whole store.
///
/// Zero is no revision, so `resourceVersion: "0"` can keep its special meaning one level up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(NonZeroU64);

impl Revision {
    /// The revision of a store that was never changed; the first change makes the one after it, as in etcd.
    pub const FIRST: Revision = Revision(NonZeroU64::MIN);

    pub const fn new(number: u64) -> Option<Revision> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Revision(number)),
            None => None,
        }
    }

    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The revision that the next change makes.
    #[must_use]
    pub const fn next(self) -> Revision {
        Revision(self.0.checked_add(1).expect("2^64 changes never happen"))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}
