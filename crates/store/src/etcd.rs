//! The store in etcd (v3 API; tried with 3.4 and 3.5), which it may share with others: all keys are under one prefix.
//!
//! One revision is etcd's revision, so it also counts what others write. A change is one transaction. Every call is
//! bounded by a deadline and every connection heals by itself, over several endpoints in turn. Under the prefix, a
//! revision is one change: whoever else writes there must not change several keys in one transaction.

mod connections;
mod keyspace;
mod messages;
mod options;
mod pages;
mod refusal;
mod txn;
mod watching;

use std::sync::Arc;

use tokio::sync::watch;

use crate::limits::MAX_VALUE_BYTES;
use crate::{Change, CommitError, Committed, Entry, Key, Page, Prefix, RangeRequest, Revision, Store, StoreError};
use connections::{Connections, Repeat};
use keyspace::{Keyspace, header_revision, on_the_wire};
use messages::CompactionRequest;
pub use options::{ClientCertificate, ConnectError, EtcdOptions, EtcdTls, MAX_ENDPOINTS, OptionsError};
use refusal::Refusal;
pub use watching::EtcdWatch;

/// A store in etcd. Dropping it ends its watches with [`crate::WatchEnd::Closed`].
#[derive(Debug)]
pub struct EtcdStore {
    connections: Arc<Connections>,
    keyspace: Keyspace,
    /// The newest revision that any answer showed; watches ask how far they are when it is ahead of them.
    newest: watch::Sender<Revision>,
}

impl EtcdStore {
    /// Connects to etcd and reads its revision once, so that what is wrong shows here.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Options`] if the options make no sense; [`ConnectError::Store`] if no endpoint answers.
    pub async fn connect(options: EtcdOptions) -> Result<EtcdStore, ConnectError> {
        let connections = Arc::new(Connections::new(&options)?);
        let keyspace = Keyspace::new(&options.prefix);
        let current = pages::current_revision(&connections, &keyspace).await.map_err(StoreError::from)?;
        Ok(EtcdStore { connections, keyspace, newest: watch::Sender::new(current) })
    }

    fn note(&self, shown: Revision) {
        self.newest.send_if_modified(|newest| {
            let later = shown > *newest;
            *newest = shown.max(*newest);
            later
        });
    }

    /// What a refusal because of the revision `requested` means to the caller.
    async fn explain(&self, refusal: Refusal, requested: Revision) -> StoreError {
        match refusal {
            Refusal::Compacted => match watching::oldest_revision(&self.connections, &self.keyspace).await {
                Ok(oldest) => StoreError::Compacted { requested, oldest },
                Err(refusal) => refusal.into(),
            },
            Refusal::Future => match self.current_revision().await {
                // It may have happened since: what counts is the moment of the refusal.
                Ok(current) => {
                    let before = Revision::new(requested.get() - 1).unwrap_or(Revision::FIRST);
                    StoreError::FutureRevision { requested, current: current.min(before) }
                }
                Err(error) => error,
            },
            other => other.into(),
        }
    }
}

impl Store for EtcdStore {
    type Watch = EtcdWatch;

    async fn get(&self, key: &Key) -> Result<Option<Entry>, StoreError> {
        let (entry, revision) = pages::get(&self.connections, &self.keyspace, key).await?;
        self.note(revision);
        Ok(entry)
    }

    async fn range(&self, request: RangeRequest) -> Result<Page, StoreError> {
        match pages::read(&self.connections, &self.keyspace, &request).await {
            Ok(page) => {
                self.note(page.revision);
                Ok(page)
            }
            Err((refusal, at)) => Err(self.explain(refusal, at).await),
        }
    }

    async fn commit(&self, change: Change) -> Result<Committed, CommitError> {
        let size = change.value_bytes();
        if size > MAX_VALUE_BYTES {
            return Err(StoreError::ValueTooLarge { size }.into());
        }
        let Some(request) = txn::request(&self.keyspace, &change) else {
            return Err(CommitError::Conflict { current: self.get(&change.key).await? });
        };
        let ask = |connection: connections::Connection| {
            let request = request.clone();
            async move { Ok(connection.kv().txn(request).await?.into_inner()) }
        };
        let answer = self.connections.call(Repeat::IfNotSent, ask).await.map_err(|refusal| match refusal {
            Refusal::RequestTooLarge => StoreError::ValueTooLargeForEtcd { size },
            other => other.into(),
        })?;
        self.note(header_revision(answer.header.as_ref()).map_err(StoreError::from)?);
        txn::outcome(&self.keyspace, answer)
    }

    async fn watch(&self, prefix: Prefix, after: Revision) -> Result<EtcdWatch, StoreError> {
        let (connections, keyspace) = (self.connections.clone(), self.keyspace.clone());
        match EtcdWatch::start(connections, keyspace, self.newest.subscribe(), prefix, after).await {
            Ok(watch) => Ok(watch),
            Err(refusal) => Err(self.explain(refusal, after).await),
        }
    }

    async fn compact(&self, before: Revision) -> Result<(), StoreError> {
        let request = CompactionRequest { revision: on_the_wire(before) };
        let ask = |connection: connections::Connection| async move { connection.kv().compact(request).await };
        match self.connections.call(Repeat::Always, ask).await {
            // Compacted further already, by an earlier call or by somebody else.
            Ok(_) | Err(Refusal::Compacted) => Ok(()),
            Err(refusal) => Err(self.explain(refusal, before).await),
        }
    }

    async fn current_revision(&self) -> Result<Revision, StoreError> {
        let current = pages::current_revision(&self.connections, &self.keyspace).await?;
        self.note(current);
        Ok(current)
    }
}
