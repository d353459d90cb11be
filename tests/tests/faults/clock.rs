//! A machine whose clock is set back while the server runs. Only the server sees it, by libfaketime.

use std::path::Path;

use http::Method;
use serde_json::{Value, json};
use tests::client::{CONFIG_MAPS, Client, Credentials, config_map, request, version};
use tests::part;
use tests::server::{Launch, Server};

const PODS: &str = "/api/v1/namespaces/default/pods";
const HOUR_SECONDS: i64 = 3600;

/// Sets the server's clock this far from the real one; a reader sees the old file or the new one.
fn set_clock(file: &Path, seconds: i64) {
    let unfinished = file.with_extension("new");
    std::fs::write(&unfinished, format!("{seconds:+}\n")).unwrap();
    std::fs::rename(&unfinished, file).unwrap();
}

fn start(file: &Path) -> Server {
    set_clock(file, 0);
    let library = part("EVENTIDE_FAKETIME", &format!("libfaketime/{}", library()));
    let environment = [
        ("LD_PRELOAD", library.into_os_string()),
        ("FAKETIME_TIMESTAMP_FILE", file.as_os_str().to_owned()),
        ("FAKETIME_NO_CACHE", "1".into()),
        // What measures durations is not set when a clock is set.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
    Server::launch(Launch { environment, ..Launch::default() })
}

fn library() -> String {
    format!("usr/lib/{}-linux-gnu/faketime/libfaketime.so.1", std::env::consts::ARCH)
}

/// A time of an object, in seconds.
fn seconds(object: &Value, field: &str) -> i64 {
    let text = object["metadata"][field].as_str().unwrap_or_else(|| panic!("no {field} in {object}"));
    text.parse::<k8s_openapi::jiff::Timestamp>().unwrap().as_second()
}

async fn delete(client: &Client, grace_seconds: u32) -> Value {
    client.delete(&format!("{PODS}/web?gracePeriodSeconds={grace_seconds}")).await.unwrap().object()
}

#[tokio::test]
async fn a_clock_that_is_set_back_an_hour_stops_nobody_and_lengthens_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let clock = directory.path().join("clock");
    let mut server = start(&clock);
    let client = Client::admin(&server).await;
    let before = client.post(CONFIG_MAPS, &config_map("before", "v")).await.unwrap().object();
    let from = version(&before);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}")).await.unwrap();
    let pod =
        json!({"metadata": {"name": "web"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}});
    client.post(PODS, &pod).await.unwrap().object();
    let ends = seconds(&delete(&client, 30).await, "deletionTimestamp");

    set_clock(&clock, -HOUR_SECONDS);
    let after = client.post(CONFIG_MAPS, &config_map("after", "v")).await.unwrap().object();
    let moved = seconds(&after, "creationTimestamp") - seconds(&before, "creationTimestamp");
    assert!((-HOUR_SECONDS..-HOUR_SECONDS + 300).contains(&moved), "the clock moved by {moved} s");
    assert!(version(&after) > version(&before));
    assert_eq!(watch.event().await.name(), "after");
    // Deleted again, a pod has no more time than before; with less time, it has less.
    assert_eq!(seconds(&delete(&client, 30).await, "deletionTimestamp"), ends);
    assert!(seconds(&delete(&client, 5).await, "deletionTimestamp") < ends);
    let asked = json!({"spec": {"expirationSeconds": 600}});
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let token = client.post(path, &asked).await.unwrap().object()["status"]["token"].clone();
    let nobody = Client::http2(&Credentials::nobody(&server)).await.unwrap();
    let mut with_token = request(Method::GET, "/version", "");
    let value = format!("Bearer {}", token.as_str().unwrap()).parse().unwrap();
    with_token.headers_mut().insert("authorization", value);
    assert_eq!(nobody.ask(with_token).await.unwrap().code, 200);

    server.kill();
    server.run();
    let client = Client::admin(&server).await;
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/after")).await.unwrap().object(), after);
    set_clock(&clock, 0);
    let healed = client.post(CONFIG_MAPS, &config_map("healed", "v")).await.unwrap().object();
    assert!(version(&healed) > version(&after));
    assert!(seconds(&healed, "creationTimestamp") >= seconds(&before, "creationTimestamp"));
    assert_eq!(server.stop(), Some(0));
}
