//! Deletes events that are older than their time to live.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use store::{Change, Store as _};

use super::pause;
use crate::api::Api;
use crate::keys;

/// How often events are looked at, if they live long; else a tenth of their life.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

pub async fn run(api: &Api, time_to_live: Duration) {
    let every = (time_to_live / 10).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
    while pause(api, every).await {
        delete_old(api, time_to_live).await;
    }
}

async fn delete_old(api: &Api, time_to_live: Duration) {
    let Some(kind) = api.kinds.find("", "v1", "events") else { return };
    let oldest = (api.clock)().minus(time_to_live).millis();
    for item in api.cache.shelf(kind.facts()).list("", None).items {
        let Ok(decoded) = kind.decode(&item.to_value()) else { continue };
        if decoded.object.downcast_ref::<Event>().is_none_or(|event| last_told(event) > oldest) {
            continue;
        }
        let Ok(key) = keys::key(kind.facts(), &item.key) else { continue };
        // Whoever changed it meanwhile has made it younger.
        let _ = api.store.commit(Change::delete(key, item.revision)).await;
    }
}

/// When the event was last told, in milliseconds: repeated events live on.
fn last_told(event: &Event) -> i64 {
    let times = [
        event.last_timestamp.as_ref().map(|time| time.0.as_millisecond()),
        event.event_time.as_ref().map(|time| time.0.as_millisecond()),
        event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0.as_millisecond()),
        event.metadata.creation_timestamp.as_ref().map(|time| time.0.as_millisecond()),
    ];
    times.into_iter().flatten().max().unwrap_or(i64::MAX)
}
