//! SIGKILL under load: every acknowledged write is there afterwards, and history has no hole.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use store::{EmbeddedStore, Key, Notice, Prefix, Revision, Store, Watch};

const ROUNDS: usize = 10;

fn key(name: &str) -> Key {
    Key::new(name.to_owned()).unwrap()
}

fn start(directory: &Path, round: usize) -> Child {
    Command::new(env!("CARGO_BIN_EXE_store-killed-writer"))
        .arg(directory)
        .arg(round.to_string())
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
