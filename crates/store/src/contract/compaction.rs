//! What compaction forgets, and what it does not.

use super::{Fixture, compacted_watch, delete, events_until, key, later, prefix, put, revisions, told};
use crate::{Prefix, RangeRequest, Revision, Store, StoreError};

pub async fn compacted_revisions_are_refused<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    for number in 0..5 {
        put(store, "a", &number.to_string()).await;
    }
    let oldest = later(Revision::FIRST, 3);
    store.compact(oldest).await.unwrap();
    let request = RangeRequest { at: Some(later(Revision::FIRST, 2)), ..RangeRequest::of(Prefix::ALL) };
    match store.range(request).await {
        Err(StoreError::Compacted { oldest: said, .. }) => assert_eq!(said, oldest),
        other => panic!("{other:?}"),
    }
    assert_eq!(compacted_watch(store, Revision::FIRST).await, oldest);
}

pub async fn compaction_keeps_what_is_there<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    for name in ["a", "b", "c", "a"] {
        put(store, name, "v").await;
    }
    let last = delete(store, "b").await;
    let before = store.range(RangeRequest::of(Prefix::ALL)).await.unwrap();
    store.compact(last).await.unwrap();
    assert_eq!(store.range(RangeRequest::of(Prefix::ALL)).await.unwrap(), before);
    assert_eq!(store.get(&key("a")).await.unwrap().as_ref(), before.entries.first());
    assert_eq!(store.current_revision().await.unwrap(), last);
    assert_eq!(put(store, "b", "again").await, last.next());
}

pub async fn the_oldest_revision_stays_readable_and_watchable<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    put(store, "a", "1").await;
    put(store, "b", "1").await;
    let oldest = put(store, "a", "2").await;
    put(store, "a", "3").await;
    let last = delete(store, "b").await;
    let mut before = store.watch(Prefix::ALL, oldest).await.unwrap();
    let events = events_until(&mut before, last).await;
    store.compact(oldest).await.unwrap();
    let request = RangeRequest { at: Some(oldest), ..RangeRequest::of(Prefix::ALL) };
    assert_eq!(told(&store.range(request).await.unwrap().entries), ["a=2", "b=1"]);
    let mut after = store.watch(Prefix::ALL, oldest).await.unwrap();
    assert_eq!(events_until(&mut after, last).await, events);
}

pub async fn compacting_again_or_further_back_is_harmless<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    for _ in 0..5 {
        put(store, "a", "v").await;
    }
    let oldest = later(Revision::FIRST, 4);
    store.compact(oldest).await.unwrap();
    store.compact(oldest).await.unwrap();
    store.compact(Revision::FIRST).await.unwrap();
    assert_eq!(compacted_watch(store, later(Revision::FIRST, 1)).await, oldest);
}

pub async fn compacting_the_future_is_refused<F: Fixture>() {
    let fixture = F::new().await;
    let current = put(fixture.store(), "a", "v").await;
    match fixture.store().compact(later(current, 1)).await {
        Err(StoreError::FutureRevision { requested, .. }) => assert_eq!(requested, later(current, 1)),
        other => panic!("{other:?}"),
    }
    fixture.store().watch(Prefix::ALL, current).await.unwrap();
}

pub async fn a_long_history_is_compacted_while_writers_go_on<F: Fixture>() {
    const CHANGES: u64 = 3_000;
    const WRITERS: u64 = 50;
    let fixture = F::new().await;
    let store = fixture.store();
    put(store, "/kept", "v").await;
    for round in 0..CHANGES / WRITERS {
        let names = (0..WRITERS).map(|writer| format!("/k/{writer:02}"));
        let value = round.to_string();
        super::commits::futures(names.map(|name| {
            let value = value.clone();
            async move { put(store, &name, &value).await }
        }))
        .await;
    }
    let oldest = later(Revision::FIRST, 1 + CHANGES);
    let (compacted, ()) = tokio::join!(store.compact(oldest), async {
        for _ in 0..20 {
            put(store, "/other", "v").await;
        }
    });
    compacted.unwrap();
    let request = RangeRequest { at: Some(oldest), ..RangeRequest::of(prefix("/k/")) };
    let page = store.range(request).await.unwrap();
    assert_eq!(page.entries.len() as u64, WRITERS);
    assert!(page.entries.iter().all(|entry| &*entry.value == (CHANGES / WRITERS - 1).to_string().as_bytes()));
    let mut watch = store.watch(Prefix::ALL, oldest).await.unwrap();
    let last = later(oldest, 20);
    assert_eq!(revisions(&events_until(&mut watch, last).await), (oldest.get() + 1..=last.get()).collect::<Vec<_>>());
    assert!(store.get(&key("/kept")).await.unwrap().is_some());
}
