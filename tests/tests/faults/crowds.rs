//! Many who watch, and one who does not read.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::client::{CONFIG_MAPS, Client, Credentials, PATIENCE, Watch, config_map, version};
use tests::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::timeout;

const CONNECTIONS: usize = 10;
const WATCHES_EACH: usize = 500;
const MOST_BYTES_PER_WATCH: u64 = 20 * 1024;

/// Opens watches on one connection, which has been used before.
async fn open(client: Client, path: String) -> Vec<Watch> {
    let mut watches = Vec::new();
    for _ in 0..WATCHES_EACH {
        watches.push(client.watch(&path).await.unwrap());
    }
    watches
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_idle_watches_cost_little_and_are_all_told() {
    let server = Server::start();
    let credentials = Credentials::admin(&server);
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::http2(&credentials).await.unwrap();
        client.get("/version").await.unwrap().object();
        clients.push(client);
    }
    let listed = clients[0].get(CONFIG_MAPS).await.unwrap().object();
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={}", version(&listed));
    let before = server.memory_bytes();
    let mut opening: JoinSet<Vec<Watch>> = clients.iter().map(|client| open(client.clone(), path.clone())).collect();
    let mut watches = Vec::new();
    while let Some(opened) = timeout(PATIENCE, opening.join_next()).await.expect("watches begin") {
        watches.extend(opened.unwrap());
    }
    let each = server.memory_bytes().saturating_sub(before) / watches.len() as u64;
    println!("{} watches, {each} bytes each", watches.len());
    assert!(each < MOST_BYTES_PER_WATCH, "{each} bytes per watch");
    clients[0].post(CONFIG_MAPS, &config_map("news", "v")).await.unwrap().object();
    for mut watch in watches {
        let event = watch.event().await;
        assert_eq!((event.kind(), event.name()), ("ADDED", "news"));
    }
}

const CHANGES: usize = 20_000;
const WRITERS: usize = 40;
/// What the server may hold more than before: the changes it keeps for watchers, and what its store holds in memory.
const MOST_BYTES_MORE: u64 = 96 * 1024 * 1024;
const MOST_DELAY: Duration = Duration::from_secs(5);

async fn write(client: Client, writer: usize, filling: String) {
    let name = format!("w{writer}");
    client.post(CONFIG_MAPS, &config_map(&name, &filling)).await.unwrap().object();
    for change in 1..CHANGES / WRITERS {
        let changed = json!({"metadata": {"name": name}, "data": {"change": change.to_string(), "filling": filling}});
        let answer = client.put(&format!("{CONFIG_MAPS}/{name}"), &changed).await.unwrap();
        assert_eq!(answer.code, 200);
    }
}

/// Reads events until so many are there; when the last one came.
async fn read(mut watch: Watch, from: u64) -> Instant {
    let mut seen = from;
    for _ in 0..CHANGES {
        let event = watch.event().await;
        assert!(event.version() > seen, "{} after {seen}", event.version());
        seen = event.version();
    }
    Instant::now()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_cut_off_and_nobody_else_notices() {
    let server = Server::start();
    let credentials = Credentials::admin(&server);
    let client = Client::admin(&server).await;
    let from = version(&client.get(CONFIG_MAPS).await.unwrap().object());
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}");
    let mut silent = credentials.connect(&["http/1.1"]).await.unwrap();
    silent.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut head = [0; 12];
    silent.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let reader = tokio::spawn(read(client.watch(&path).await.unwrap(), from));
    let before = server.memory_bytes();
    let filling = "x".repeat(1024);
    let mut writers: JoinSet<()> = (0..WRITERS).map(|writer| write(client.clone(), writer, filling.clone())).collect();
    while let Some(written) = writers.join_next().await {
        written.unwrap();
    }
    let written = Instant::now();
    let read = timeout(PATIENCE, reader).await.expect("the others are told").unwrap();
    assert!(read.saturating_duration_since(written) < MOST_DELAY, "told {:?} late", read - written);
    let more = server.memory_bytes().saturating_sub(before);
    println!("{} MiB more after {CHANGES} changes", more >> 20);
    assert!(more < MOST_BYTES_MORE, "{} MiB more", more >> 20);
    // It reads at last: what was on its way, then that its place is gone, or no more.
    let mut rest = Vec::new();
    let ended = timeout(PATIENCE, silent.read_to_end(&mut rest)).await;
    let told = String::from_utf8_lossy(&rest);
    let gone = told.contains(r#""type":"ERROR""#) && told.contains(r#""code":410"#);
    assert!(gone || matches!(ended, Ok(Err(_))), "{} bytes, then {ended:?}", rest.len());
    let events = told.matches(r#"{"type":""#).count();
    assert!(events < CHANGES, "nothing was left out: {events} events");
}
