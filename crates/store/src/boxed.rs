//! A store whose implementation is chosen at run time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::{
    Change, CommitError, Committed, Entry, Key, Notice, Page, Prefix, RangeRequest, Revision, Store, StoreError, Watch,
    WatchEnd,
};

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Any store; clones share it.
#[derive(Clone)]
pub struct BoxedStore(Arc<dyn AnyStore>);

/// Any watch.
pub struct BoxedWatch(Box<dyn AnyWatch>);

impl BoxedStore {
    pub fn new(store: impl Store) -> BoxedStore {
        BoxedStore(Arc::new(store))
    }
}

/// [`Store`] with futures in boxes.
trait AnyStore: Send + Sync {
    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Result<Option<Entry>, StoreError>>;
    fn range(&self, request: RangeRequest) -> Answer<'_, Result<Page, StoreError>>;
    fn commit(&self, change: Change) -> Answer<'_, Result<Committed, CommitError>>;
    fn watch(&self, prefix: Prefix, after: Revision) -> Answer<'_, Result<BoxedWatch, StoreError>>;
    fn compact(&self, before: Revision) -> Answer<'_, Result<(), StoreError>>;
    fn current_revision(&self) -> Answer<'_, Result<Revision, StoreError>>;
}

/// [`Watch`] with futures in boxes.
trait AnyWatch: Send {
    fn next(&mut self) -> Answer<'_, Result<Notice, WatchEnd>>;
}

impl<S: Store> AnyStore for S {
    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Result<Option<Entry>, StoreError>> {
        Box::pin(Store::get(self, key))
    }

    fn range(&self, request: RangeRequest) -> Answer<'_, Result<Page, StoreError>> {
        Box::pin(Store::range(self, request))
    }

    fn commit(&self, change: Change) -> Answer<'_, Result<Committed, CommitError>> {
        Box::pin(Store::commit(self, change))
    }

    fn watch(&self, prefix: Prefix, after: Revision) -> Answer<'_, Result<BoxedWatch, StoreError>> {
        Box::pin(async move { Ok(BoxedWatch(Box::new(Store::watch(self, prefix, after).await?))) })
    }

    fn compact(&self, before: Revision) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(Store::compact(self, before))
    }

    fn current_revision(&self) -> Answer<'_, Result<Revision, StoreError>> {
        Box::pin(Store::current_revision(self))
    }
}

impl<W: Watch> AnyWatch for W {
    fn next(&mut self) -> Answer<'_, Result<Notice, WatchEnd>> {
        Box::pin(Watch::next(self))
    }
}

impl Store for BoxedStore {
    type Watch = BoxedWatch;

    async fn get(&self, key: &Key) -> Result<Option<Entry>, StoreError> {
        self.0.get(key).await
    }

    async fn range(&self, request: RangeRequest) -> Result<Page, StoreError> {
        self.0.range(request).await
    }

    async fn commit(&self, change: Change) -> Result<Committed, CommitError> {
        self.0.commit(change).await
    }

    async fn watch(&self, prefix: Prefix, after: Revision) -> Result<BoxedWatch, StoreError> {
        self.0.watch(prefix, after).await
    }

    async fn compact(&self, before: Revision) -> Result<(), StoreError> {
        self.0.compact(before).await
    }

    async fn current_revision(&self) -> Result<Revision, StoreError> {
        self.0.current_revision().await
    }
}

impl Watch for BoxedWatch {
    async fn next(&mut self) -> Result<Notice, WatchEnd> {
        self.0.next().await
    }
}
