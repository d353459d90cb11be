//! SIGKILL under load: every acknowledged write is there afterwards, and a watch that is resumed is exact.

use tests::client::{CONFIG_MAPS, Client, Credentials, PATIENCE, config_map, version};
use tests::server::Server;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::ledger::{Writer, check, follow};

const WRITERS: usize = 4;
const KILLS: u64 = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_lose_no_acknowledged_write_and_a_resumed_watch_is_exact() {
    let mut server = Server::start();
    let credentials = Credentials::admin(&server);
    let (started, runs) = watch::channel(0);
    let (told, mut acknowledged) = mpsc::channel(1);
    let listed = Client::admin(&server).await.get(CONFIG_MAPS).await.unwrap().object();
    let watcher = tokio::spawn(follow(credentials.clone(), runs.clone(), version(&listed), "last"));
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| Writer::new(format!("w{number}"), credentials.clone(), runs.clone(), told.clone()))
        .map(|writer| tokio::spawn(writer.work()))
        .collect();
    drop(told);
    for kill in 1..=KILLS {
        // At ever different moments of what the server does.
        for _ in 0..10 + kill * 7 % 31 {
            timeout(PATIENCE, acknowledged.recv()).await.expect("writes go on").unwrap();
        }
        server.kill();
        server.run();
        started.send_replace(kill);
    }
    drop(acknowledged);
    let mut books = Vec::new();
    for writer in writers {
        books.push(timeout(PATIENCE, writer).await.expect("a writer ends").unwrap());
    }
    let client = Client::admin(&server).await;
    client.post(CONFIG_MAPS, &config_map("last", "")).await.unwrap().object();
    let mut events = timeout(PATIENCE, watcher).await.expect("the watch reaches the end").unwrap();
    events.pop();
    check(&books, &events);
    let written: usize = books.iter().map(|books| books.written.len()).sum();
    assert!(written as u64 > KILLS * 5, "only {written} writes");
}
