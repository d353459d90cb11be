//! A full or failing disk: writers are refused, readers are served, and it heals.

use super::{key, put};
use crate::embedded::EmbeddedStore;
use crate::{Change, CommitError, Notice, Prefix, RangeRequest, Revision, Store, StoreError, Watch};

/// Writes until the disk is full; how many were acknowledged.
async fn write_until_full(store: &EmbeddedStore, round: usize) -> usize {
    for number in 0.. {
        match store.commit(Change::create(key(format!("{round}/{number:05}")), vec![7; 100_000])).await {
            Ok(_) => {}
            Err(CommitError::Store(StoreError::NoSpace)) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("a disk that never fills")
}

#[tokio::test]
async fn a_full_disk_refuses_writers_serves_readers_and_heals() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path()).unwrap();
    put(&store, "first", "v").await;
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let mut acknowledged = 1;
    for round in 0..3 {
        store.engine.disk.fill();
        acknowledged += write_until_full(&store, round).await;
        let refused = store.commit(Change::put(key("again"), "v")).await;
        assert!(matches!(refused, Err(CommitError::Store(StoreError::NoSpace))), "{refused:?}");
        let page = store.range(RangeRequest::of(Prefix::ALL)).await.unwrap();
        assert_eq!(page.entries.len(), acknowledged);
        assert!(store.get(&key("first")).await.unwrap().is_some());
        store.engine.disk.make_room();
        let healed = put(&store, &format!("healed/{round}"), "v").await;
        acknowledged += 1;
        assert_eq!(healed.get(), Revision::FIRST.get() + acknowledged as u64);
    }
    for revision in 2..=1 + acknowledged as u64 {
        let Ok(Notice::Event(event)) = watch.next().await else { panic!("no event") };
        assert_eq!(event.revision().get(), revision);
    }
    drop(store);
    let store = EmbeddedStore::open(directory.path()).unwrap();
    assert_eq!(store.range(RangeRequest::of(Prefix::ALL)).await.unwrap().entries.len(), acknowledged);
}

#[tokio::test]
async fn a_change_whose_sync_failed_is_not_acknowledged_and_watchers_see_what_readers_see() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path()).unwrap();
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let mut last = put(&store, "first", "v").await;
    for round in 0..10 {
        let name = key(format!("tried/{round}"));
        store.engine.disk.fail_next_sync();
        let result = store.commit(Change::create(name.clone(), "v")).await;
        let stored = store.get(&name).await.unwrap().map(|entry| entry.modified);
        assert!(matches!(result, Err(CommitError::Store(StoreError::Unavailable { .. }))), "{result:?}");
        last = stored.unwrap_or(last).next();
        assert_eq!(put(&store, &format!("after/{round}"), "v").await, last);
    }
    for revision in 2..=last.get() {
        let Ok(Notice::Event(event)) = watch.next().await else { panic!("no event") };
        assert_eq!(event.revision().get(), revision);
    }
}
