//! What ranges show: order, prefixes, pages, old revisions.

use super::{Fixture, delete, key, later, prefix, put, told};
use crate::{Change, Key, Page, Prefix, RangeRequest, Revision, Store, StoreError};

pub async fn entries_come_in_byte_order<F: Fixture>() {
    let fixture = F::new().await;
    let odd: [&[u8]; 8] = [b"\xff\xff", b"\0", b"a/b", b"a", b"\xff", b"a\0", b"\x80\xfe\n", b"a\xff"];
    for name in odd {
        fixture.store().commit(Change::create(key(name), name)).await.unwrap();
    }
    let page = fixture.store().range(RangeRequest::of(Prefix::ALL)).await.unwrap();
    let mut sorted = odd;
    sorted.sort_unstable();
    assert_eq!(page.entries.iter().map(|entry| entry.key.as_bytes()).collect::<Vec<_>>(), sorted);
    assert!(page.entries.iter().all(|entry| entry.key.as_bytes() == &*entry.value));
    let under = RangeRequest::of(Prefix::new(&b"\xff"[..]).unwrap());
    assert_eq!(fixture.store().range(under).await.unwrap().entries.len(), 2);
}

pub async fn a_prefix_is_bytes_not_path_segments<F: Fixture>() {
    let fixture = F::new().await;
    for name in ["/pods/a", "/pods/b", "/pods", "/podsets/a", "/pod/z"] {
        put(fixture.store(), name, "").await;
    }
    assert_eq!(list(fixture.store(), "/pods").await, ["/pods=", "/pods/a=", "/pods/b=", "/podsets/a="]);
    assert_eq!(list(fixture.store(), "/pods/").await, ["/pods/a=", "/pods/b="]);
    assert_eq!(list(fixture.store(), "/nothing").await, [""; 0]);
}

pub async fn the_empty_prefix_is_everything<F: Fixture>() {
    let fixture = F::new().await;
    put(fixture.store(), "a", "1").await;
    put(fixture.store(), "z", "2").await;
    assert_eq!(list(fixture.store(), "").await, ["a=1", "z=2"]);
}

pub async fn pages_follow_each_other_without_gap_or_repetition<F: Fixture>() {
    let fixture = F::new().await;
    for number in 0..25 {
        put(fixture.store(), &format!("/a/{number:02}"), "").await;
    }
    put(fixture.store(), "/b/00", "").await;
    for limit in [1, 7, 24, 25, 26] {
        let request = RangeRequest { limit, ..RangeRequest::of(prefix("/a/")) };
        let pages = all_pages(fixture.store(), request).await;
        let all: Vec<_> = pages.iter().flat_map(|page| told(&page.entries)).collect();
        assert_eq!(all, (0..25).map(|number| format!("/a/{number:02}=")).collect::<Vec<_>>());
        let mut left: usize = 25;
        for page in pages {
            left -= page.entries.len();
            assert!(page.entries.len() <= limit);
            assert_eq!(page.remaining, left as u64);
        }
    }
}

pub async fn a_page_starts_after_a_key_that_is_gone<F: Fixture>() {
    let fixture = F::new().await;
    for name in ["a", "b", "c"] {
        put(fixture.store(), name, "").await;
    }
    delete(fixture.store(), "b").await;
    assert_eq!(after(fixture.store(), "b").await, ["c="]);
    assert_eq!(after(fixture.store(), "a").await, ["c="]);
    assert_eq!(after(fixture.store(), "0").await, ["a=", "c="]);
    assert_eq!(after(fixture.store(), "z").await, [""; 0]);
    // A start before the prefix changes nothing.
    let request = RangeRequest { start_after: Some(key("a")), ..RangeRequest::of(prefix("c")) };
    assert_eq!(told(&fixture.store().range(request).await.unwrap().entries), ["c="]);
}

pub async fn an_old_revision_shows_what_was_there_then<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    // A model beside the store: what a list showed right after each change.
    let mut shown = vec![(Revision::FIRST, Vec::new())];
    let script =
        [("b", "1"), ("a", "1"), ("b", "2"), ("c", "1"), ("b", ""), ("a", "2"), ("b", "3"), ("a", ""), ("d", "1")];
    for (name, value) in script {
        let revision = if value.is_empty() { delete(store, name).await } else { put(store, name, value).await };
        let page = store.range(RangeRequest::of(Prefix::ALL)).await.unwrap();
        assert_eq!(page.revision, revision);
        shown.push((revision, page.entries));
    }
    for (revision, entries) in shown {
        for limit in [1, 2, 100] {
            let request = RangeRequest { at: Some(revision), limit, ..RangeRequest::of(Prefix::ALL) };
            let pages = all_pages(store, request).await;
            assert!(pages.iter().all(|page| page.revision == revision));
            assert_eq!(pages.into_iter().flat_map(|page| page.entries).collect::<Vec<_>>(), entries, "at {revision}");
        }
    }
}

pub async fn pages_at_one_revision_ignore_later_changes<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.store();
    for name in ["a", "b", "c", "d"] {
        put(store, name, "old").await;
    }
    let request = RangeRequest { limit: 1, ..RangeRequest::of(Prefix::ALL) };
    let first = store.range(request.clone()).await.unwrap();
    assert_eq!((told(&first.entries), first.remaining), (vec!["a=old".to_owned()], 3));
    put(store, "b", "new").await;
    delete(store, "c").await;
    put(store, "bb", "new").await;
    let rest = all_pages(store, request.following(&first).unwrap()).await;
    let rest: Vec<_> = rest.iter().flat_map(|page| told(&page.entries)).collect();
    assert_eq!(rest, ["b=old", "c=old", "d=old"]);
}

pub async fn a_revision_that_has_not_happened_is_refused<F: Fixture>() {
    let fixture = F::new().await;
    let current = put(fixture.store(), "a", "1").await;
    let request = RangeRequest { at: Some(later(current, 1)), ..RangeRequest::of(Prefix::ALL) };
    match fixture.store().range(request).await {
        Err(StoreError::FutureRevision { requested, current: said }) => {
            assert_eq!((requested, said), (later(current, 1), current));
        }
        other => panic!("{other:?}"),
    }
}

pub async fn a_limit_of_zero_still_moves_on<F: Fixture>() {
    let fixture = F::new().await;
    put(fixture.store(), "a", "1").await;
    put(fixture.store(), "b", "1").await;
    let request = RangeRequest { limit: 0, ..RangeRequest::of(Prefix::ALL) };
    let page = fixture.store().range(request).await.unwrap();
    assert_eq!((told(&page.entries), page.remaining), (vec!["a=1".to_owned()], 1));
}

async fn list(store: &impl Store, under: &'static str) -> Vec<String> {
    told(&store.range(RangeRequest::of(prefix(under))).await.unwrap().entries)
}

async fn after(store: &impl Store, start: &'static str) -> Vec<String> {
    let start_after: Option<Key> = Some(key(start));
    told(&store.range(RangeRequest { start_after, ..RangeRequest::of(Prefix::ALL) }).await.unwrap().entries)
}

async fn all_pages(store: &impl Store, first: RangeRequest) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut next = Some(first);
    while let Some(request) = next {
        let page = store.range(request.clone()).await.unwrap();
        next = request.following(&page);
        pages.push(page);
    }
    pages
}
