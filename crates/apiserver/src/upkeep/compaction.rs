//! Forgets history that nobody reads any more.

use std::time::Duration;

use store::Store as _;

use super::pause;
use crate::api::Api;

/// Every `interval`, forgets what was history an interval ago.
pub async fn run(api: &Api, interval: Duration) {
    let mut old = None;
    while pause(api, interval).await {
        if let Some(revision) = old
            && let Err(error) = api.store.compact(revision).await
        {
            tracing::warn!(%error, "cannot forget old history");
        }
        old = api.store.current_revision().await.ok().or(old);
    }
}
