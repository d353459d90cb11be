//! Pages of entries in key order.

use crate::limits::MAX_PAGE_ENTRIES;
use crate::{Entry, Key, Prefix, Revision};

/// Which entries to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRequest {
    pub prefix: Prefix,
    /// Only keys after this one: the last key of the page before.
    pub start_after: Option<Key>,
    /// At most this many entries; never more than [`MAX_PAGE_ENTRIES`], and at least one.
    pub limit: usize,
    /// As of this revision; now if none is given.
    pub at: Option<Revision>,
}

impl RangeRequest {
    /// The first page, as large as pages get, of what is there now.
    pub fn of(prefix: Prefix) -> RangeRequest {
        RangeRequest { prefix, start_after: None, limit: MAX_PAGE_ENTRIES, at: None }
    }

    /// The page that follows `page`, as of the same revision; none after the last.
    pub fn following(&self, page: &Page) -> Option<RangeRequest> {
        let last = page.entries.last().filter(|_| page.remaining > 0)?;
        Some(RangeRequest { start_after: Some(last.key.clone()), at: Some(page.revision), ..self.clone() })
    }
}

/// Entries in key order, as of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// What the page shows: what was asked for, or the newest. A watch after it misses and repeats nothing.
    pub revision: Revision,
    /// How many entries follow this page; more pages are needed unless it is zero.
    pub remaining: u64,
}
