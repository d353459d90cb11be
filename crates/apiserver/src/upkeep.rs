//! What the server does by itself from time to time: forgets old history and old events, empties ending namespaces, gives
//! unused addresses back.

mod compaction;
mod event_ttl;
mod namespaces;
mod taken;

use std::sync::Arc;
use std::time::Duration;

use crate::api::Api;

/// How often, and what is old.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// History older than this, and at most twice this, is forgotten.
    pub compact_after: Duration,
    /// Events older than this are deleted.
    pub event_ttl: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { compact_after: Duration::from_secs(300), event_ttl: Duration::from_secs(3600) }
    }
}

/// Does all of it until the server stops.
pub async fn run(api: Arc<Api>, settings: Settings) {
    tokio::join!(
        compaction::run(&api, settings.compact_after),
        event_ttl::run(&api, settings.event_ttl),
        namespaces::run(&api),
        taken::run(&api),
    );
}

/// Waits, or returns false when the server stops first.
async fn pause(api: &Api, time: Duration) -> bool {
    tokio::select! {
        () = tokio::time::sleep(time) => true,
        () = api.closing.cancelled() => false,
    }
}
