//! What only the embedded store promises, seen from inside.

mod damage;
mod full;
mod torn;

use redb::{ReadOnlyTable, ReadableTableMetadata as _};

use super::EmbeddedStore;
use crate::limits::{MAX_PAGE_BYTES, MAX_VALUE_BYTES};
use crate::{Change, Key, Prefix, RangeRequest, Revision, Store, StoreError, Watch, WatchEnd};

fn key(name: impl Into<String>) -> Key {
    Key::new(name.into()).unwrap()
}

async fn put(store: &EmbeddedStore, name: &str, value: impl Into<bytes::Bytes>) -> Revision {
    store.commit(Change::put(key(name), value)).await.unwrap().revision
}

#[tokio::test]
async fn a_second_server_is_refused_and_the_first_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let first = EmbeddedStore::open(directory.path()).unwrap();
    let error = EmbeddedStore::open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{error}");
    put(&first, "a", "1").await;
    drop(first);
    EmbeddedStore::open(directory.path()).unwrap();
}

#[tokio::test]
async fn closing_ends_watches_and_frees_the_directory_even_while_they_live() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path()).unwrap();
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    drop(store);
    let again = EmbeddedStore::open(directory.path()).unwrap();
    assert_eq!(watch.next().await, Err(WatchEnd::Closed));
    assert_eq!(watch.next().await, Err(WatchEnd::Closed));
    put(&again, "a", "1").await;
}

#[tokio::test]
async fn the_largest_value_fits_and_pages_are_bounded_in_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path()).unwrap();
    let fitting = MAX_PAGE_BYTES / MAX_VALUE_BYTES;
    for number in 0..=fitting {
        put(&store, &format!("{number:02}"), vec![0; MAX_VALUE_BYTES]).await;
    }
    put(&store, "99", "small").await;
    let request = RangeRequest::of(Prefix::ALL);
    let page = store.range(request.clone()).await.unwrap();
    assert_eq!((page.entries.len(), page.remaining), (fitting, 2));
    let rest = store.range(request.following(&page).unwrap()).await.unwrap();
    assert_eq!((rest.entries.len(), rest.remaining), (2, 0));
}

#[tokio::test]
async fn a_directory_made_by_the_store_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/store");
    let _store = EmbeddedStore::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn compaction_leaves_nothing_behind_and_is_finished_after_a_restart() {
    const CHANGES: u64 = 5_000;
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path()).unwrap();
    for round in 0..CHANGES / 100 {
        let changes = (0..100).map(|number| Change::put(key(format!("{}", number % 10)), round.to_string()));
        let results = crate::contract::commits::futures(changes.map(|change| store.commit(change))).await;
        results.into_iter().for_each(|result| drop(result.unwrap()));
    }
    let last = store.current_revision().await.unwrap();
    store.compact(last).await.unwrap();
    // At once: most is still to be forgotten.
    drop(store);
    let store = EmbeddedStore::open(directory.path()).unwrap();
    // A step of compaction comes with every commit, and by itself until all is done.
    for number in 0..CHANGES / 1_000 {
        put(&store, "10", number.to_string()).await;
    }
    let (log, past) = store.engine.read(|snapshot| Ok((rows(&snapshot.log)?, rows(&snapshot.past)?))).unwrap();
    assert_eq!((log, past), (CHANGES / 1_000, CHANGES / 1_000 - 1));
}

fn rows<K: redb::Key + 'static, V: redb::Value + 'static>(
    table: &ReadOnlyTable<K, V>,
) -> Result<u64, super::engine::Failure> {
    Ok(table.len()?)
}
