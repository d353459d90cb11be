//! The embedded store: one file in one directory, for one server.
//!
//! Concurrent changes share one fsync (group commit), reads see snapshots and do not wait for writers, and watchers pull
//! from the newest events in memory or, when they are behind, from the file. Needs a tokio runtime for its callers.

mod apply;
mod committer;
mod disk;
mod engine;
mod lock;
mod recent;
mod tables;
mod watching;

use std::collections::VecDeque;
use std::fs::{self, DirBuilder};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::limits::{MAX_QUEUED_CHANGES, MAX_QUEUED_KIB, MAX_VALUE_BYTES};
use crate::{
    Change, CommitError, Committed, Entry, Key, Metrics, Page, Prefix, RangeRequest, Revision, Store, StoreError,
};
use committer::{Committer, Request};
use engine::{Engine, Failure};
use lock::DirectoryLock;
use recent::Recent;
use tables::Snapshot;
pub use watching::EmbeddedWatch;

/// A store in a directory of its own.
///
/// Dropping it answers what is queued, ends watches with [`crate::WatchEnd::Closed`], closes the file and unlocks the
/// directory.
#[derive(Debug)]
pub struct EmbeddedStore {
    engine: Arc<Engine>,
    recent: Arc<Recent>,
    announced: watch::Receiver<Revision>,
    room: Arc<Semaphore>,
    queue: Option<mpsc::Sender<Request>>,
    committer: Option<JoinHandle<()>>,
    _lock: DirectoryLock,
}

impl EmbeddedStore {
    /// Opens the store in `directory`, which is made if need be, and verifies all of it.
    ///
    /// Blocks: it reads the whole file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Locked`] while another server uses the directory; [`StoreError::Corrupt`] if the file is damaged.
    pub fn open(directory: &Path) -> Result<EmbeddedStore, StoreError> {
        EmbeddedStore::open_measured(directory, &Metrics::default())
    }

    /// The same, counting into `metrics` how many changes share a sync.
    pub fn open_measured(directory: &Path, metrics: &Metrics) -> Result<EmbeddedStore, StoreError> {
        let unavailable = |reason: String| StoreError::Unavailable { reason };
        make_private(directory).map_err(|error| unavailable(format!("{}: {error}", directory.display())))?;
        let lock = DirectoryLock::take(directory)?;
        let engine = Arc::new(Engine::open(directory)?);
        let newest = engine.read(|snapshot| Ok(snapshot.newest))?;
        let recent = Arc::new(Recent::new());
        let (announcements, announced) = watch::channel(newest);
        let (queue, requests) = mpsc::channel(MAX_QUEUED_CHANGES);
        let committer = Committer {
            engine: engine.clone(),
            recent: recent.clone(),
            announcements,
            queue: requests,
            metrics: metrics.clone(),
        };
        let committer = thread::Builder::new()
            .name("store-committer".to_owned())
            .spawn(move || committer.run())
            .map_err(|error| unavailable(format!("no thread for the committer: {error}")))?;
        Ok(EmbeddedStore {
            engine,
            recent,
            announced,
            room: Arc::new(Semaphore::new(MAX_QUEUED_KIB as usize)),
            queue: Some(queue),
            committer: Some(committer),
            _lock: lock,
        })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(&Snapshot) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = self.engine.clone();
        match tokio::task::spawn_blocking(move || engine.read(read)).await {
            Ok(result) => result,
            Err(error) => Err(StoreError::Unavailable { reason: error.to_string() }),
        }
    }

    async fn ask<T>(&self, request: Request, answer: oneshot::Receiver<T>) -> Result<T, StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)
    }
}

impl Store for EmbeddedStore {
    type Watch = EmbeddedWatch;

    async fn get(&self, key: &Key) -> Result<Option<Entry>, StoreError> {
        let key = key.clone();
        self.read(move |snapshot| snapshot.get(&key)).await
    }

    async fn range(&self, request: RangeRequest) -> Result<Page, StoreError> {
        self.read(move |snapshot| snapshot.range(&request)).await
    }

    async fn commit(&self, change: Change) -> Result<Committed, CommitError> {
        let size = change.value_bytes();
        if size > MAX_VALUE_BYTES {
            return Err(StoreError::ValueTooLarge { size }.into());
        }
        let kib = u32::try_from(size.div_ceil(1024)).unwrap_or(MAX_QUEUED_KIB);
        let room = self.room.clone().acquire_many_owned(kib).await.map_err(|_| StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Change { change, answer, room }, answered).await?
    }

    async fn watch(&self, prefix: Prefix, after: Revision) -> Result<EmbeddedWatch, StoreError> {
        self.read(move |snapshot| Ok(snapshot.check(after)?)).await?;
        Ok(EmbeddedWatch {
            engine: self.engine.clone(),
            recent: self.recent.clone(),
            announced: self.announced.clone(),
            prefix,
            seen: after,
            told: after,
            untold: VecDeque::new(),
            ended: None,
        })
    }

    async fn compact(&self, before: Revision) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Compact { before, answer }, answered).await?
    }

    async fn current_revision(&self) -> Result<Revision, StoreError> {
        Ok(*self.announced.borrow())
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(committer) = self.committer.take() {
            // A committer that panicked has said so already; the file is sound either way.
            let _ = committer.join();
        }
        self.engine.close();
    }
}

/// Secrets are stored as they are, so only their owner may enter a directory that is made here.
fn make_private(directory: &Path) -> std::io::Result<()> {
    if fs::exists(directory)? {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests;
