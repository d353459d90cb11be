//! Upgraded connections: bytes in both directions until both sides are done.

use futures_util::{SinkExt as _, StreamExt as _};
use http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::scene::{SOON, Scene, expect, head};

const EXEC: &str = "/api/v1/namespaces/default/pods/web/exec?container=a&command=sh&command=-c%20x&stdin=1&stdout=true";
const SPDY: &str = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n";

#[tokio::test]
async fn websocket_messages_pass_both_ways() {
    let mut scene = Scene::new().await;
    let mut request = format!("ws://server{EXEC}").into_client_request().unwrap();
    request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, "v5.channel.k8s.io".parse().unwrap());
    request.headers_mut().insert("authorization", "Bearer secret".parse().unwrap());
    let stream = TcpStream::connect(scene.front).await.unwrap();
    let (mut client, answer) = client_async(request, stream).await.unwrap();
    assert_eq!(answer.headers()[SEC_WEBSOCKET_PROTOCOL], "v5.channel.k8s.io");

    let asked = scene.asked().await;
    assert_eq!(asked.path_and_query, "/exec/default/web/a?command=sh&command=-c%20x&input=1&output=1");
    assert!(asked.certificate_shown);
    assert!(!asked.headers.contains_key("authorization"));
    assert!(asked.headers["host"].to_str().unwrap().starts_with("127.0.0.1:"));
    let mut node = WebSocketStream::from_raw_socket(asked.stream().await, Role::Server, None).await;

    client.send(Message::binary(b"\0in".to_vec())).await.unwrap();
    assert_eq!(node.next().await.unwrap().unwrap(), Message::binary(b"\0in".to_vec()));
    let large = Message::binary(vec![1; 300_000]);
    node.send(large.clone()).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), large);
    node.close(None).await.unwrap();
    assert!(client.next().await.unwrap().unwrap().is_close());
    drop((node, client));
    scene.all_ended().await;
}

#[tokio::test]
async fn other_protocols_pass_as_they_are_and_an_end_is_passed_on() {
    let mut scene = Scene::new().await;
    let path = "/api/v1/namespaces/default/pods/one/portforward?ports=80,443";
    let mut client = scene.open(path, SPDY).await;
    let answer = head(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.contains("upgrade: SPDY/3.1\r\n"), "{answer}");
    assert!(answer.contains("x-stream-protocol-version: v4.channel.k8s.io\r\n"), "{answer}");
    let asked = scene.asked().await;
    assert_eq!(asked.path_and_query, "/portForward/default/one?port=80%2C443");
    let mut node = asked.stream().await;

    client.write_all(b"\x80\x03\0\x01 frames").await.unwrap();
    client.shutdown().await.unwrap();
    let mut heard = Vec::new();
    tokio::time::timeout(SOON, node.read_to_end(&mut heard)).await.unwrap().unwrap();
    assert_eq!(heard, b"\x80\x03\0\x01 frames");
    node.write_all(b"after the end").await.unwrap();
    node.shutdown().await.unwrap();
    expect(&mut client, b"after the end").await;
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    scene.all_ended().await;
}

#[tokio::test]
async fn what_the_node_says_with_its_agreement_is_not_lost() {
    let mut scene = Scene::new().await;
    let mut client = scene.open("/api/v1/namespaces/default/pods/one/attach?stdout=1", SPDY).await;
    let asked = scene.asked().await;
    assert_eq!(asked.path_and_query, "/attach/default/one/a?output=1");
    let mut node = asked.stream().await;
    node.write_all(b"early").await.unwrap();
    node.flush().await.unwrap();
    head(&mut client).await;
    expect(&mut client, b"early").await;
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_stream_at_the_node() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(EXEC, SPDY).await;
    let mut node = scene.asked().await.stream().await;
    head(&mut client).await;
    drop(client);
    let ended = tokio::time::timeout(SOON, node.read(&mut [0])).await.expect("the node is told");
    assert_eq!(ended.unwrap_or(0), 0);
    drop(node);
    scene.all_ended().await;
}

#[tokio::test]
async fn a_node_that_dies_ends_the_stream_at_the_client() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(EXEC, SPDY).await;
    let node = scene.asked().await.stream().await;
    head(&mut client).await;
    drop(node);
    let ended = tokio::time::timeout(SOON, client.read(&mut [0])).await.expect("the client is told");
    assert_eq!(ended.unwrap_or(0), 0);
    drop(client);
    scene.all_ended().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(EXEC, SPDY).await;
    let mut node = scene.asked().await.stream().await;
    head(&mut client).await;
    scene.api.closing.cancel();
    scene.all_ended().await;
    assert_eq!(client.read(&mut [0]).await.unwrap_or(0), 0);
    assert_eq!(node.read(&mut [0]).await.unwrap_or(0), 0);
}
