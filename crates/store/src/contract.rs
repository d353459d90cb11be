//! The contract: what every [`Store`] does, as tests that every implementation runs.
//!
//! An implementation brings a [`Fixture`] and calls [`contract_tests!`](crate::contract_tests), which makes one test per
//! promise. Promises are stated for one store that nobody else uses.

pub mod commits;
pub mod compaction;
pub mod lasting;
pub mod ranges;
pub mod watches;

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

use crate::{Change, Entry, Event, Key, Notice, Prefix, Revision, Store, StoreError, Watch, WatchEnd};

/// How an implementation makes stores for the suite.
pub trait Fixture: Sized + Send {
    type S: Store;

    /// A fixture with a new, empty store.
    fn new() -> impl Future<Output = Self> + Send;

    /// The store.
    fn store(&self) -> &Self::S;

    /// The same fixture after its store, or the client of it, was closed and opened again.
    fn reopen(self) -> impl Future<Output = Self> + Send;
}

/// One `#[tokio::test]` per promise, for the given [`Fixture`].
#[macro_export]
macro_rules! contract_tests {
    ($fixture:ty) => {
        $crate::contract_tests! { @module $fixture, commits:
            a_new_store_is_empty_and_at_the_first_revision
            a_created_value_is_there
            creating_what_is_there_is_a_conflict
            an_update_needs_the_revision_it_replaces
            a_put_does_not_care_what_is_there
            deleting_needs_the_revision_it_deletes
            deleting_nothing_is_a_conflict
            a_deleted_key_can_be_created_again
            revisions_are_dense_and_conflicts_use_none
            of_many_writers_of_one_key_exactly_one_wins
            many_writers_of_many_keys_share_one_order
            large_values_are_stored_and_larger_ones_refused
            an_empty_value_is_a_value
        }
        $crate::contract_tests! { @module $fixture, ranges:
            entries_come_in_byte_order
            a_prefix_is_bytes_not_path_segments
            the_empty_prefix_is_everything
            pages_follow_each_other_without_gap_or_repetition
            a_page_starts_after_a_key_that_is_gone
            an_old_revision_shows_what_was_there_then
            pages_at_one_revision_ignore_later_changes
            a_revision_that_has_not_happened_is_refused
            a_limit_of_zero_still_moves_on
        }
        $crate::contract_tests! { @module $fixture, watches:
            a_watch_tells_history_then_what_happens
            a_watch_from_now_tells_nothing_old
            a_watch_tells_only_its_prefix
            events_carry_what_was_there_before
            a_watch_tells_how_far_it_has_seen
            a_list_and_a_watch_after_it_miss_and_repeat_nothing
            reconnecting_misses_and_repeats_nothing
            a_watcher_that_sleeps_gets_everything
            a_dropped_wait_loses_nothing
            a_watch_from_the_future_is_refused
        }
        $crate::contract_tests! { @module $fixture, compaction:
            compacted_revisions_are_refused
            compaction_keeps_what_is_there
            the_oldest_revision_stays_readable_and_watchable
            compacting_again_or_further_back_is_harmless
            compacting_the_future_is_refused
            a_long_history_is_compacted_while_writers_go_on
        }
        $crate::contract_tests! { @module $fixture, lasting:
            reopening_keeps_entries_and_revision
            reopening_keeps_history
            reopening_keeps_the_compaction
            a_watch_goes_on_where_it_was_before_reopening
        }
    };
    (@module $fixture:ty, $module:ident: $($test:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test]
                async fn $test() {
                    $crate::contract::$module::$test::<$fixture>().await;
                }
            )*
        }
    };
}

/// Nothing here takes long; a promise that is not kept should fail, not hang.
const PATIENCE: Duration = Duration::from_secs(60);

fn key(text: impl Into<Bytes>) -> Key {
    Key::new(text).expect("a key")
}

fn prefix(text: &'static str) -> Prefix {
    Prefix::new(text).expect("a prefix")
}

/// `before` plus `changes`.
fn later(before: Revision, changes: u64) -> Revision {
    Revision::new(before.get() + changes).expect("a revision")
}

async fn put(store: &impl Store, name: &str, value: &str) -> Revision {
    let change = Change::put(key(name.to_owned()), value.to_owned());
    store.commit(change).await.expect("a put").revision
}

async fn delete(store: &impl Store, name: &str) -> Revision {
    store.commit(Change::delete_any(key(name.to_owned()))).await.expect("a delete").revision
}

/// The next notice that is an event.
async fn next_event(watch: &mut impl Watch) -> Event {
    let event = async {
        loop {
            match watch.next().await.expect("a living watch") {
                Notice::Event(event) => break event,
                Notice::Progress(_) => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, event).await.expect("an event in time")
}

/// Events up to and including the revision `last`, whose change must be under the watch's prefix.
async fn events_until(watch: &mut impl Watch, last: Revision) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let event = next_event(watch).await;
        let revision = event.revision();
        assert!(revision <= last, "{revision} is after {last}");
        events.push(event);
        if revision == last {
            return events;
        }
    }
}

fn revisions(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.revision().get()).collect()
}

/// Entries as text, `key=value`.
fn told(entries: &[Entry]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    entries.iter().map(|entry| format!("{}={}", text(entry.key.as_bytes()), text(&entry.value))).collect()
}

/// How a watch after `after` fails: an implementation may refuse it at once or with its first notice.
async fn compacted_watch<S: Store>(store: &S, after: Revision) -> Revision {
    let mut watch = match store.watch(Prefix::ALL, after).await {
        Ok(watch) => watch,
        Err(StoreError::Compacted { oldest, .. }) => return oldest,
        Err(error) => panic!("{error}"),
    };
    match tokio::time::timeout(PATIENCE, watch.next()).await.expect("an answer in time") {
        Err(WatchEnd::Compacted { oldest }) => oldest,
        other => panic!("{other:?}"),
    }
}
