//! What watches tell: everything under the prefix, once, in order, with what was there before.

use std::time::Duration;

use super::{Fixture, PATIENCE, delete, events_until, key, later, next_event, prefix, put, revisions};
use crate::{Change, Event, Notice, Prefix, RangeRequest, Revision, Store, StoreError, Watch};

pub async fn a_watch_tells_history_then_what_happens<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    put(store, "a", "1").await;
    let last = put(store, "b", "1").await;
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    assert_eq!(revisions(&events_until(&mut watch, last).await), [2, 3]);
    let live = put(store, "a", "2").await;
    assert_eq!(next_event(&mut watch).await.revision(), live);
}

pub async fn a_watch_from_now_tells_nothing_old<F: Fixture>() {
    let fixture = F::new().await;
    let now = put(fixture.store(), "a", "1").await;
    let mut watch = fixture.store().watch(Prefix::ALL, now).await.unwrap();
    let live = put(fixture.store(), "a", "2").await;
    assert_eq!(next_event(&mut watch).await.revision(), live);
}

pub async fn a_watch_tells_only_its_prefix<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    let mut live = store.watch(prefix("/a/"), Revision::FIRST).await.unwrap();
    for name in ["/a/1", "/b/1", "/a", "/a/2", "/ab"] {
        put(store, name, "1").await;
    }
    delete(store, "/b/1").await;
    let last = delete(store, "/a/1").await;
    assert_eq!(revisions(&events_until(&mut live, last).await), [2, 5, 8]);
    let mut past = store.watch(prefix("/a/"), Revision::FIRST).await.unwrap();
    assert_eq!(revisions(&events_until(&mut past, last).await), [2, 5, 8]);
}

pub async fn events_carry_what_was_there_before<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    let mut live = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let mut entries = Vec::new();
    for value in ["1", "2"] {
        put(store, "a", value).await;
        entries.push(store.get(&key("a")).await.unwrap().unwrap());
    }
    let deleted = delete(store, "a").await;
    let last = put(store, "a", "3").await;
    entries.push(store.get(&key("a")).await.unwrap().unwrap());
    let [first, second, third] = entries.try_into().unwrap();
    let expected = [
        Event::Created { entry: first.clone() },
        Event::Modified { entry: second.clone(), previous: first },
        Event::Deleted { revision: deleted, previous: second },
        Event::Created { entry: third },
    ];
    assert_eq!(events_until(&mut live, last).await, expected);
    let mut past = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    assert_eq!(events_until(&mut past, last).await, expected);
}

pub async fn a_watch_tells_how_far_it_has_seen<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    let mut watch = store.watch(prefix("/a/"), Revision::FIRST).await.unwrap();
    let own = put(store, "/a/1", "1").await;
    let foreign = put(store, "/b/1", "1").await;
    let seen = async {
        let mut told = Vec::new();
        loop {
            match watch.next().await.unwrap() {
                Notice::Event(event) => told.push(event.revision()),
                // The watch need not tell each revision, but it reaches the newest.
                Notice::Progress(revision) if revision == foreign => break told,
                // Progress must never run ahead of an event that is still to come.
                Notice::Progress(revision) => assert!(revision < own || told == [own]),
            }
        }
    };
    assert_eq!(tokio::time::timeout(PATIENCE, seen).await.unwrap(), [own]);
}

pub async fn a_list_and_a_watch_after_it_miss_and_repeat_nothing<F: Fixture>() {
    const CHANGES: u64 = 200;
    let fixture = F::new().await;
    let store = fixture.store();
    let last = later(Revision::FIRST, CHANGES);
    let writer = async {
        for number in 0..CHANGES {
            put(store, &format!("k{}", number % 7), &number.to_string()).await;
        }
    };
    let reader = async {
        loop {
            let page = store.range(RangeRequest::of(Prefix::ALL)).await.unwrap();
            assert!(page.entries.iter().all(|entry| entry.modified <= page.revision));
            let mut watch = store.watch(Prefix::ALL, page.revision).await.unwrap();
            if page.revision == last {
                break;
            }
            assert_eq!(next_event(&mut watch).await.revision(), page.revision.next());
        }
    };
    tokio::join!(writer, reader);
}

pub async fn reconnecting_misses_and_repeats_nothing<F: Fixture>() {
    const CHANGES: u64 = 300;
    let fixture = F::new().await;
    let store = fixture.store();
    let writer = async {
        for number in 0..CHANGES {
            put(store, &format!("k{}", number % 5), "v").await;
        }
    };
    let reader = async {
        let mut seen = Revision::FIRST;
        let mut events = 1;
        while seen < later(Revision::FIRST, CHANGES) {
            let mut watch = store.watch(Prefix::ALL, seen).await.unwrap();
            for _ in 0..events {
                if seen == later(Revision::FIRST, CHANGES) {
                    break;
                }
                let event = next_event(&mut watch).await;
                assert_eq!(event.revision(), seen.next());
                seen = event.revision();
            }
            events = events % 17 + 1;
        }
    };
    tokio::join!(writer, reader);
}

pub async fn a_watcher_that_sleeps_gets_everything<F: Fixture>() {
    const CHANGES: u64 = 6_000;
    const WRITERS: u64 = 50;
    let fixture = F::new().await;
    let store = fixture.store();
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let first = put(store, "first", "v").await;
    assert_eq!(next_event(&mut watch).await.revision(), first);
    for _ in 0..CHANGES / WRITERS {
        let changes = (0..WRITERS).map(|writer| store.commit(Change::put(key(format!("k{writer}")), "v")));
        super::commits::futures(changes).await.into_iter().for_each(|result| drop(result.unwrap()));
    }
    let last = later(first, CHANGES);
    let events = events_until(&mut watch, last).await;
    assert_eq!(revisions(&events), (first.get() + 1..=last.get()).collect::<Vec<_>>());
}

pub async fn a_dropped_wait_loses_nothing<F: Fixture>() {
    const CHANGES: u64 = 100;
    let fixture = F::new().await;
    let store = fixture.store();
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let mut seen = Revision::FIRST;
    for _ in 0..CHANGES {
        let put = put(store, "a", "v");
        // Whichever is first: often the wait is dropped half-way.
        tokio::select! {
            notice = watch.next() => if let Notice::Event(event) = notice.unwrap() {
                assert_eq!(event.revision(), seen.next());
                seen = event.revision();
            },
            _ = put => {}
        }
        let _ = tokio::time::timeout(Duration::ZERO, watch.next()).await.map(|notice| {
            if let Notice::Event(event) = notice.unwrap() {
                assert_eq!(event.revision(), seen.next());
                seen = event.revision();
            }
        });
    }
    let last = put(store, "a", "last").await;
    let rest = events_until(&mut watch, last).await;
    assert_eq!(revisions(&rest), (seen.get() + 1..=last.get()).collect::<Vec<_>>());
}

pub async fn a_watch_from_the_future_is_refused<F: Fixture>() {
    let fixture = F::new().await;
    let current = put(fixture.store(), "a", "1").await;
    match fixture.store().watch(Prefix::ALL, later(current, 1)).await {
        Err(StoreError::FutureRevision { requested, current: said }) => {
            assert_eq!((requested, said), (later(current, 1), current));
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("a watch"),
    }
}
