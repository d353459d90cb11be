use std::io;

use bytes::Bytes;
use tokio::io::AsyncReadExt as _;

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
