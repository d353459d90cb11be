//! SIGKILL under load: every acknowledged write is there afterwards, and history has no hole.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use store::{Change, EmbeddedStore, Key, Notice, Prefix, Revision, Store, Watch};

const ROUNDS: usize = 10;
const WRITERS: usize = 16;
const DIRECTORY: &str = "EVENTIDE_KILLED_STORE";
const ROUND: &str = "EVENTIDE_KILLED_ROUND";

fn key(name: &str) -> Key {
    Key::new(name.to_owned()).unwrap()
}

/// Not a test by itself: the process that the other test starts and kills. Says on standard output what was
/// acknowledged.
#[test]
fn writer_to_be_killed() {
    let (Ok(directory), Ok(round)) = (std::env::var(DIRECTORY), std::env::var(ROUND)) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = Arc::new(EmbeddedStore::open(Path::new(&directory)).unwrap());
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, round) = (store.clone(), round.clone());
            runtime.spawn(async move {
                for number in 0_u64.. {
                    // Some keys are written once, some again and again.
                    let name = format!("{round}/{writer}/{}", if number % 2 == 0 { number } else { 1 });
                    let committed = store.commit(Change::put(key(&name), vec![7; 1_500])).await.unwrap();
                    println!("acknowledged {name} {} .", committed.revision);
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

fn start(directory: &Path, round: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer_to_be_killed", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Key and revision, if the line is whole.
fn acknowledged(line: &str) -> Option<(String, Revision)> {
    let (name, revision) = line.strip_prefix("acknowledged ")?.strip_suffix(" .")?.split_once(' ')?;
    Some((name.to_owned(), Revision::new(revision.parse().ok()?)?))
}

#[tokio::test]
async fn a_kill_at_any_moment_loses_no_acknowledged_write() {
    let directory = tempfile::tempdir().unwrap();
    let mut newest: HashMap<String, Revision> = HashMap::new();
    let mut seen = Revision::FIRST;
    for round in 0..ROUNDS {
        let mut child = start(directory.path(), round);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut count = 0;
        for (name, revision) in lines.filter_map(|line| acknowledged(&line.ok()?)) {
            let known = newest.entry(name).or_insert(revision);
            *known = revision.max(*known);
            count += 1;
            if count == 100 + 73 * round {
                // SIGKILL; what it said before it died is still read.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(count >= 100 + 73 * round, "round {round} ended by itself");
        seen = check(directory.path(), &newest, seen).await;
    }
}

/// Everything acknowledged is there; a client that saw everything up to `seen` goes on without gap or repetition.
async fn check(directory: &Path, newest: &HashMap<String, Revision>, seen: Revision) -> Revision {
    let store = EmbeddedStore::open(directory).unwrap();
    let current = store.current_revision().await.unwrap();
    for (name, acknowledged) in newest {
        let entry = store.get(&key(name)).await.unwrap().unwrap_or_else(|| panic!("{name} is lost"));
        assert!(entry.modified >= *acknowledged, "{name} is back at {}, not {acknowledged}", entry.modified);
    }
    let mut watch = store.watch(Prefix::ALL, seen).await.unwrap();
    let mut expected = seen;
    while expected < current {
        let Ok(Notice::Event(event)) = watch.next().await else { panic!("no event") };
        assert_eq!(event.revision(), expected.next());
        expected = event.revision();
    }
    current
}
