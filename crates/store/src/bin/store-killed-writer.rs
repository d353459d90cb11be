//! The process that the kill test starts and kills: writes without end into the store in a directory, and says on
//! standard output what was acknowledged.

use std::path::Path;
use std::sync::Arc;

use store::{Change, EmbeddedStore, Key, Store};

const WRITERS: usize = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, directory, round] = &arguments[..] else {
        eprintln!("usage: store-killed-writer DIRECTORY ROUND");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let store = Arc::new(EmbeddedStore::open(Path::new(directory)).expect("a store"));
    runtime.block_on(async {
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| tokio::spawn(write(store.clone(), round.clone(), writer))).collect();
        for writer in writers {
            writer.await.expect("a writer");
        }
    });
}

async fn write(store: Arc<EmbeddedStore>, round: String, writer: usize) {
    for number in 0_u64.. {
        // Some keys are written once, some again and again.
        let name = format!("{round}/{writer}/{}", if number % 2 == 0 { number } else { 1 });
        let key = Key::new(name.clone()).expect("a key");
        let committed = store.commit(Change::put(key, vec![7; 1_500])).await.expect("a commit");
        println!("acknowledged {name} {} .", committed.revision);
    }
}
