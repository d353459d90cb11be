//! Nodes that are not there, do not answer, break off, or are someone else.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;

use super::super::{MAX_STREAMS, Options, Trust};
use super::scene::{Scene, put};
use crate::certificates::Authority;

const PODS: &str = "/api/v1/namespaces/default/pods";
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";

async fn upgraded(scene: &Scene, path: &str) -> String {
    use tokio::io::AsyncReadExt as _;
    let mut stream = scene.open(path, UPGRADE).await;
    let mut answer = vec![0; 4096];
    let mut length = 0;
    while !answer[..length].ends_with(b"}\n") {
        let read = tokio::time::timeout(super::scene::SOON, stream.read(&mut answer[length..])).await;
        length += read.expect("an answer comes").unwrap();
    }
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

fn point_node_to(scene: &Scene, port: u16) {
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": port } },
        },
    });
    put(&scene.api, ("", "nodes"), "n1", &node);
}

#[tokio::test]
async fn requests_that_cannot_be_forwarded_are_refused_in_upstreams_words() {
    let scene = Scene::new().await;
    let rows = [
        ("/web/exec?command=x", 400, "a container name must be specified for pod web, choose one of: [a b]"),
        ("/web/exec?container=x", 400, "container x is not valid for pod web"),
        ("/new/exec", 400, "pod new does not have a host assigned"),
        ("/new/portforward", 400, "pod new does not have a host assigned"),
        ("/none/attach", 404, "pods \\\"none\\\" not found"),
        ("/web/portforward?ports=http", 400, "invalid port \\\"http\\\""),
        ("/one/log?tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("/one/proxy/x", 400, "address not allowed"),
        ("/web/exec?container=b", 404, "container \\\"b\\\" is not there"),
    ];
    for (path, code, message) in rows {
        let answer = upgraded(&scene, &format!("{PODS}{path}")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")) && answer.contains(message), "{path}: {answer}");
    }
    let answer = scene.get(&format!("{PODS}/one/exec")).await;
    assert!(answer.contains(r#""message":"Upgrade request required""#), "{answer}");
    scene.all_ended().await;
}

#[tokio::test]
async fn a_node_with_a_certificate_of_somebody_else_is_not_talked_to() {
    let mut scene = Scene::with(|_| {
        let directory = tempfile::tempdir().unwrap();
        let other = Authority::load_or_create(directory.path(), jiff::Timestamp::now()).unwrap();
        Options::new(None, Trust::Authorities(other.certificate_pem().to_owned()))
    })
    .await;
    let answer = upgraded(&scene, &format!("{PODS}/one/exec")).await;
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.contains(r#""message":"error dialing backend: tls: invalid peer certificate"#), "{answer}");
    assert!(scene.node.try_recv().is_err(), "the node got a request");
    scene.all_ended().await;
}

#[tokio::test]
async fn any_certificate_will_do_if_the_operator_says_so() {
    let mut scene = Scene::with(|_| Options::new(None, Trust::Unverified)).await;
    let answer = scene.get("/api/v1/nodes/n1/proxy/configz").await;
    assert!(answer.starts_with("HTTP/1.1 418 "), "{answer}");
    assert!(!scene.asked().await.certificate_shown);
}

#[tokio::test]
async fn a_node_that_does_not_answer_is_given_up() {
    let scene = Scene::with(|_| Options {
        connect_within: Duration::from_millis(200),
        ..Options::new(None, Trust::Unverified)
    })
    .await;
    // Takes the connection and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    point_node_to(&scene, silent.local_addr().unwrap().port());
    let answer = upgraded(&scene, &format!("{PODS}/one/exec")).await;
    assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains(": i/o timeout"), "{answer}");
    scene.all_ended().await;
}

#[tokio::test]
async fn a_node_that_is_not_there_is_told() {
    let scene = Scene::new().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    point_node_to(&scene, address.port());
    let answer = upgraded(&scene, &format!("{PODS}/one/exec")).await;
    assert!(answer.contains(&format!("error dialing backend: dial tcp {address}: ")), "{answer}");
    let answer = scene.get("/api/v1/nodes/n1/proxy/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("error trying to reach service: "), "{answer}");
    scene.all_ended().await;
}

#[tokio::test]
async fn there_is_a_limit_to_streams() {
    let scene = Scene::new().await;
    let all = u32::try_from(MAX_STREAMS).unwrap();
    let taken = scene.forwarder.room.acquire_many(all).await.unwrap();
    let answer = upgraded(&scene, &format!("{PODS}/one/exec")).await;
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
    drop(taken);
    assert_eq!(scene.forwarder.open_streams(), 0);
}
