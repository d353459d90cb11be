//! The tables in the file, and reading them as of one moment.
//!
//! | table | key | row |
//! | --- | --- | --- |
//! | `latest` | key | created, modified, value: what is there now |
//! | `past` | key, modified | created, the revision that ended it, value: what was there before |
//! | `log` | revision | the revision that the change replaced (0: none), what it did, key |
//! | `numbers` | name | the newest revision, the oldest readable one, the format of these tables |
//!
//! A value moves from `latest` to `past` when it is replaced or deleted, and a log row names the past value that it made,
//! so compaction walks the log and needs no search.

use bytes::Bytes;
use redb::{
    AccessGuard, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};

use super::engine::Failure;
use crate::limits::{MAX_PAGE_BYTES, MAX_PAGE_ENTRIES, MAX_WATCH_BUFFER, MAX_WATCH_SCAN};
use crate::{Entry, Event, Key, Page, Prefix, RangeRequest, Revision, StoreError};

/// Two revisions and a value.
pub type Row = (u64, u64, &'static [u8]);

pub const LATEST: TableDefinition<'_, &[u8], Row> = TableDefinition::new("latest");
pub const PAST: TableDefinition<'_, (&[u8], u64), Row> = TableDefinition::new("past");
pub const LOG: TableDefinition<'_, u64, (u64, u8, &[u8])> = TableDefinition::new("log");
pub const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

pub const NEWEST: &str = "newest";
pub const OLDEST: &str = "oldest";
pub const FORMAT: &str = "format";
pub const FORMAT_NUMBER: u64 = 1;

/// What a log row says about its change.
pub const LOGGED_PUT: u8 = 1;
pub const LOGGED_DELETE: u8 = 2;

/// Everything as of one moment; later commits do not show.
pub struct Snapshot {
    latest: ReadOnlyTable<&'static [u8], Row>,
    pub(super) past: ReadOnlyTable<(&'static [u8], u64), Row>,
    pub(super) log: ReadOnlyTable<u64, (u64, u8, &'static [u8])>,
    pub newest: Revision,
    pub oldest: Revision,
}

/// What one look at the log gave.
pub struct History {
    pub events: Vec<Event>,
    /// Everything up to here is in `events`.
    pub seen: Revision,
}

impl Snapshot {
    pub fn take(database: &redb::Database) -> Result<Snapshot, Failure> {
        let transaction: ReadTransaction = database.begin_read()?;
        let numbers = transaction.open_table(NUMBERS)?;
        Ok(Snapshot {
            latest: transaction.open_table(LATEST)?,
            past: transaction.open_table(PAST)?,
            log: transaction.open_table(LOG)?,
            newest: number(&numbers, NEWEST)?,
            oldest: number(&numbers, OLDEST)?,
        })
    }

    /// Refuses what is not readable: compacted, or yet to come.
    pub fn check(&self, requested: Revision) -> Result<(), StoreError> {
        if requested > self.newest {
            return Err(StoreError::FutureRevision { requested, current: self.newest });
        }
        if requested < self.oldest {
            return Err(StoreError::Compacted { requested, oldest: self.oldest });
        }
        Ok(())
    }

    pub fn get(&self, key: &Key) -> Result<Option<Entry>, Failure> {
        latest(&self.latest, key)
    }

    pub fn range(&self, request: &RangeRequest) -> Result<Page, Failure> {
        let at = request.at.unwrap_or(self.newest);
        self.check(at)?;
        let limit = request.limit.clamp(1, MAX_PAGE_ENTRIES);
        let mut page = Page { entries: Vec::new(), revision: at, remaining: 0 };
        let mut bytes = 0;
        let mut take = |found: Found| -> Result<(), Failure> {
            let value = found.row.value().2;
            // Once one entry did not fit, none after it does: a page has no holes.
            let fits = page.entries.is_empty() || bytes + value.len() <= MAX_PAGE_BYTES;
            if page.remaining == 0 && page.entries.len() < limit && fits {
                bytes += value.len();
                page.entries.push(entry(&found.key, found.created, found.modified, value)?);
            } else {
                page.remaining += 1;
            }
            Ok(())
        };
        if at == self.newest {
            for found in self.present(request, at)? {
                take(found?)?;
            }
        } else {
            self.merge(request, at, &mut take)?;
        }
        Ok(page)
    }

    /// The changes after `after` under `prefix`, as many as one look may give.
    pub fn history(&self, prefix: &Prefix, after: Revision) -> Result<History, Failure> {
        self.check(after)?;
        let mut history = History { events: Vec::new(), seen: after };
        for logged in self.log.range(after.next().get()..)?.take(MAX_WATCH_SCAN) {
            let (revision, row) = logged?;
            let revision = stored_revision(revision.value())?;
            let (replaced, action, key) = row.value();
            if key.starts_with(prefix.as_bytes()) {
                history.events.push(self.event(revision, replaced, action, &Key::stored(key))?);
            }
            history.seen = revision;
            if history.events.len() == MAX_WATCH_BUFFER {
                break;
            }
        }
        Ok(history)
    }

    fn event(&self, revision: Revision, replaced: u64, action: u8, key: &Key) -> Result<Event, Failure> {
        let previous = match Revision::new(replaced) {
            Some(replaced) => Some(self.past_entry(key, replaced)?),
            None => None,
        };
        match (action, previous) {
            (LOGGED_PUT, None) => Ok(Event::Created { entry: self.entry_of(key, revision)? }),
            (LOGGED_PUT, Some(previous)) => Ok(Event::Modified { entry: self.entry_of(key, revision)?, previous }),
            (LOGGED_DELETE, Some(previous)) => Ok(Event::Deleted { revision, previous }),
            _ => Err(damaged(&format!("change {revision} makes no sense"))),
        }
    }

    fn entry_of(&self, key: &Key, modified: Revision) -> Result<Entry, Failure> {
        match latest(&self.latest, key)? {
            Some(entry) if entry.modified == modified => Ok(entry),
            _ => self.past_entry(key, modified),
        }
    }

    fn past_entry(&self, key: &Key, modified: Revision) -> Result<Entry, Failure> {
        let row = self.past.get((key.as_bytes(), modified.get()))?;
        let row = row.ok_or_else(|| damaged(&format!("the value of change {modified} is missing")))?;
        let (created, _, value) = row.value();
        entry(key, created, modified.get(), value)
    }

    /// What was there at `at` and still is, in key order.
    fn present(
        &self,
        request: &RangeRequest,
        at: Revision,
    ) -> Result<impl Iterator<Item = Result<Found, StorageError>>, Failure> {
        let start = start_of(request);
        let after = request.start_after.clone();
        let prefix = request.prefix.clone();
        let rows = self.latest.range(start..)?.map(|row| {
            let (key, row) = row?;
            let (created, modified, _) = row.value();
            Ok(Found { key: Key::stored(key.value()), created, modified, row })
        });
        let rows = rows.skip_while(move |found| is(found, |found| Some(&found.key) == after.as_ref()));
        let rows = rows.take_while(move |found| !is(found, |found| !prefix.covers(&found.key)));
        Ok(rows.filter(move |found| !is(found, |found| found.modified > at.get())))
    }

    /// What was there at `at` but is no more, in key order.
    fn gone(
        &self,
        request: &RangeRequest,
        at: Revision,
    ) -> Result<impl Iterator<Item = Result<Found, StorageError>>, Failure> {
        let start = start_of(request);
        let after = request.start_after.clone();
        let prefix = request.prefix.clone();
        let rows = self.past.range((start, 0)..)?.map(|row| {
            let (key, row) = row?;
            let (key, modified) = key.value();
            let (created, _, _) = row.value();
            Ok(Found { key: Key::stored(key), created, modified, row })
        });
        let rows = rows.skip_while(move |found| is(found, |found| Some(&found.key) == after.as_ref()));
        let rows = rows.take_while(move |found| !is(found, |found| !prefix.covers(&found.key)));
        let shows = move |found: &Found| found.modified <= at.get() && found.row.value().1 > at.get();
        Ok(rows.filter(move |found| !is(found, |found| !shows(found))))
    }

    /// Both of the above in key order. At one revision a key has one value, so no key is in both.
    fn merge(
        &self,
        request: &RangeRequest,
        at: Revision,
        take: &mut impl FnMut(Found) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut gone = self.gone(request, at)?.peekable();
        for present in self.present(request, at)? {
            let present = present?;
            while let Some(found) = gone.next_if(|gone| !is(gone, |gone| gone.key > present.key)) {
                take(found?)?;
            }
            take(present)?;
        }
        gone.try_for_each(|found| take(found?))
    }
}

/// A row that a range goes over; its value is copied only if the page takes it.
struct Found {
    key: Key,
    created: u64,
    modified: u64,
    row: AccessGuard<'static, Row>,
}

/// Whether a row could be read and is so: errors pass all filters, to be met by the one who takes rows.
fn is(found: &Result<Found, StorageError>, so: impl FnOnce(&Found) -> bool) -> bool {
    found.as_ref().is_ok_and(so)
}

fn start_of(request: &RangeRequest) -> &[u8] {
    let prefix = request.prefix.as_bytes();
    request.start_after.as_ref().map_or(prefix, |after| after.as_bytes().max(prefix))
}

pub fn number(numbers: &impl ReadableTable<&'static str, u64>, name: &str) -> Result<Revision, Failure> {
    let number = numbers.get(name)?.ok_or_else(|| damaged(&format!("the {name} revision is missing")))?;
    stored_revision(number.value())
}

pub fn latest(table: &impl ReadableTable<&'static [u8], Row>, key: &Key) -> Result<Option<Entry>, Failure> {
    let Some(row) = table.get(key.as_bytes())? else { return Ok(None) };
    let (created, modified, value) = row.value();
    entry(key, created, modified, value).map(Some)
}

fn entry(key: &Key, created: u64, modified: u64, value: &[u8]) -> Result<Entry, Failure> {
    Ok(Entry {
        key: key.clone(),
        value: Bytes::copy_from_slice(value),
        created: stored_revision(created)?,
        modified: stored_revision(modified)?,
    })
}

fn stored_revision(number: u64) -> Result<Revision, Failure> {
    Revision::new(number).ok_or_else(|| damaged("a revision is zero"))
}

fn damaged(reason: &str) -> Failure {
    Failure::Engine(redb::Error::Corrupted(reason.to_owned()))
}
