//! The database behind the embedded store: opening it, reading and writing it, and opening it again after a failure.
//!
//! After any failed read or write the database refuses everything until it is opened anew, so whoever meets the failure
//! first opens it again; what was not durable is then gone, and everything that was is there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use redb::{Database, Durability, ReadableDatabase as _, StorageBackend as _, WriteTransaction};

use super::disk::{Disk, is_full};
use super::tables::{FORMAT, FORMAT_NUMBER, LATEST, LOG, NEWEST, NUMBERS, OLDEST, PAST, Snapshot};
use crate::{Revision, StoreError};

/// Memory for pages of the file. Lists and watches are answered from caches above, so this need not be large.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// Why something did not work inside the engine.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Engine(redb::Error),
    /// An answer rather than a failure: the engine is sound.
    #[error(transparent)]
    Answer(#[from] StoreError),
}

/// All of redb's errors are one here.
macro_rules! engine_failures {
    ($($error:ident),*) => {
        $(impl From<redb::$error> for Failure {
            fn from(error: redb::$error) -> Failure {
                Failure::Engine(error.into())
            }
        })*
    };
}
engine_failures!(StorageError, TableError, TransactionError, CommitError, DatabaseError);

#[derive(Debug)]
pub struct Engine {
    pub disk: Disk,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// How often the database was opened: tells whether somebody else already did it again.
    opened: u64,
    database: Option<Database>,
    closed: bool,
}

impl Engine {
    pub fn open(directory: &Path) -> Result<Engine, StoreError> {
        let disk = Disk::new(directory);
        if disk.damage_note().exists() {
            let reason = format!("an earlier start found damage; remove {} when done", disk.damage_note().display());
            return Err(StoreError::Corrupt { file: disk.file(), reason });
        }
        let engine = Engine { disk, state: RwLock::new(State { opened: 0, database: None, closed: false }) };
        // A damaged file can make the engine panic as well as fail.
        let database = catch_unwind(AssertUnwindSafe(|| engine.open_checked()))
            .unwrap_or_else(|_| Err(engine.corrupt("its structure makes no sense")))?;
        engine.lock_state().database = Some(database);
        Ok(engine)
    }

    fn open_checked(&self) -> Result<Database, StoreError> {
        if !self.disk.file().exists() {
            self.create().map_err(|failure| self.classify(failure))?;
        }
        let mut database = self.open_database().map_err(|failure| self.classify(failure))?;
        // Reads do not verify what they read, so everything is verified once, here.
        let intact = database.check_integrity().map_err(|error| self.classify(error.into()))?;
        if !intact {
            // The check mends what it finds by going back in time. That may have lost answered changes, so it must not
            // pass for sound at the next start.
            let _ = std::fs::write(self.disk.damage_note(), "store.redb failed its integrity check\n");
            return Err(self.corrupt("it fails its integrity check"));
        }
        check_format(&database).map_err(|failure| self.classify(failure))?;
        Ok(database)
    }

    /// A new file gets its name when it is complete, so one that is empty or half made is a damaged one.
    fn create(&self) -> Result<(), Failure> {
        let database = Database::builder().create_with_backend(self.disk.create_unnamed()?)?;
        create_tables(&database)?;
        drop(database);
        Ok(self.disk.name_file().map_err(redb::StorageError::from)?)
    }

    fn open_database(&self) -> Result<Database, Failure> {
        let file = self.disk.open()?;
        if file.len().map_err(redb::StorageError::from)? == 0 {
            return Err(redb::StorageError::Corrupted("it is empty".to_owned()).into());
        }
        Ok(Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(file)?)
    }

    /// Reads as of now. Does not wait for writers.
    pub fn read<T>(&self, read: impl Fn(&Snapshot) -> Result<T, Failure>) -> Result<T, StoreError> {
        let (opened, result) = self.read_once(&read);
        match result {
            // A write has failed, or this read: one more try on a database opened anew.
            Err(Failure::Engine(error)) if !matches!(error, redb::Error::Corrupted(_)) => {
                self.recover(opened)?;
                self.read_once(&read).1.map_err(|failure| self.classify(failure))
            }
            result => result.map_err(|failure| self.classify(failure)),
        }
    }

    fn read_once<T>(&self, read: impl Fn(&Snapshot) -> Result<T, Failure>) -> (u64, Result<T, Failure>) {
        let state = self.read_state();
        let result = state.usable().and_then(|database| read(&Snapshot::take(database)?));
        (state.opened, result)
    }

