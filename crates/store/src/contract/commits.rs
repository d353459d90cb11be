//! What changes do: expectations, revisions, order, sizes.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;

use super::{Fixture, delete, key, later, put, told};
use crate::limits::MAX_VALUE_BYTES;
use crate::{Change, CommitError, Expected, Prefix, RangeRequest, Revision, Store, StoreError};

pub async fn a_new_store_is_empty_and_at_the_first_revision<F: Fixture>() {
    let fixture = F::new().await;
    assert_eq!(fixture.store().current_revision().await.unwrap(), Revision::FIRST);
    assert_eq!(fixture.store().get(&key("a")).await.unwrap(), None);
    let page = fixture.store().range(RangeRequest::of(Prefix::ALL)).await.unwrap();
    assert_eq!((page.entries.len(), page.revision, page.remaining), (0, Revision::FIRST, 0));
}

pub async fn a_created_value_is_there<F: Fixture>() {
    let fixture = F::new().await;
    let committed = fixture.store().commit(Change::create(key("a"), "1")).await.unwrap();
    assert_eq!((committed.revision, committed.previous), (later(Revision::FIRST, 1), None));
    let entry = fixture.store().get(&key("a")).await.unwrap().unwrap();
    assert_eq!((&*entry.value, entry.created, entry.modified), (&b"1"[..], committed.revision, committed.revision));
    assert_eq!(fixture.store().current_revision().await.unwrap(), committed.revision);
}

pub async fn creating_what_is_there_is_a_conflict<F: Fixture>() {
    let fixture = F::new().await;
    put(fixture.store(), "a", "1").await;
    let there = fixture.store().get(&key("a")).await.unwrap();
    assert_conflict(fixture.store(), Change::create(key("a"), "2")).await;
    assert_eq!(fixture.store().get(&key("a")).await.unwrap(), there);
}

pub async fn an_update_needs_the_revision_it_replaces<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    let first = put(store, "a", "1").await;
    assert_conflict(store, Change::update(key("absent"), first, "2")).await;
    assert_conflict(store, Change::update(key("a"), Revision::FIRST, "2")).await;
    let second = store.commit(Change::update(key("a"), first, "2")).await.unwrap();
    assert_eq!(told(second.previous.as_slice()), ["a=1"]);
    assert_conflict(store, Change::update(key("a"), first, "3")).await;
    let entry = store.get(&key("a")).await.unwrap().unwrap();
    assert_eq!((&*entry.value, entry.created, entry.modified), (&b"2"[..], first, second.revision));
}

pub async fn a_put_does_not_care_what_is_there<F: Fixture>() {
    let fixture = F::new().await;
    let first = fixture.store().commit(Change::put(key("a"), "1")).await.unwrap();
    assert_eq!(first.previous, None);
    let second = fixture.store().commit(Change::put(key("a"), "2")).await.unwrap();
    assert_eq!(told(second.previous.as_slice()), ["a=1"]);
}

pub async fn deleting_needs_the_revision_it_deletes<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    let first = put(store, "a", "1").await;
    let second = put(store, "a", "2").await;
    assert_conflict(store, Change::delete(key("a"), first)).await;
    let deleted = store.commit(Change::delete(key("a"), second)).await.unwrap();
    assert_eq!(told(deleted.previous.as_slice()), ["a=2"]);
    assert_eq!(deleted.revision, second.next());
    assert_eq!(store.get(&key("a")).await.unwrap(), None);
}

pub async fn deleting_nothing_is_a_conflict<F: Fixture>() {
    let fixture = F::new().await;
    let first = put(fixture.store(), "a", "1").await;
    assert_conflict(fixture.store(), Change::delete_any(key("b"))).await;
    assert_conflict(fixture.store(), Change::delete(key("b"), first)).await;
    let absent = Change { expected: Expected::Absent, ..Change::delete_any(key("b")) };
    assert_conflict(fixture.store(), absent).await;
    assert_eq!(fixture.store().current_revision().await.unwrap(), first);
}

pub async fn a_deleted_key_can_be_created_again<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    let first = put(store, "a", "1").await;
    delete(store, "a").await;
    assert_conflict(store, Change::update(key("a"), first, "2")).await;
    let again = store.commit(Change::create(key("a"), "2")).await.unwrap();
    assert_eq!(again.previous, None);
    let entry = store.get(&key("a")).await.unwrap().unwrap();
    assert_eq!((entry.created, entry.modified), (again.revision, again.revision));
}

