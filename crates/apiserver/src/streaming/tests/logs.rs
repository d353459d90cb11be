//! Logs, plain and over WebSocket.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::scene::{SOON, Scene, expect, head};

const LOG: &str = "/api/v1/namespaces/default/pods/web/log";

#[tokio::test]
async fn a_log_is_followed_line_by_line() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(&format!("{LOG}?container=a&follow=true&tailLines=2"), "").await;
    let asked = scene.asked().await;
    assert_eq!(asked.path_and_query, "/containerLogs/default/web/a?follow=true&tailLines=2&stream=All");
    let log = asked.log();
    log.send(Ok(Bytes::from_static(b"one\n"))).await.unwrap();
    let answer = head(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("content-type: text/plain\r\n"), "{answer}");
    expect(&mut client, b"4\r\none\n\r\n").await;
    log.send(Ok(Bytes::from_static(b"two\n"))).await.unwrap();
    expect(&mut client, b"4\r\ntwo\n\r\n").await;
    drop(log);
    expect(&mut client, b"0\r\n\r\n").await;
    scene.all_ended().await;
}

#[tokio::test]
async fn a_client_that_no_longer_follows_is_noticed_by_the_node() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(&format!("{LOG}?container=a&follow=true"), "").await;
    let log = scene.asked().await.log();
    log.send(Ok(Bytes::from_static(b"one\n"))).await.unwrap();
    head(&mut client).await;
    expect(&mut client, b"4\r\none\n\r\n").await;
    drop(client);
    tokio::time::timeout(SOON, log.closed()).await.expect("the node is told");
    scene.all_ended().await;
}

#[tokio::test]
async fn a_log_that_breaks_off_is_not_shown_as_complete() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(&format!("{LOG}?container=a"), "").await;
    let log = scene.asked().await.log();
    log.send(Ok(Bytes::from_static(b"one\n"))).await.unwrap();
    head(&mut client).await;
    expect(&mut client, b"4\r\none\n\r\n").await;
    log.send(Err(io::ErrorKind::Other.into())).await.unwrap();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(SOON, client.read_to_end(&mut rest)).await.expect("the connection is cut");
    assert!(read.is_err() || rest.is_empty(), "{rest:?}");
    scene.all_ended().await;
}

#[tokio::test]
async fn a_server_that_stops_cuts_the_logs_that_are_followed() {
    let mut scene = Scene::new().await;
    let mut client = scene.open(&format!("{LOG}?container=a&follow=true"), "").await;
    let log = scene.asked().await.log();
    log.send(Ok(Bytes::from_static(b"one\n"))).await.unwrap();
    head(&mut client).await;
    scene.api.closing.cancel();
    tokio::time::timeout(SOON, log.closed()).await.expect("the node is told");
    scene.all_ended().await;
}

#[tokio::test]
async fn a_pod_without_a_node_has_an_empty_log() {
    let scene = Scene::new().await;
    let answer = scene.get("/api/v1/namespaces/default/pods/new/log").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_log_that_the_node_refuses_is_told_in_upstreams_words() {
    let scene = Scene::new().await;
    let answer = scene.get(&format!("{LOG}?container=b")).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert!(
        answer.contains(r#""message":"the server could not find the requested resource ( pods/log web)""#),
        "{answer}"
    );
    assert!(answer.contains(r#""details":{"name":"web","kind":"pods/log"}"#), "{answer}");
    scene.all_ended().await;
}

async fn socket(front: SocketAddr, protocol: &'static str) -> WebSocketStream<TcpStream> {
    let mut request = format!("ws://server{LOG}?container=a").into_client_request().unwrap();
    request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    let stream = TcpStream::connect(front).await.unwrap();
    let (client, answer) = client_async(request, stream).await.unwrap();
    assert_eq!(answer.headers()[SEC_WEBSOCKET_PROTOCOL], protocol);
    client
}

/// All that is sent until the end.
async fn messages(mut client: WebSocketStream<TcpStream>) -> Vec<Message> {
    let mut messages = Vec::new();
    loop {
        match tokio::time::timeout(SOON, client.next()).await.expect("messages come to an end") {
            Some(Ok(Message::Close(_))) => return messages,
            Some(Ok(message)) => messages.push(message),
            other => panic!("{other:?} in place of an end"),
        }
    }
}

#[tokio::test]
async fn a_log_can_be_read_from_a_websocket() {
    for length in [4, 125, 126, 65_535, 65_536] {
        let mut scene = Scene::new().await;
        let front = scene.front;
        let client = tokio::spawn(async move { messages(socket(front, "binary.k8s.io").await).await });
        let log = scene.asked().await.log();
        log.send(Ok(vec![b'x'; length].into())).await.unwrap();
        drop(log);
        let read: Vec<u8> = client.await.unwrap().into_iter().flat_map(Message::into_data).collect();
        assert_eq!(read, vec![b'x'; length]);
        scene.all_ended().await;
    }
}

#[tokio::test]
async fn a_log_on_a_websocket_can_be_text() {
    let mut scene = Scene::new().await;
    let front = scene.front;
    let client = tokio::spawn(async move { messages(socket(front, "base64.binary.k8s.io").await).await });
    let log = scene.asked().await.log();
    log.send(Ok(Bytes::from_static(b"one\n"))).await.unwrap();
    drop(log);
    assert_eq!(client.await.unwrap(), [Message::text(""), Message::text("b25lCg==")]);
}

#[tokio::test]
async fn a_client_that_closes_its_websocket_is_noticed_by_the_node() {
    let mut scene = Scene::new().await;
    let front = scene.front;
    let client = tokio::spawn(async move { socket(front, "binary.k8s.io").await });
    let log = scene.asked().await.log();
    log.send(Ok(Bytes::from_static(b"one\n"))).await.unwrap();
    drop(client.await.unwrap());
    tokio::time::timeout(SOON, log.closed()).await.expect("the node is told");
    scene.all_ended().await;
}