    /// Makes what `write` does durable. After a failure, the database is usable again unless recovery failed as well.
    pub fn write<T>(
        &self,
        write: impl FnOnce(&WriteTransaction) -> Result<(T, Ending), Failure>,
    ) -> Result<T, WriteFailure<T>> {
        let (opened, failure, outcome) = {
            let state = self.read_state();
            match write_once(&state, write) {
                (Ok(()), Some(outcome)) => return Ok(outcome),
                (result, outcome) => (state.opened, result.err(), outcome),
            }
        };
        let reason = failure.map_or(StoreError::Closed, |failure| self.classify(failure));
        let recovered = self.recover(opened);
        Err(WriteFailure { reason, outcome: outcome.filter(|_| recovered.is_ok()), recovered })
    }

    /// Opens the database again, unless somebody did since it was opened for the `opened`th time.
    fn recover(&self, opened: u64) -> Result<(), StoreError> {
        let mut state = self.lock_state();
        if state.closed {
            return Err(StoreError::Closed);
        }
        if state.opened != opened && state.database.is_some() {
            return Ok(());
        }
        state.database = None;
        self.disk.release();
        let database = catch_unwind(AssertUnwindSafe(|| self.open_database()))
            .unwrap_or_else(|_| Err(self.corrupt("its structure makes no sense").into()))
            .map_err(|failure| self.classify(failure))?;
        state.database = Some(database);
        state.opened += 1;
        Ok(())
    }

    pub fn close(&self) {
        let mut state = self.lock_state();
        state.closed = true;
        state.database = None;
    }

    pub fn classify(&self, failure: Failure) -> StoreError {
        use redb::Error;
        use std::io::ErrorKind::{InvalidData, UnexpectedEof};
        let error = match failure {
            Failure::Answer(answer) => return answer,
            Failure::Engine(error) => error,
        };
        match error {
            Error::Io(error) if is_full(&error) => StoreError::NoSpace,
            Error::Io(error) if matches!(error.kind(), InvalidData | UnexpectedEof) => self.corrupt(&error.to_string()),
            Error::Corrupted(reason) => self.corrupt(&reason),
            Error::UpgradeRequired(version) => self.corrupt(&format!("it has the unknown format {version}")),
            error => StoreError::Unavailable { reason: format!("{}: {error}", self.disk.file().display()) },
        }
    }

    fn corrupt(&self, reason: &str) -> StoreError {
        StoreError::Corrupt { file: self.disk.file(), reason: reason.to_owned() }
    }

    fn read_state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write that failed.
pub struct WriteFailure<T> {
    pub reason: StoreError,
    /// What the write would have done, if it came as far as being committed: only reading tells whether it did.
    pub outcome: Option<T>,
    /// Whether the database is usable again.
    pub recovered: Result<(), StoreError>,
}

/// What to do with a transaction at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Commit,
    /// It changed nothing, so nothing need be written.
    Abandon,
}

impl State {
    fn usable(&self) -> Result<&Database, Failure> {
        match &self.database {
            Some(database) => Ok(database),
            None if self.closed => Err(StoreError::Closed.into()),
            None => Err(redb::StorageError::PreviousIo.into()),
        }
    }
}

fn write_once<T>(
    state: &State,
    write: impl FnOnce(&WriteTransaction) -> Result<(T, Ending), Failure>,
) -> (Result<(), Failure>, Option<T>) {
    let written = state.usable().and_then(|database| {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::Immediate).map_err(|error| Failure::Engine(error.into()))?;
        let (outcome, ending) = write(&transaction)?;
        Ok((transaction, outcome, ending))
    });
    match written {
        Ok((transaction, outcome, Ending::Commit)) => (transaction.commit().map_err(Failure::from), Some(outcome)),
        Ok((transaction, outcome, Ending::Abandon)) => (transaction.abort().map_err(Failure::from), Some(outcome)),
        Err(failure) => (Err(failure), None),
    }
}

pub fn create_tables(database: &Database) -> Result<(), Failure> {
    let transaction = database.begin_write()?;
    transaction.open_table(LATEST)?;
    transaction.open_table(PAST)?;
    transaction.open_table(LOG)?;
    {
        let mut numbers = transaction.open_table(NUMBERS)?;
        numbers.insert(FORMAT, FORMAT_NUMBER)?;
        numbers.insert(NEWEST, Revision::FIRST.get())?;
        numbers.insert(OLDEST, Revision::FIRST.get())?;
    }
    transaction.commit()?;
    Ok(())
}

fn check_format(database: &Database) -> Result<(), Failure> {
    let numbers = database.begin_read()?.open_table(NUMBERS)?;
    match numbers.get(FORMAT)?.map(|format| format.value()) {
        Some(FORMAT_NUMBER) => Ok(()),
        other => {
            let reason = format!("its tables have format {other:?}, and this server knows {FORMAT_NUMBER}");
            Err(redb::StorageError::Corrupted(reason).into())
        }
    }
}
