//! What a change, and a step of compaction, do to the tables.

use redb::{ReadableTable, Table, WriteTransaction};

use super::engine::{Ending, Failure};
use super::tables::{LATEST, LOG, LOGGED_DELETE, LOGGED_PUT, NEWEST, NUMBERS, OLDEST, PAST, Row, latest, number};
use crate::limits::MAX_COMPACTED_REVISIONS;
use crate::{Action, Change, Committed, Entry, Event, Revision, StoreError};

/// What became of a change, once the batch is durable.
pub enum Applied {
    Committed { committed: Committed, event: Event },
    Conflict { current: Option<Entry> },
}

/// The tables of one batch.
pub struct Batch<'t> {
    latest: Table<'t, &'static [u8], Row>,
    past: Table<'t, (&'static [u8], u64), Row>,
    log: Table<'t, u64, (u64, u8, &'static [u8])>,
    numbers: Table<'t, &'static str, u64>,
    newest: Revision,
    ending: Ending,
}

impl<'t> Batch<'t> {
    pub fn begin(transaction: &'t WriteTransaction) -> Result<Batch<'t>, Failure> {
        let numbers = transaction.open_table(NUMBERS)?;
        let newest = number(&numbers, NEWEST)?;
        Ok(Batch {
            latest: transaction.open_table(LATEST)?,
            past: transaction.open_table(PAST)?,
            log: transaction.open_table(LOG)?,
            numbers,
            newest,
            ending: Ending::Abandon,
        })
    }

    pub fn apply(&mut self, change: &Change) -> Result<Applied, Failure> {
        let current = latest(&self.latest, &change.key)?;
        let nothing_to_delete = change.action == Action::Delete && current.is_none();
        if nothing_to_delete || !change.expected.holds(current.as_ref()) {
            return Ok(Applied::Conflict { current });
        }
        let revision = self.newest.next();
        if let Some(ended) = &current {
            let row = (ended.created.get(), revision.get(), &*ended.value);
            self.past.insert((ended.key.as_bytes(), ended.modified.get()), row)?;
        }
        let event = self.carry_out(change, revision, current.clone())?;
        self.newest = revision;
        self.ending = Ending::Commit;
        Ok(Applied::Committed { committed: Committed { revision, previous: current }, event })
    }

    fn carry_out(&mut self, change: &Change, revision: Revision, previous: Option<Entry>) -> Result<Event, Failure> {
        let key = change.key.as_bytes();
        let replaced = previous.as_ref().map_or(0, |previous| previous.modified.get());
        match (&change.action, previous) {
            (Action::Put(value), previous) => {
                let created = previous.as_ref().map_or(revision, |previous| previous.created);
                self.latest.insert(key, (created.get(), revision.get(), &**value))?;
                self.log.insert(revision.get(), (replaced, LOGGED_PUT, key))?;
                let entry = Entry { key: change.key.clone(), value: value.clone(), created, modified: revision };
                Ok(match previous {
                    None => Event::Created { entry },
                    Some(previous) => Event::Modified { entry, previous },
                })
            }
            (Action::Delete, Some(previous)) => {
                self.latest.remove(key)?;
                self.log.insert(revision.get(), (replaced, LOGGED_DELETE, key))?;
                Ok(Event::Deleted { revision, previous })
            }
            (Action::Delete, None) => unreachable!("deleting nothing is a conflict"),
        }
    }

    /// From now on, nothing older than `before` is readable; what only it shows can go.
    pub fn compact_before(&mut self, before: Revision) -> Result<(), Failure> {
        if before > self.newest {
            return Err(StoreError::FutureRevision { requested: before, current: self.newest }.into());
        }
        if before > number(&self.numbers, OLDEST)? {
            self.numbers.insert(OLDEST, before.get())?;
            self.ending = Ending::Commit;
        }
        Ok(())
    }

    /// Deletes some of what is no longer readable; says whether there may be more.
    pub fn forget_some(&mut self) -> Result<Forgotten, Failure> {
        let oldest = number(&self.numbers, OLDEST)?;
        let mut forgotten = Vec::new();
        for logged in self.log.range(..=oldest.get())?.take(MAX_COMPACTED_REVISIONS) {
            let (revision, row) = logged?;
            let (replaced, _, key) = row.value();
            forgotten.push((revision.value(), replaced, key.to_vec()));
        }
        for (revision, replaced, key) in &forgotten {
            self.log.remove(revision)?;
            self.past.remove((key.as_slice(), *replaced))?;
            self.ending = Ending::Commit;
        }
        Ok(if forgotten.len() < MAX_COMPACTED_REVISIONS { Forgotten::Everything } else { Forgotten::Some })
    }

    /// Ends the batch: its newest revision, and whether there is anything to commit.
    pub fn finish(mut self) -> Result<(Revision, Ending), Failure> {
        if self.ending == Ending::Commit {
            self.numbers.insert(NEWEST, self.newest.get())?;
        }
        Ok((self.newest, self.ending))
    }
}

/// How far a step of compaction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    Everything,
    Some,
}
