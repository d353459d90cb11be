//! Objects by revision, and watches from a revision.
//!
//! A [`Store`] keeps bytes under keys with etcd's semantics: one revision counts every change, a change can demand what
//! it replaces, a range is read in key order as of one revision, a watch tells every later change in order, and history
//! is kept until it is compacted. The store never looks inside a value: callers encode objects once, and readers and
//! watchers share those bytes. `contract` (feature `contract`) is what every implementation must pass.

mod boxed;
mod change;
#[cfg(feature = "contract")]
pub mod contract;
pub mod embedded;
mod entry;
mod error;
pub mod etcd;
mod key;
pub mod limits;
mod measured;
mod range;
mod revision;
mod watch;

use std::future::Future;

pub use boxed::{BoxedStore, BoxedWatch};
pub use change::{Action, Change, CommitError, Committed, Expected};
pub use embedded::EmbeddedStore;
pub use entry::Entry;
pub use error::StoreError;
pub use etcd::EtcdStore;
pub use key::{Key, KeyError, Prefix};
pub use measured::{Measured, Metrics};
pub use range::{Page, RangeRequest};
pub use revision::Revision;
pub use watch::{Event, Notice, Watch, WatchEnd};

/// Where objects live.
///
/// # Guarantees
///
/// - A new store is at [`Revision::FIRST`]; every successful commit, and nothing else, raises the revision by one. (In an
///   etcd that is shared with others, so does what they write.)
/// - A commit is answered, and shown to readers and watchers, only when it is durable.
/// - After a commit is answered, every later `get`, `range` without `at` and `current_revision` shows it.
/// - A revision older than the last compaction is refused with [`StoreError::Compacted`], one that has not happened yet
///   with [`StoreError::FutureRevision`]; neither is ever answered with something else.
pub trait Store: Send + Sync + 'static {
    /// What [`Store::watch`] gives.
    type Watch: Watch;

    /// What is stored under `key` now.
    fn get(&self, key: &Key) -> impl Future<Output = Result<Option<Entry>, StoreError>> + Send;

    /// The entries of one page, in key order, as of one revision.
    fn range(&self, request: RangeRequest) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// Carries out `change` if what it expects holds.
    ///
    /// A caller that stops waiting does not take the change back: it may still happen.
    fn commit(&self, change: Change) -> impl Future<Output = Result<Committed, CommitError>> + Send;

    /// Every change under `prefix` with a revision higher than `after`, first from history, then as they happen.
    fn watch(&self, prefix: Prefix, after: Revision) -> impl Future<Output = Result<Self::Watch, StoreError>> + Send;

    /// Forgets what only revisions older than `before` show. Compacting again to an older revision does nothing.
    fn compact(&self, before: Revision) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The revision of the newest change.
    fn current_revision(&self) -> impl Future<Output = Result<Revision, StoreError>> + Send;
}
