//! Fills the cache and keeps it filled.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use store::{Event, Notice, RangeRequest, Revision, Store, StoreError, Watch, WatchEnd};

use super::item::{Happened, Item};
use super::shelf::Objects;
use super::{Cache, Shelf};
use crate::keys;

/// How many changes before the newest one the cache begins with.
const HISTORY_REVISIONS: u64 = 2_048;
/// How long to wait before the store is asked again after it failed.
const RETRY: Duration = Duration::from_millis(250);

/// Feeds the cache from the store until the store is closed.
pub async fn feed<S: Store>(cache: Arc<Cache>, store: Arc<S>) {
    loop {
        match fill_and_follow(&cache, &*store).await {
            End::Closed => return,
            End::Failed(reason) => {
                tracing::warn!(reason, "the watch cache lost the store and starts anew");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

enum End {
    Closed,
    Failed(String),
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> End {
        match error {
            StoreError::Closed => End::Closed,
            other => End::Failed(other.to_string()),
        }
    }
}

impl From<WatchEnd> for End {
    fn from(end: WatchEnd) -> End {
        match end {
            WatchEnd::Closed => End::Closed,
            other @ (WatchEnd::Compacted { .. } | WatchEnd::Unavailable { .. }) => End::Failed(other.to_string()),
        }
    }
}

async fn fill_and_follow<S: Store>(cache: &Cache, store: &S) -> End {
    let at = match fill(cache, store).await {
        Ok(at) => at,
        Err(error) => return error.into(),
    };
    cache.has_come_to(at);
    let mut watch = match store.watch(keys::everything(), at).await {
        Ok(watch) => watch,
        Err(error) => return error.into(),
    };
    loop {
        match watch.next().await {
            Ok(Notice::Event(event)) => {
                let revision = event.revision();
                take_in(cache, &event);
                cache.has_come_to(revision);
            }
            Ok(Notice::Progress(revision)) => cache.has_come_to(revision),
            Err(end) => return end.into(),
        }
    }
}

/// Reads everything as of one revision and returns it.
async fn fill<S: Store>(cache: &Cache, store: &S) -> Result<Revision, StoreError> {
    let current = store.current_revision().await?;
    let past = Revision::new(current.get().saturating_sub(HISTORY_REVISIONS)).unwrap_or(Revision::FIRST);
    match fill_at(cache, store, past).await {
        Err(StoreError::Compacted { oldest, .. }) => fill_at(cache, store, oldest.min(current)).await,
        result => result,
    }
}

async fn fill_at<S: Store>(cache: &Cache, store: &S, at: Revision) -> Result<Revision, StoreError> {
    let mut objects: HashMap<(&str, &str), Objects> = HashMap::new();
    let mut request = Some(RangeRequest { at: Some(at), ..RangeRequest::of(keys::everything()) });
    while let Some(asked) = request {
        let page = store.range(asked.clone()).await?;
        request = asked.following(&page);
        for entry in &page.entries {
            let Some((group, resource, place)) = keys::split(&entry.key) else { continue };
            let Some(shelf) = cache.shelves.get(&(group, resource)) else { continue };
            let item = Item::new(place, Happened::Added, &entry.value, entry.modified);
            objects.entry(shelf.kind.resource_id()).or_default().insert(place.into(), Arc::new(item));
        }
    }
    for shelf in cache.shelves() {
        shelf.reset(objects.remove(&shelf.kind.resource_id()).unwrap_or_default(), at);
    }
    Ok(at)
}

fn take_in(cache: &Cache, event: &Event) {
    let Some((group, resource, place)) = keys::split(event.key()) else { return };
    // A newer server may have stored kinds that this one does not know.
    let Some(shelf) = cache.shelves.get(&(group, resource)) else { return };
    apply(shelf, place, event);
}

fn apply(shelf: &Shelf, place: &str, event: &Event) {
    let (happened, value) = match event {
        Event::Created { entry } => (Happened::Added, &entry.value),
        Event::Modified { entry, .. } => (Happened::Modified, &entry.value),
        Event::Deleted { previous, .. } => (Happened::Deleted, &previous.value),
    };
    shelf.apply(happened, Item::new(place, happened, value, event.revision()));
}