pub async fn revisions_are_dense_and_conflicts_use_none<F: Fixture>() {
    let fixture = F::new().await;
    let mut last = Revision::FIRST;
    for round in 0..20 {
        let revision = put(fixture.store(), &format!("k{}", round % 3), "v").await;
        assert_eq!(revision, last.next());
        assert_conflict(fixture.store(), Change::create(key("k0"), "v")).await;
        assert_eq!(fixture.store().current_revision().await.unwrap(), revision);
        last = revision;
    }
}

pub async fn of_many_writers_of_one_key_exactly_one_wins<F: Fixture>() {
    const WRITERS: usize = 32;
    let fixture = Arc::new(F::new().await);
    let mut modified = put(fixture.store(), "a", "start").await;
    for _ in 0..5 {
        let changes = (0..WRITERS).map(|writer| Change::update(key("a"), modified, writer.to_string()));
        let results = futures(changes.map(|change| fixture.store().commit(change))).await;
        let mut winners =
            results.iter().enumerate().filter_map(|(writer, result)| Some((writer, result.as_ref().ok()?)));
        let (writer, winner) = winners.next().expect("a winner");
        assert!(winners.next().is_none(), "two winners");
        let entry = fixture.store().get(&key("a")).await.unwrap().unwrap();
        assert_eq!((entry.modified, &*entry.value), (winner.revision, writer.to_string().as_bytes()));
        modified = winner.revision;
    }
}

pub async fn many_writers_of_many_keys_share_one_order<F: Fixture>() {
    const WRITERS: u64 = 500;
    let fixture = F::new().await;
    let changes = (0..WRITERS).map(|writer| Change::create(key(format!("k{writer:03}")), writer.to_string()));
    let results = futures(changes.map(|change| fixture.store().commit(change))).await;
    let seen: HashSet<_> = results.iter().map(|result| result.as_ref().unwrap().revision).collect();
    assert_eq!(seen.len() as u64, WRITERS);
    assert_eq!(fixture.store().current_revision().await.unwrap(), later(Revision::FIRST, WRITERS));
    for (writer, result) in results.iter().enumerate() {
        let entry = fixture.store().get(&key(format!("k{writer:03}"))).await.unwrap().unwrap();
        assert_eq!(entry.modified, result.as_ref().unwrap().revision);
    }
}

pub async fn large_values_are_stored_and_larger_ones_refused<F: Fixture>() {
    let fixture = F::new().await;
    let large: Bytes = (0..1_200_000_u32).map(|at| (at % 251) as u8).collect();
    fixture.store().commit(Change::create(key("large"), large.clone())).await.unwrap();
    assert_eq!(fixture.store().get(&key("large")).await.unwrap().unwrap().value, large);
    let size = MAX_VALUE_BYTES + 1;
    match fixture.store().commit(Change::create(key("larger"), vec![0; size])).await {
        Err(CommitError::Store(StoreError::ValueTooLarge { size: said })) => assert_eq!(said, size),
        other => panic!("{other:?}"),
    }
}

pub async fn an_empty_value_is_a_value<F: Fixture>() {
    let fixture = F::new().await;
    fixture.store().commit(Change::create(key("a"), "")).await.unwrap();
    assert_eq!(fixture.store().get(&key("a")).await.unwrap().unwrap().value, Bytes::new());
    assert_conflict(fixture.store(), Change::create(key("a"), "")).await;
}

/// The change is refused with what is there, and nothing happens.
async fn assert_conflict(store: &impl Store, change: Change) {
    let there = store.get(&change.key).await.unwrap();
    let before = store.current_revision().await.unwrap();
    match store.commit(change).await {
        Err(CommitError::Conflict { current }) => assert_eq!(current, there),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.current_revision().await.unwrap(), before);
}

/// All of them at once.
pub(crate) async fn futures<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut all = true;
        for (future, result) in waiting.iter_mut().filter(|(_, result)| result.is_none()) {
            match future.as_mut().poll(context) {
                std::task::Poll::Ready(value) => *result = Some(value),
                std::task::Poll::Pending => all = false,
            }
        }
        if all { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    waiting.into_iter().filter_map(|(_, result)| result).collect()
}
