//! What does not fit: values, space, pages, and watchers that do not read.

use bytes::Bytes;
use store::limits::{MAX_PAGE_BYTES, MAX_VALUE_BYTES};
use store::{Change, CommitError, Event, Notice, Prefix, RangeRequest, Revision, Store, StoreError, Watch};
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, Version, key};

const MIB: usize = 1024 * 1024;

crate::on_both_versions! {
    a_value_that_etcd_does_not_take_is_refused_with_the_remedy
    an_etcd_with_the_remedy_takes_the_largest_values
    a_full_etcd_refuses_changes_and_goes_on_reading
    a_page_ends_at_its_bytes_however_many_entries_were_asked_for
    a_watcher_that_does_not_read_costs_little_and_holds_nobody_up
}

async fn a_value_that_etcd_does_not_take_is_refused_with_the_remedy<V: Version>() {
    let (_server, store) = Server::<V>::start(&[]).await;
    for size in [MIB * 3 / 2, 2 * MIB, MAX_VALUE_BYTES] {
        match store.commit(Change::put(key("large"), vec![7; size])).await {
            Err(CommitError::Store(error @ StoreError::ValueTooLargeForEtcd { size: said })) => {
                assert_eq!(said, size);
                assert!(error.to_string().contains("--max-request-bytes"), "{error}");
            }
            other => panic!("{size}: {other:?}"),
        }
    }
    assert_eq!(store.get(&key("large")).await.unwrap(), None);
    store.commit(Change::put(key("large"), vec![7; MIB])).await.unwrap();
}

async fn an_etcd_with_the_remedy_takes_the_largest_values<V: Version>() {
    let told = StoreError::ValueTooLargeForEtcd { size: 1 }.to_string();
    let (_, rest) = told.split_once("--max-request-bytes, ").unwrap();
    let bytes = rest.split(' ').next().unwrap();
    let (_server, store) = Server::<V>::start(&["--max-request-bytes", bytes]).await;
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let values = [1_u8, 2].map(|byte| Bytes::from(vec![byte; MAX_VALUE_BYTES]));
    for value in &values {
        store.commit(Change::put(key("large"), value.clone())).await.unwrap();
    }
    let [first, second] = values;
    let mut events = Vec::new();
    while events.len() < 2 {
        if let Notice::Event(event) = timeout(PATIENCE, watch.next()).await.expect("an event in time").unwrap() {
            events.push(event);
        }
    }
    assert!(matches!(&events[0], Event::Created { entry } if entry.value == first));
    assert!(
        matches!(&events[1], Event::Modified { entry, previous } if entry.value == second && previous.value == first)
    );
}

async fn a_full_etcd_refuses_changes_and_goes_on_reading<V: Version>() {
    const QUOTA_MIB: usize = 16;
    let (_server, store) = Server::<V>::start(&["--quota-backend-bytes", &(QUOTA_MIB * MIB).to_string()]).await;
    let mut stored = 0;
    let error = loop {
        assert!(stored < 4 * QUOTA_MIB, "the quota does not work");
        match store.commit(Change::put(key(format!("k{stored:02}")), vec![7; MIB])).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CommitError::Store(StoreError::NoSpace)), "{error}");
    assert!(store.get(&key("k00")).await.unwrap().is_some());
    assert_eq!(store.range(RangeRequest::of(Prefix::ALL)).await.unwrap().entries.len(), stored);
    store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
}

async fn a_page_ends_at_its_bytes_however_many_entries_were_asked_for<V: Version>() {
    // More than one answer may have.
    const ENTRIES: usize = 140;
    let (_server, store) = Server::<V>::start(&[]).await;
    let value = Bytes::from(vec![7; MIB]);
    for number in 0..ENTRIES {
        store.commit(Change::create(key(format!("k{number:03}")), value.clone())).await.unwrap();
    }
    let mut next = Some(RangeRequest::of(Prefix::ALL));
    let mut names = Vec::new();
    while let Some(request) = next {
        let page = store.range(request.clone()).await.unwrap();
        assert!(page.entries.len() * MIB <= MAX_PAGE_BYTES);
        next = request.following(&page);
        names.extend(page.entries.into_iter().map(|entry| entry.key));
        assert_eq!(page.remaining, (ENTRIES - names.len()) as u64);
    }
    assert_eq!(names, (0..ENTRIES).map(|number| key(format!("k{number:03}"))).collect::<Vec<_>>());
}

async fn a_watcher_that_does_not_read_costs_little_and_holds_nobody_up<V: Version>() {
    const CHANGES: usize = 150;
    const WATCHERS: usize = 3;
    let (_server, store) = Server::<V>::start(&[]).await;
    let mut watches = Vec::new();
    for _ in 0..WATCHERS {
        watches.push(store.watch(Prefix::ALL, Revision::FIRST).await.unwrap());
    }
    let value = Bytes::from(vec![7; MIB]);
    let before = memory_bytes();
    for _ in 0..CHANGES {
        store.commit(Change::put(key("a"), value.clone())).await.unwrap();
        store.get(&key("a")).await.unwrap().unwrap();
    }
    let grown = memory_bytes().saturating_sub(before);
    assert!(grown < WATCHERS * CHANGES * MIB / 4, "{} MiB more", grown / MIB);
    for mut watch in watches {
        let mut events = 0;
        while events < CHANGES {
            match timeout(PATIENCE, watch.next()).await.expect("an event in time").unwrap() {
                Notice::Event(event) => {
                    events += 1;
                    assert_eq!(event.revision().get(), events as u64 + 1);
                }
                Notice::Progress(_) => {}
            }
        }
    }
}

/// What this process holds in memory.
fn memory_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
