//! The embedded store: durable puts beside a bare append and sync, and a large list.
//!
//! Items are puts or entries. The floor is what the disk allows: the same bytes, appended to a file and synced together.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use store::{Change, EmbeddedStore, Key, Prefix, RangeRequest, Store};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const VALUE: [u8; 2_048] = [b'x'; 2_048];
/// Puts of each writer in one sample.
const ROUNDS: usize = 20;
const LISTED: usize = 10_000;

fn main() {
    divan::main();
}

/// Durable puts of new keys; each writer waits for its own acknowledgement before its next put.
#[divan::bench(args = [1, 16, 64], sample_count = 20, sample_size = 1)]
fn puts(bencher: Bencher<'_, '_>, writers: usize) {
    let runtime = runtime();
    let directory = directory();
    let store = Arc::new(open_in(directory.path()));
    let mut sample = 0;
    bencher
        .counter(ItemsCount::new(writers * ROUNDS))
        .with_inputs(|| {
            sample += 1;
            sample
        })
        .bench_local_values(|sample| runtime.block_on(put_all(&store, writers, sample)));
}

async fn put_all(store: &Arc<EmbeddedStore>, writers: usize, sample: usize) {
    let mut running = JoinSet::new();
    for writer in 0..writers {
        let store = store.clone();
        running.spawn(async move {
            for round in 0..ROUNDS {
                let key = Key::new(format!("/pods/{sample}/{writer}/{round}")).expect("a key");
                store.commit(Change::create(key, &VALUE[..])).await.expect("a put");
            }
        });
    }
    running.join_all().await;
}

/// What the disk allows: one append and fdatasync for the values of all writers.
#[divan::bench(args = [1, 16, 64], sample_count = 20, sample_size = 1)]
fn floor(bencher: Bencher<'_, '_>, writers: usize) {
    let directory = directory();
    let mut file = File::create(directory.path().join("log")).expect("a file");
    bencher.counter(ItemsCount::new(writers * ROUNDS)).bench_local(|| {
        for _ in 0..ROUNDS {
            file.write_all(&VALUE.repeat(writers)).expect("room");
            file.sync_data().expect("a sync");
        }
    });
}

/// One page of 10,000 entries of 2 KiB.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn range(bencher: Bencher<'_, '_>) {
    let (runtime, store, _directory) = filled();
    bencher.counter(ItemsCount::new(LISTED)).bench_local(|| {
        let page = runtime.block_on(store.range(RangeRequest::of(Prefix::ALL))).expect("a page");
        assert_eq!(page.entries.len(), LISTED);
        page
    });
}

/// One entry of 10,000.
#[divan::bench(sample_count = 1_000)]
fn get(bencher: Bencher<'_, '_>) {
    let (runtime, store, _directory) = filled();
    let key = Key::new("/pods/05000").expect("a key");
    bencher.bench_local(|| runtime.block_on(store.get(&key)).expect("an answer").expect("an entry"));
}

/// Opening, and so verifying, a store of 10,000 entries.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn open(bencher: Bencher<'_, '_>) {
    let (_runtime, store, directory) = filled();
    drop(store);
    bencher.bench_local(|| open_in(directory.path()));
}

/// Opening a store in an empty directory.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn open_new(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(directory).bench_local_values(|directory| (open_in(directory.path()), directory));
}

fn filled() -> (Runtime, Arc<EmbeddedStore>, TempDir) {
    const FILLERS: usize = 100;
    let (runtime, directory) = (runtime(), directory());
    let store = Arc::new(open_in(directory.path()));
    let each = LISTED / FILLERS;
    runtime.block_on(async {
        let mut running = JoinSet::new();
        for filler in 0..FILLERS {
            let store = store.clone();
            running.spawn(async move {
                for number in filler * each..(filler + 1) * each {
                    let key = Key::new(format!("/pods/{number:05}")).expect("a key");
                    store.commit(Change::create(key, &VALUE[..])).await.expect("a put");
                }
            });
        }
        running.join_all().await;
    });
    (runtime, store, directory)
}

fn open_in(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory).expect("a store")
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime")
}

/// On a real disk, beside the build, rather than where temporary files may be in memory.
fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}
