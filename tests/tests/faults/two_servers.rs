//! Two servers on one etcd are one; and one that loses its etcd says so, and loses nothing.

use serde_json::json;
use tests::client::{CONFIG_MAPS, Client, Credentials, PATIENCE, config_map, version};
use tests::etcd::Etcd;
use tests::server::Server;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::ledger::{Writer, check, follow};

fn pair(etcd: &Etcd) -> [Server; 2] {
    let store = etcd.store();
    [(); 2].map(|()| Server::start_with(&["--store", &store]))
}

#[tokio::test]
async fn what_is_written_here_is_read_and_watched_there_at_once() {
    let etcd = Etcd::start();
    let servers = pair(&etcd);
    let [here, there] = [Client::admin(&servers[0]).await, Client::admin(&servers[1]).await];
    let from = version(&there.get(CONFIG_MAPS).await.unwrap().object());
    let mut watch = there.watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}")).await.unwrap();
    for count in 0..50 {
        let name = format!("m{count}");
        let path = format!("{CONFIG_MAPS}/{name}");
        let made = here.post(CONFIG_MAPS, &config_map(&name, "v")).await.unwrap().object();
        assert_eq!(there.get(&path).await.unwrap().object(), made);
        let list = there.get(CONFIG_MAPS).await.unwrap().object();
        assert!(version(&list) >= version(&made));
        assert!(list["items"].as_array().unwrap().iter().any(|item| item["metadata"]["name"] == *name), "{name}");
        let event = watch.event().await;
        assert_eq!((event.kind(), event.name(), event.version()), ("ADDED", name.as_str(), version(&made)));
        there.delete(&path).await.unwrap().object();
        assert_eq!(here.get(&path).await.unwrap().code, 404);
        assert_eq!(watch.event().await.kind(), "DELETED");
    }
}

/// Adds one to a counter so many times, as clients do: read, change, write, and again if somebody was faster.
async fn count(client: Client, times: usize) -> usize {
    let path = format!("{CONFIG_MAPS}/counter");
    let mut conflicts = 0;
    for _ in 0..times {
        loop {
            let mut counter = client.get(&path).await.unwrap().object();
            let value: u64 = counter["data"]["value"].as_str().unwrap().parse().unwrap();
            counter["data"]["value"] = (value + 1).to_string().into();
            let answer = client.put(&path, &counter).await.unwrap();
            if answer.code.is_success() {
                break;
            }
            assert_eq!((answer.code.as_u16(), &answer.refusal()["reason"]), (409, &"Conflict".into()));
            conflicts += 1;
        }
    }
    conflicts
}

#[tokio::test]
async fn updates_through_two_servers_conflict_and_none_is_lost() {
    const TIMES: usize = 60;
    let etcd = Etcd::start();
    let servers = pair(&etcd);
    let [here, there] = [Client::admin(&servers[0]).await, Client::admin(&servers[1]).await];
    let made = here.post(CONFIG_MAPS, &config_map("counter", "0")).await.unwrap().object();
    let path = format!("{CONFIG_MAPS}/counter");
    here.patch(&path, &json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap().object();
    let stale = there.put(&path, &made).await.unwrap();
    assert_eq!((stale.code.as_u16(), &stale.refusal()["reason"]), (409, &"Conflict".into()));
    assert_eq!(there.post(CONFIG_MAPS, &made).await.unwrap().code, 400, "a new object has no version");
    let again = there.post(CONFIG_MAPS, &config_map("counter", "0")).await.unwrap();
    assert_eq!(again.refusal()["reason"], "AlreadyExists");
    let counting = [here.clone(), there.clone(), here, there.clone()].map(|client| tokio::spawn(count(client, TIMES)));
    for task in counting {
        timeout(PATIENCE, task).await.expect("counting ends").unwrap();
    }
    let counter = there.get(&path).await.unwrap().object();
    assert_eq!(counter["data"]["value"], (4 * TIMES).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_that_is_killed_under_load_fails_requests_cleanly_and_loses_nothing() {
    let mut etcd = Etcd::start();
    let servers = pair(&etcd);
    let credentials = [Credentials::admin(&servers[0]), Credentials::admin(&servers[1])];
    let (_started, runs) = watch::channel(0);
    let (told, mut acknowledged) = mpsc::channel(1);
    let (client, other) = (Client::admin(&servers[0]).await, Client::admin(&servers[1]).await);
    let from = version(&client.get(CONFIG_MAPS).await.unwrap().object());
    let watchers = credentials.clone().map(|credentials| tokio::spawn(follow(credentials, runs.clone(), from, "last")));
    let writers: Vec<_> = (0..4)
        .map(|n| Writer::new(format!("w{n}"), credentials[n % 2].clone(), runs.clone(), told.clone()))
        .map(|writer| tokio::spawn(writer.work()))
        .collect();
    drop(told);
    for kill in 0..3 {
        for _ in 0..40 {
            timeout(PATIENCE, acknowledged.recv()).await.expect("writes go on").unwrap();
        }
        etcd.kill();
        if kill == 0 {
            // Long enough that requests give up: each of them says so, and when to come back.
            for client in [&client, &other] {
                let failed = client.get(CONFIG_MAPS).await.unwrap();
                assert_eq!((failed.code.as_u16(), &failed.refusal()["reason"]), (504, &"Timeout".into()));
                assert!(failed.headers.contains_key("retry-after"), "{failed:?}");
            }
            assert_eq!(client.get("/livez").await.unwrap().code, 200);
        }
        etcd.restart();
    }
    drop(acknowledged);
    let mut books = Vec::new();
    for writer in writers {
        books.push(timeout(PATIENCE, writer).await.expect("a writer ends").unwrap());
    }
    client.post(CONFIG_MAPS, &config_map("last", "")).await.unwrap().object();
    for watcher in watchers {
        let mut events = timeout(PATIENCE, watcher).await.expect("the watch reaches the end").unwrap();
        events.pop();
        check(&books, &events);
    }
    for (code, retry) in books.iter().flat_map(|books| &books.failures) {
        assert!(*retry, "{code} without a time to come back");
    }
}
