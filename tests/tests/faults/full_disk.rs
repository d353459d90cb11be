//! A disk that is really full: a small file system that only the server sees.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use serde_json::json;
use tests::client::{Answer, CONFIG_MAPS, Client, Credentials, PATIENCE, config_map, version};
use tests::server::{Launch, Server};
use tokio::time::timeout;

const OBJECT_BYTES: usize = 100_000;
/// The disk is full long before so many objects.
const MOST_OBJECTS: usize = 1_000;

/// Who is not root may mount in a user namespace of its own.
fn namespaces() -> &'static [&'static str] {
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if root { &["--mount"] } else { &["--mount", "--user"] }
}

/// Starts a server whose data directory is a file system of 24 MiB.
fn on_a_small_disk(kubeconfig: &str) -> Server {
    let mount = "mount -t tmpfs -o size=24m tmpfs \"$0\" && exec \"$@\"";
    let mapped = if namespaces().contains(&"--user") { Some("--map-root-user") } else { None };
    let wrapper = [&["unshare"], namespaces()].concat();
    let wrapper = wrapper.into_iter().chain(mapped).chain(["sh", "-c", mount, Launch::DIRECTORY]);
    let wrapper = wrapper.map(str::to_owned).collect();
    let arguments = ["--write-kubeconfig", kubeconfig].map(str::to_owned).to_vec();
    Server::launch(Launch { arguments, wrapper, ..Launch::default() })
}

/// Makes the server's disk larger.
fn make_room(server: &Server) {
    let enter = Command::new("nsenter")
        .args(["--target", &server.pid().to_string()])
        .args(namespaces())
        .args(["--", "mount", "-o", "remount,size=96m"])
        .arg(server.data_dir())
        .status();
    assert!(enter.expect("nsenter runs").success());
}

/// Writes until the server refuses; what it said, and how many it took.
async fn write_until_full(client: &Client) -> (Answer, usize) {
    let filling = "x".repeat(OBJECT_BYTES);
    for count in 0..MOST_OBJECTS {
        let answer = client.post(CONFIG_MAPS, &config_map(&format!("m{count:04}"), &filling)).await.unwrap();
        if !answer.code.is_success() {
            return (answer, count);
        }
    }
    panic!("a disk that never fills");
}

#[tokio::test]
async fn a_full_disk_refuses_writers_serves_readers_and_heals() {
    let outside = tempfile::tempdir().unwrap();
    let kubeconfig = outside.path().join("kubeconfig");
    let mut server = on_a_small_disk(kubeconfig.to_str().unwrap());
    let client = Client::http2(&Credentials::from_file(&kubeconfig)).await.unwrap();
    let from = version(&client.get(CONFIG_MAPS).await.unwrap().object());
    let (refused, taken) = write_until_full(&client).await;
    assert_eq!((refused.code.as_u16(), &refused.refusal()["reason"]), (507, &"InternalError".into()), "{refused:?}");
    assert!(taken > 10, "only {taken} objects");
    // Whoever reads goes on: one object, all of them, what has changed; and whoever writes is still refused.
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/m0000")).await.unwrap().object()["metadata"]["name"], "m0000");
    let list = client.get(CONFIG_MAPS).await.unwrap().object();
    let listed = |list: &serde_json::Value| {
        let items = list["items"].as_array().unwrap().clone();
        items.iter().filter(|item| item["metadata"]["name"].as_str().unwrap().starts_with('m')).count()
    };
    assert_eq!(listed(&list), taken, "what was not acknowledged is not there");
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={from}")).await.unwrap();
    let large = "y".repeat(OBJECT_BYTES);
    let patch = json!({"data": {"more": large}});
    assert_eq!(client.patch(&format!("{CONFIG_MAPS}/m0000"), &patch).await.unwrap().code, 507);
    make_room(&server);
    client.post(CONFIG_MAPS, &config_map("healed", &large)).await.unwrap().object();
    let told = async {
        for count in 0..taken {
            let event = watch.event().await;
            assert_eq!((event.kind(), event.name()), ("ADDED", format!("m{count:04}").as_str()));
        }
        assert_eq!(watch.event().await.name(), "healed");
    };
    timeout(PATIENCE, told).await.expect("the watch goes on");
    assert_eq!(server.stop(), Some(0), "{}", server.log());
}
