//! What can be counted about a store, whichever it is: how long commits take, how far it has come.
//!
//! The values are shared handles; whoever shows them registers clones of them under names of its own choice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tracing::Instrument as _;

use crate::{Change, CommitError, Committed, Entry, Key, Page, Prefix, RangeRequest, Revision, Store, StoreError};

/// A commit takes as long as a sync of the disk, or as etcd: from a tenth of a millisecond to seconds.
const COMMIT_SECONDS: [f64; 14] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
const BATCH_CHANGES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// What is counted; clones share it.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// From the call to the answer, waiting included.
    pub commit_seconds: Histogram,
    /// How many changes became durable together; nothing is observed where the store does not group them.
    pub batch_changes: Histogram,
    /// The newest revision that any answer showed.
    pub revision: Gauge<u64, AtomicU64>,
    /// History before this revision was forgotten; 0 until this process has asked for it.
    pub compacted_revision: Gauge<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            commit_seconds: Histogram::new(COMMIT_SECONDS),
            batch_changes: Histogram::new(BATCH_CHANGES),
            revision: Gauge::default(),
            compacted_revision: Gauge::default(),
        }
    }
}

/// A store whose calls are counted; each commit is a span of its own.
#[derive(Debug)]
pub struct Measured<S> {
    store: S,
    metrics: Metrics,
}

impl<S: Store> Measured<S> {
    pub fn new(store: S, metrics: Metrics) -> Measured<S> {
        Measured { store, metrics }
    }

    fn shown(&self, revision: Revision) {
        self.metrics.revision.inner().fetch_max(revision.get(), Ordering::Relaxed);
    }
}

impl<S: Store> Store for Measured<S> {
    type Watch = S::Watch;

    async fn get(&self, key: &Key) -> Result<Option<Entry>, StoreError> {
        self.store.get(key).await
    }

    async fn range(&self, request: RangeRequest) -> Result<Page, StoreError> {
        self.store.range(request).await
    }

    async fn commit(&self, change: Change) -> Result<Committed, CommitError> {
        let began = Instant::now();
        let result = self.store.commit(change).instrument(tracing::info_span!("store.commit")).await;
        self.metrics.commit_seconds.observe(began.elapsed().as_secs_f64());
        if let Ok(committed) = &result {
            self.shown(committed.revision);
        }
        result
    }

    async fn watch(&self, prefix: Prefix, after: Revision) -> Result<S::Watch, StoreError> {
        self.store.watch(prefix, after).await
    }

    async fn compact(&self, before: Revision) -> Result<(), StoreError> {
        self.store.compact(before).await?;
        self.metrics.compacted_revision.inner().fetch_max(before.get(), Ordering::Relaxed);
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision, StoreError> {
        let current = self.store.current_revision().await?;
        self.shown(current);
        Ok(current)
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::EmbeddedStore;

    fn shown(metrics: &Metrics) -> String {
        let mut registry = Registry::default();
        registry.register("commit", "c", metrics.commit_seconds.clone());
        registry.register("batch", "b", metrics.batch_changes.clone());
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[tokio::test]
    async fn commits_batches_and_revisions_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        let metrics = Metrics::default();
        let store = EmbeddedStore::open_measured(directory.path(), &metrics).unwrap();
        let store = Measured::new(store, metrics.clone());
        let key = |name: &str| Key::new(name.to_owned()).unwrap();
        let first = store.commit(Change::create(key("a"), "1")).await.unwrap().revision;
        assert_eq!(metrics.revision.get(), first.get());
        store.commit(Change::create(key("a"), "2")).await.unwrap_err();
        assert_eq!(metrics.revision.get(), first.get());
        let second = store.commit(Change::create(key("b"), "1")).await.unwrap().revision;
        assert_eq!((metrics.revision.get(), metrics.compacted_revision.get()), (second.get(), 0));
        store.compact(second).await.unwrap();
        store.compact(first).await.unwrap();
        assert_eq!(metrics.compacted_revision.get(), second.get());
        // The refused change took its time too; the compactions are batches of their own.
        let text = shown(&metrics);
        assert!(text.contains("commit_count 3\n") && text.contains("batch_count 5\n"), "{text}");
        assert!(text.contains("batch_sum 5.0\n"), "{text}");
    }
}
