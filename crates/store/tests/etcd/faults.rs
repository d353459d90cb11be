//! An etcd that is dead, silent, or one of several.

use std::time::{Duration, Instant};

use store::etcd::{ConnectError, EtcdOptions};
use store::{
    Change, CommitError, EtcdStore, Notice, Prefix, RangeRequest, Revision, Store, StoreError, Watch, WatchEnd,
};
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, Version, free_port, key};

/// Short, so that tests are.
const WITHIN: Duration = Duration::from_millis(1_500);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(5);

crate::on_both_versions! {
    a_dead_etcd_is_unavailable_within_the_deadline_and_heals
    a_silent_etcd_is_unavailable_within_the_deadline_and_heals
    a_watch_ends_when_etcd_does_not_come_back
    a_watch_ends_when_its_store_is_closed
    several_endpoints_are_tried_in_turn
}

async fn a_dead_etcd_is_unavailable_within_the_deadline_and_heals<V: Version>() {
    let (mut server, _) = Server::<V>::start(&[]).await;
    let store = hasty(&server).await;
    store.commit(Change::put(key("a"), "1")).await.unwrap();
    server.kill();
    assert_unavailable(&store).await;
    let error = EtcdStore::connect(EtcdOptions { call_within: WITHIN, ..server.options() }).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Store(StoreError::Unavailable { .. })), "{error}");
    assert!(error.to_string().contains(&server.endpoint()), "{error}");
    server.restart();
    assert_heals(&server, &store).await;
}

async fn a_silent_etcd_is_unavailable_within_the_deadline_and_heals<V: Version>() {
    let (server, _) = Server::<V>::start(&[]).await;
    let store = hasty(&server).await;
    store.commit(Change::put(key("a"), "1")).await.unwrap();
    server.signal("STOP");
    assert_unavailable(&store).await;
    server.signal("CONT");
    assert_heals(&server, &store).await;
}

async fn a_watch_ends_when_etcd_does_not_come_back<V: Version>() {
    let (mut server, _) = Server::<V>::start(&[]).await;
    let store = hasty(&server).await;
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    server.kill();
    match timeout(WITHIN + SLACK, watch.next()).await.expect("an end in time") {
        Err(WatchEnd::Unavailable { reason }) => assert!(reason.contains("resumed within 1.5 s"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

async fn a_watch_ends_when_its_store_is_closed<V: Version>() {
    let (_server, store) = Server::<V>::start(&[]).await;
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    drop(store);
    assert_eq!(timeout(PATIENCE, watch.next()).await.expect("an end in time"), Err(WatchEnd::Closed));
}

async fn several_endpoints_are_tried_in_turn<V: Version>() {
    let (server, _) = Server::<V>::start(&[]).await;
    let dead = format!("127.0.0.1:{}", free_port());
    let endpoints = vec![dead.clone(), dead, server.endpoint()];
    let store = EtcdStore::connect(EtcdOptions { endpoints, ..server.options() }).await.unwrap();
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    store.commit(Change::put(key("a"), "1")).await.unwrap();
    assert!(matches!(timeout(PATIENCE, watch.next()).await.unwrap(), Ok(Notice::Event(_))));
}

async fn hasty<V: Version>(server: &Server<V>) -> EtcdStore {
    let options = EtcdOptions { call_within: WITHIN, resume_within: WITHIN, ..server.options() };
    EtcdStore::connect(options).await.unwrap()
}

/// Every operation says so, and says so in time.
async fn assert_unavailable(store: &EtcdStore) {
    let is_unavailable = |error: StoreError, start: Instant| {
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        assert!(start.elapsed() < WITHIN + SLACK, "{error} after {:?}", start.elapsed());
    };
    let start = Instant::now();
    is_unavailable(store.get(&key("a")).await.unwrap_err(), start);
    let start = Instant::now();
    is_unavailable(store.range(RangeRequest::of(Prefix::ALL)).await.unwrap_err(), start);
    let start = Instant::now();
    match store.commit(Change::put(key("b"), "1")).await {
        Err(CommitError::Store(error)) => is_unavailable(error, start),
        other => panic!("{other:?}"),
    }
    let start = Instant::now();
    is_unavailable(store.watch(Prefix::ALL, Revision::FIRST).await.unwrap_err(), start);
    let start = Instant::now();
    is_unavailable(store.compact(Revision::FIRST).await.unwrap_err(), start);
}

/// The same store answers again, once etcd does.
async fn assert_heals<V: Version>(server: &Server<V>, store: &EtcdStore) {
    // Another client tells when etcd answers.
    server.connect().await;
    assert_eq!(store.get(&key("a")).await.unwrap().unwrap().value, "1");
    store.commit(Change::put(key("a"), "2")).await.unwrap();
    store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
}
