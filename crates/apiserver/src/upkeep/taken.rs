//! Gives back addresses and ports that no service has any more.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use store::{Change, Key, RangeRequest, Revision, Store as _, StoreError};

use super::pause;
use crate::api::Api;
use crate::service_addresses::Taken;

/// How often; what is found unused twice in a row is given back, so that a request has this long to use it.
const EVERY: Duration = Duration::from_secs(60);

pub async fn run(api: &Api) {
    let mut before = BTreeMap::new();
    while pause(api, EVERY).await {
        match unused(api).await {
            Ok(now) => {
                for (taken, (key, revision)) in &now {
                    if before.get(taken) == Some(&(key.clone(), *revision)) {
                        // Whoever took it anew meanwhile has another revision.
                        let _ = api.store.commit(Change::delete(key.clone(), *revision)).await;
                    }
                }
                before = now;
            }
            Err(error) => tracing::debug!(%error, "cannot look for unused addresses"),
        }
    }
}

type Unused = BTreeMap<Taken, (Key, Revision)>;

async fn unused(api: &Api) -> Result<Unused, StoreError> {
    let mut found = Unused::new();
    let mut request = Some(RangeRequest::of(Taken::everything()));
    while let Some(asked) = request {
        let page = api.store.range(asked.clone()).await?;
        request = asked.following(&page);
        let known = page.entries.into_iter().filter_map(|entry| {
            let taken = Taken::of_key(&entry.key)?;
            Some((taken, (entry.key, entry.modified)))
        });
        found.extend(known);
    }
    let services = api.core_objects::<Service>("services", "");
    let used: HashSet<Taken> = services.iter().flat_map(Taken::by).collect();
    found.retain(|taken, _| !used.contains(taken));
    Ok(found)
}
