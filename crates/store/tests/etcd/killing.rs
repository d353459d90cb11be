//! SIGKILL to etcd under load: what was acknowledged is there, and a watch that lives through it is exact.

use std::collections::HashMap;
use std::sync::Arc;

use store::{Change, CommitError, EtcdStore, Event, Notice, Prefix, Revision, Store, StoreError, Watch, WatchEnd};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, Version, key};

const WRITERS: usize = 8;
const KILLS: usize = 3;
const WRITES_BETWEEN: usize = 200;

crate::on_both_versions! {
    kills_lose_nothing_that_was_acknowledged_and_a_watch_goes_on_exactly
    a_watch_that_missed_a_compaction_while_etcd_was_down_says_so
}

async fn kills_lose_nothing_that_was_acknowledged_and_a_watch_goes_on_exactly<V: Version>() {
    let (mut server, store) = Server::<V>::start(&[]).await;
    let store = Arc::new(store);
    let live = tokio::spawn(everything(store.watch(Prefix::ALL, Revision::FIRST).await.unwrap()));
    let (told, mut acknowledged) = mpsc::channel(WRITES_BETWEEN);
    for writer in 0..WRITERS {
        tokio::spawn(write(store.clone(), writer, told.clone()));
    }
    drop(told);
    let mut known: HashMap<Revision, String> = HashMap::new();
    for round in 0..=KILLS {
        for _ in 0..WRITES_BETWEEN {
            let (revision, name) = timeout(PATIENCE, acknowledged.recv()).await.expect("writes go on").unwrap();
            assert_eq!(known.insert(revision, name), None, "one revision for two changes");
        }
        if round < KILLS {
            server.kill();
            server.restart();
        }
    }
    acknowledged.close();
    while let Some((revision, name)) = acknowledged.recv().await {
        known.insert(revision, name);
    }
    store.commit(Change::create(key("last"), "")).await.unwrap();
    let live = timeout(PATIENCE, live).await.expect("the watch reaches the end").unwrap();
    let again = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let history = timeout(PATIENCE, everything(again)).await.expect("history has an end");
    assert!(live == history, "{} events were told live, {} by history", live.len(), history.len());
    let told: HashMap<Revision, String> = history.iter().map(|event| (event.revision(), name(event))).collect();
    assert_eq!(told.len(), history.len(), "an event was repeated");
    for (revision, name) in known {
        assert_eq!(told.get(&revision), Some(&name), "an acknowledged write is lost");
    }
}

async fn a_watch_that_missed_a_compaction_while_etcd_was_down_says_so<V: Version>() {
    let (mut server, store) = Server::<V>::start(&[]).await;
    let mut watch = store.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    store.commit(Change::put(key("a"), "1")).await.unwrap();
    let Ok(Ok(Notice::Event(_))) = timeout(PATIENCE, watch.next()).await else { panic!("no event") };
    server.kill();
    server.restart();
    let other = server.connect().await;
    let mut last = Revision::FIRST;
    for _ in 0..5 {
        last = other.commit(Change::put(key("a"), "2")).await.unwrap().revision;
    }
    other.compact(last).await.unwrap();
    let end = loop {
        match timeout(PATIENCE, watch.next()).await.expect("an end in time") {
            Ok(Notice::Progress(_)) => {}
            Ok(Notice::Event(event)) => panic!("{event:?}"),
            Err(end) => break end,
        }
    };
    assert_eq!(end, WatchEnd::Compacted { oldest: last });
    assert_eq!(watch.next().await, Err(end));
}

/// Writes until nobody listens any more. What is not answered may or may not have happened.
async fn write(store: Arc<EtcdStore>, writer: usize, acknowledged: mpsc::Sender<(Revision, String)>) {
    for number in 0_u64.. {
        let name = format!("{writer}/{number}");
        match store.commit(Change::create(key(name.clone()), vec![7; 1_500])).await {
            Ok(committed) => {
                if acknowledged.send((committed.revision, name)).await.is_err() {
                    return;
                }
            }
            Err(CommitError::Store(StoreError::Unavailable { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// All events up to the key `last`.
async fn everything(mut watch: impl Watch) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        if let Notice::Event(event) = watch.next().await.expect("the watch goes on") {
            events.push(event);
            if events.last().map(name).as_deref() == Some("last") {
                return events;
            }
        }
    }
}

fn name(event: &Event) -> String {
    String::from_utf8_lossy(event.key().as_bytes()).into_owned()
}
