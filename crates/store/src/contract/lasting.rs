//! What outlives the process: everything that was answered.

use super::{Fixture, compacted_watch, delete, events_until, later, next_event, put};
use crate::{Prefix, RangeRequest, Revision, Store};

pub async fn reopening_keeps_entries_and_revision<F: Fixture>() {
    let fixture = F::new().await;
    for name in ["a", "b", "c", "a"] {
        put(fixture.store(), name, "v").await;
    }
    let last = delete(fixture.store(), "b").await;
    let before = fixture.store().range(RangeRequest::of(Prefix::ALL)).await.unwrap();
    let fixture = fixture.reopen().await;
    assert_eq!(fixture.store().current_revision().await.unwrap(), last);
    assert_eq!(fixture.store().range(RangeRequest::of(Prefix::ALL)).await.unwrap(), before);
    assert_eq!(put(fixture.store(), "d", "v").await, last.next());
}

pub async fn reopening_keeps_history<F: Fixture>() {
    let fixture = F::new().await;
    put(fixture.store(), "a", "1").await;
    put(fixture.store(), "a", "2").await;
    let last = delete(fixture.store(), "a").await;
    let mut watch = fixture.store().watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let events = events_until(&mut watch, last).await;
    let request = RangeRequest { at: Some(later(Revision::FIRST, 1)), ..RangeRequest::of(Prefix::ALL) };
    let page = fixture.store().range(request.clone()).await.unwrap();
    let fixture = fixture.reopen().await;
    assert_eq!(fixture.store().range(request).await.unwrap(), page);
    let mut watch = fixture.store().watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    assert_eq!(events_until(&mut watch, last).await, events);
}

pub async fn reopening_keeps_the_compaction<F: Fixture>() {
    let fixture = F::new().await;
    for _ in 0..5 {
        put(fixture.store(), "a", "v").await;
    }
    let oldest = later(Revision::FIRST, 4);
    fixture.store().compact(oldest).await.unwrap();
    let fixture = fixture.reopen().await;
    assert_eq!(compacted_watch(fixture.store(), Revision::FIRST).await, oldest);
}

pub async fn a_watch_goes_on_where_it_was_before_reopening<F: Fixture>() {
    let fixture = F::new().await;
    for _ in 0..5 {
        put(fixture.store(), "a", "v").await;
    }
    let mut watch = fixture.store().watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    next_event(&mut watch).await;
    let seen = next_event(&mut watch).await.revision();
    let fixture = fixture.reopen().await;
    let mut watch = fixture.store().watch(Prefix::ALL, seen).await.unwrap();
    assert_eq!(next_event(&mut watch).await.revision(), seen.next());
}
