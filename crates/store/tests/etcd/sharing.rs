//! An etcd that others use as well.

use store::etcd::EtcdOptions;
use store::{Change, EtcdStore, Notice, Prefix, RangeRequest, Revision, Store, Watch};
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, Version, key};

crate::on_both_versions! {
    what_others_store_is_not_shown
    a_watch_tells_how_far_it_has_seen_when_only_others_write
}

async fn at<V: Version>(server: &Server<V>, prefix: &'static str) -> EtcdStore {
    let prefix = Prefix::new(prefix).unwrap();
    EtcdStore::connect(EtcdOptions { prefix, ..server.options() }).await.unwrap()
}

async fn what_others_store_is_not_shown<V: Version>() {
    let (server, _) = Server::<V>::start(&[]).await;
    let (ours, others, all) = (at(&server, "/ours/").await, at(&server, "/other/").await, at(&server, "").await);
    let mut watch = ours.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    let first = others.commit(Change::create(key("a"), "theirs")).await.unwrap().revision;
    // What has our prefix for its whole key is somebody else's, too.
    all.commit(Change::create(key("/ours/"), "nobody's")).await.unwrap();
    let second = ours.commit(Change::create(key("a"), "ours")).await.unwrap().revision;
    assert_eq!(second.get(), first.get() + 2);
    let page = ours.range(RangeRequest::of(Prefix::ALL)).await.unwrap();
    assert_eq!((page.entries.len(), page.remaining, page.revision), (1, 0, second));
    assert_eq!(page.entries[0].value, "ours");
    let event = loop {
        match timeout(PATIENCE, watch.next()).await.expect("an event in time").unwrap() {
            Notice::Event(event) => break event,
            Notice::Progress(revision) => assert!(revision < second),
        }
    };
    assert_eq!((event.key(), event.revision()), (&key("a"), second));
    assert_eq!(all.range(RangeRequest::of(Prefix::ALL)).await.unwrap().entries.len(), 3);
}

async fn a_watch_tells_how_far_it_has_seen_when_only_others_write<V: Version>() {
    let (server, _) = Server::<V>::start(&[]).await;
    let (ours, others) = (at(&server, "/ours/").await, at(&server, "/other/").await);
    let mut watch = ours.watch(Prefix::ALL, Revision::FIRST).await.unwrap();
    for _ in 0..3 {
        let theirs = others.commit(Change::put(key("a"), "theirs")).await.unwrap().revision;
        // Nobody tells this store: the watch finds out.
        let seen = async {
            loop {
                match watch.next().await.unwrap() {
                    Notice::Progress(revision) if revision >= theirs => break,
                    Notice::Progress(_) => {}
                    Notice::Event(event) => panic!("{event:?}"),
                }
            }
        };
        timeout(PATIENCE, seen).await.expect("progress in time");
    }
}
