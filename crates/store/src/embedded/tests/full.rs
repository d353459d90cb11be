//! A full disk: writers are refused, readers are served, and it heals.

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
