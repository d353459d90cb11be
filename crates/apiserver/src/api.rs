//! The server without its sockets: objects in a store, a cache in front of it, and the verbs on them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lifecycle::moment::Moment;
use model::gates::FeatureGates;
use store::{BoxedStore, Revision, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::bootstrap::ServiceNetwork;
use crate::cache::{Behind, Cache};
use crate::kind::{Facts, Scene, Served};
use crate::metrics::Metrics;
use crate::openapi::Documents;
use crate::status::{Cause, Status};
use crate::tokens::Issuer;

/// How long a read waits for the cache to catch up with the store.
const CATCH_UP: Duration = Duration::from_secs(10);
/// How long a read waits for a resource version that has not happened yet.
const FUTURE_VERSION: Duration = Duration::from_secs(3);

/// What all requests share.
pub struct Api {
    pub store: BoxedStore,
    pub cache: Arc<Cache>,
    pub kinds: Kinds,
    pub admission: Admission,
    pub metrics: Metrics,
    /// Gives out service account tokens.
    pub issuer: Issuer,
    /// Whose signature the server's certificate has, for pods that talk to it.
    pub authority_pem: String,
    /// Where services get their addresses.
    pub service_network: ServiceNetwork,
    pub gates: FeatureGates,
    /// Ends what would go on for ever when the server stops.
    pub closing: CancellationToken,
    /// Reads the clock: rules take the time as a value.
    pub clock: fn() -> Moment,
}

/// The kinds that are served, by where they are served.
pub struct Kinds {
    all: &'static [&'static dyn Served],
    by_path: HashMap<(&'static str, &'static str, &'static str), &'static dyn Served>,
    /// What describes them, once somebody has asked.
    pub(crate) documents: Documents,
}

impl Kinds {
    pub fn new(all: &'static [&'static dyn Served]) -> Kinds {
        let place = |kind: &&'static dyn Served| {
            let facts = kind.facts();
            ((facts.group, facts.version, facts.resource), *kind)
        };
        Kinds { all, by_path: all.iter().map(place).collect(), documents: Documents::default() }
    }

    pub fn all(&self) -> &'static [&'static dyn Served] {
        self.all
    }

    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<&'static dyn Served> {
        self.by_path.get(&(group, version, resource)).copied()
    }
}

impl Api {
    pub fn scene(&self) -> Scene {
        Scene { gates: self.gates, now: (self.clock)() }
    }

    /// Waits until the cache shows everything that was acknowledged before now, and says up to where that is.
    pub async fn catch_up(&self) -> Result<Revision, Status> {
        let newest = self.store.current_revision().await.map_err(|error| store_failure(&error))?;
        match self.cache.wait_for(newest, CATCH_UP).await {
            Ok(()) => Ok(newest),
            Err(Behind { .. }) => Err(Status::timeout("the watch cache has not caught up with the store", 1)),
        }
    }

    /// Waits until the cache shows at least this version.
    pub async fn not_older_than(&self, version: u64) -> Result<Revision, Status> {
        let Some(revision) = Revision::new(version) else { return self.catch_up().await };
        match self.cache.wait_for(revision, FUTURE_VERSION).await {
            Ok(()) => self.fresh(),
            Err(Behind { current }) => Err(too_large(version, current)),
        }
    }

    /// How far the cache has come; an error before it has begun.
    pub fn fresh(&self) -> Result<Revision, Status> {
        self.cache.fresh().ok_or_else(|| Status::service_unavailable("storage is (re)initializing"))
    }
}

/// The kind under which objects of `kind` are stored.
pub fn stored(kind: &'static dyn Served) -> &'static Facts {
    kind.stored_as().map_or_else(|| kind.facts(), |stored| stored.facts)
}

/// How a failure of the store is told.
pub fn store_failure(error: &StoreError) -> Status {
    match error {
        StoreError::NoSpace => Status { code: 507, ..Status::internal_error(&error.to_string()) },
        StoreError::ValueTooLarge { .. } | StoreError::ValueTooLargeForEtcd { .. } => {
            Status::request_entity_too_large(&error.to_string())
        }
        StoreError::Unavailable { .. } => Status::timeout(&error.to_string(), 1),
        StoreError::Compacted { .. } => Status::expired(error.to_string()),
        StoreError::FutureRevision { requested, current } => too_large(requested.get(), Some(*current)),
        StoreError::Closed => Status::service_unavailable("the server is shutting down"),
        StoreError::Locked { .. } | StoreError::Corrupt { .. } => Status::internal_error(&error.to_string()),
    }
}

fn too_large(version: u64, current: Option<Revision>) -> Status {
    let current = current.map_or(0, Revision::get);
    let mut status = Status::timeout(&format!("Too large resource version: {version}, current: {current}"), 1);
    let cause = Cause {
        reason: Some("ResourceVersionTooLarge"),
        message: "Too large resource version".to_owned(),
        ..Cause::default()
    };
    status.details.get_or_insert_default().causes.push(cause);
    status
}
