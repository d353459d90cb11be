//! Read, decide, write; again when someone else was quicker.
//!
//! The first look at an object is at the cache, which may lag behind. So a refusal that rests on it is thought over with
//! what is stored now, and a write that meets something else is tried again with what it met.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use store::{Change, CommitError, Committed, Entry, Revision, Store};

use crate::api::{Api, store_failure, stored};
use crate::cache::{Happened, Item};
use crate::encoded;
use crate::keys;
use crate::kind::{AnyObject, Served};
use crate::status::Status;

/// How often a change is tried before the client is asked to try it again.
const MAX_TRIES: usize = 64;

/// An object as it is stored.
pub struct Current {
    /// With its resource version.
    pub object: Box<dyn AnyObject>,
    /// The same as JSON.
    pub value: Value,
    pub item: Arc<Item>,
}

/// Tries to change one object.
pub struct Attempt<'a> {
    api: &'a Api,
    kind: &'static dyn Served,
    place: String,
    item: Option<Arc<Item>>,
    seen: Seen,
    tries: usize,
}

/// How well the object is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    NotYet,
    /// In the cache, as it was some time ago.
    Perhaps,
    /// As it was stored when this request looked.
    Surely,
}

/// What became of a write.
pub enum Outcome {
    Done(Committed),
    /// Something else was stored meanwhile: decide again.
    Again,
}

impl<'a> Attempt<'a> {
    pub fn new(api: &'a Api, kind: &'static dyn Served, place: String) -> Attempt<'a> {
        Attempt { api, kind, place, item: None, seen: Seen::NotYet, tries: 0 }
    }

    /// The object to decide about; none if there is none.
    pub async fn current(&mut self) -> Result<Option<Current>, Status> {
        self.tries += 1;
        if self.tries > MAX_TRIES {
            return Err(Status::server_timeout(self.kind.facts().named_resource(), "update", 1));
        }
        if self.seen == Seen::NotYet {
            self.api.fresh()?;
            self.item = self.api.cache.shelf(stored(self.kind)).get(&self.place);
            self.seen = Seen::Perhaps;
        }
        self.item.as_ref().map(|item| decode(self.kind, item)).transpose()
    }

    /// Whether a refusal should be thought over with what is stored now. If so, [`Attempt::current`] shows it.
    pub async fn doubts(&mut self) -> Result<Doubt, Status> {
        if self.seen == Seen::Surely {
            return Ok(Doubt::None);
        }
        self.api.catch_up().await?;
        let before = self.item.as_ref().map(|item| item.revision);
        self.item = self.api.cache.shelf(stored(self.kind)).get(&self.place);
        self.seen = Seen::Surely;
        let now = self.item.as_ref().map(|item| item.revision);
        Ok(if before == now { Doubt::None } else { Doubt::Justified })
    }

    /// Stores a new object.
    pub async fn create(&mut self, stored: Bytes) -> Result<Outcome, Status> {
        let key = self.key()?;
        self.commit(Change::create(key, stored)).await
    }

    /// Stores what replaces the current object.
    pub async fn update(&mut self, stored: Bytes) -> Result<Outcome, Status> {
        let (key, revision) = (self.key()?, self.current_revision()?);
        self.commit(Change::update(key, revision, stored)).await
    }

    /// Removes the current object.
    pub async fn remove(&mut self) -> Result<Outcome, Status> {
        let (key, revision) = (self.key()?, self.current_revision()?);
        self.commit(Change::delete(key, revision)).await
    }

    /// Goes on with an object that this request has just stored.
    pub fn go_on_with(&mut self, value: &[u8], revision: Revision) {
        self.item = Some(Arc::new(Item::new(&self.place, Happened::Modified, value, revision)));
        self.seen = Seen::Surely;
    }

    async fn commit(&mut self, change: Change) -> Result<Outcome, Status> {
        match self.api.store.commit(change).await {
            Ok(committed) => Ok(Outcome::Done(committed)),
            Err(CommitError::Conflict { current }) => {
                self.item = current.map(|entry| Arc::new(item(&self.place, &entry)));
                self.seen = Seen::Surely;
                Ok(Outcome::Again)
            }
            Err(CommitError::Store(error)) => Err(store_failure(&error)),
        }
    }

    fn key(&self) -> Result<store::Key, Status> {
        keys::key(stored(self.kind), &self.place).map_err(|error| Status::bad_request(error.to_string()))
    }

    fn current_revision(&self) -> Result<Revision, Status> {
        let revision = self.item.as_ref().map(|item| item.revision);
        revision.ok_or_else(|| Status::internal_error("an object that does not exist cannot be replaced"))
    }
}

/// Whether an older view of an object may have led to a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    None,
    Justified,
}

/// Decodes an object from the cache.
pub fn decode(kind: &'static dyn Served, item: &Arc<Item>) -> Result<Current, Status> {
    let mut value = item.to_value();
    if let Some(stored) = kind.stored_as() {
        value = (stored.from_stored)(value);
    }
    let decoded = kind.decode(&value).map_err(|error| {
        Status::internal_error(&format!("the stored object {} cannot be decoded: {error}", item.key))
    })?;
    Ok(Current { object: decoded.object, value, item: item.clone() })
}

/// The bytes that are served of an object that was just stored; none if it is not served as it is stored.
pub fn served(kind: &'static dyn Served, stored: &[u8], revision: Revision) -> Option<Bytes> {
    kind.stored_as().is_none().then(|| encoded::served(stored, revision).into())
}

/// The bytes that are stored of an object.
pub fn encode(kind: &'static dyn Served, object: &mut dyn AnyObject) -> Bytes {
    match kind.stored_as() {
        None => encoded::to_store(object),
        Some(stored) => {
            object.meta_mut().resource_version = None;
            let value = (stored.to_stored)(object.to_value());
            encoded::value_to_store(value)
        }
    }
}

fn item(place: &str, entry: &Entry) -> Item {
    Item::new(place, Happened::Modified, &entry.value, entry.modified)
}
