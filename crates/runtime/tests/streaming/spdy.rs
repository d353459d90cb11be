//! Exec, attach and port-forward over SPDY.

use bytes::Bytes;
use runtime::shim::control::Streams;
use runtime::streaming::spdy::{Fin, Frame};
use runtime::streaming::{Terminal, TerminalSize};

use crate::backend::{ALL, OUTPUT, Scene, Seen, shouting_port, silent_port};
use crate::spdy_client::{carried, connect};

#[tokio::test]
async fn output_input_and_the_exit_code_have_streams() {
    let scene = Scene::start().await;
    let path = scene.exec("cat; echo err >&2; exit 3", ALL);
    let (mut client, chosen) =
        connect(&scene, &path, &["v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"]).await;
    assert_eq!(chosen, "v4.channel.k8s.io");
    let [error, stdin, stdout, stderr] = client.open_all(["error", "stdin", "stdout", "stderr"]).await;
    client.data(stdin, Fin::More, b"hello ").await;
    client.data(stdin, Fin::Last, b"there").await;
    let frames = client.all().await;
    assert_eq!(carried(&frames, stdout), (b"hello there".to_vec(), Fin::Last));
    assert_eq!(carried(&frames, stderr), (b"err\n".to_vec(), Fin::Last));
    let (status, end) = carried(&frames, error);
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    assert_eq!(status["details"]["causes"][0]["message"], "3");
    assert_eq!(end, Fin::Last);
    let streams: Vec<u32> =
        frames.iter().filter_map(|frame| if let Frame::Data { id, .. } = frame { Some(*id) } else { None }).collect();
    let outcome = streams.iter().position(|id| *id == error).unwrap();
    assert!(streams[outcome..].iter().all(|id| *id == error), "the outcome comes after the output: {streams:?}");
    assert!(matches!(frames.last(), Some(Frame::GoAway { status: 0, .. })), "{:?}", frames.last());
}

#[tokio::test]
async fn old_versions_hear_of_failure_as_text() {
    let scene = Scene::start().await;
    for protocol in ["v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"] {
        let path = scene.exec("exit 4", OUTPUT);
        let (mut client, chosen) = connect(&scene, &path, &[protocol]).await;
        assert_eq!(chosen, protocol);
        let [error, _, _] = client.open_all(["error", "stdout", "stderr"]).await;
        let (text, _) = carried(&client.all().await, error);
        assert_eq!(text, b"command terminated with non-zero exit code: 4");
    }
}

#[tokio::test]
async fn a_terminal_has_a_stream_for_its_sizes() {
    let mut scene = Scene::start().await;
    let path = scene.exec_in("cat", Streams { stderr: false, ..ALL }, Terminal::Tty);
    let (mut client, _) = connect(&scene, &path, &["v4.channel.k8s.io"]).await;
    let [error, stdin, _, resize] = client.open_all(["error", "stdin", "stdout", "resize"]).await;
    client.data(resize, Fin::More, br#"{"Width":80,"#).await;
    client.data(resize, Fin::More, br#""Height":25}"#).await;
    assert_eq!(scene.seen().await, Seen::Resized(TerminalSize { columns: 80, rows: 25 }));
    client.data(stdin, Fin::Last, b"").await;
    assert_eq!(client.read_to_end(error).await, br#"{"metadata":{},"status":"Success"}"#);
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_input() {
    let mut scene = Scene::start().await;
    let path = scene.attach();
    let (mut client, _) = connect(&scene, &path, &["v4.channel.k8s.io"]).await;
    let [_, stdin, _] = client.open_all(["error", "stdin", "stdout"]).await;
    client.data(stdin, Fin::More, b"bye").await;
    let hello = Frame::Data { id: 5, fin: Fin::More, bytes: Bytes::from_static(b"hello\n") };
    assert_eq!(client.next().await, Some(hello));
    drop(client);
    assert_eq!(scene.seen().await, Seen::InputEnded(b"bye".to_vec()));
}

#[tokio::test]
async fn a_large_frame_of_input_arrives_whole() {
    let scene = Scene::start().await;
    let path = scene.exec("wc -c", ALL);
    let (mut client, _) = connect(&scene, &path, &["v4.channel.k8s.io"]).await;
    let [_, stdin, stdout, _] = client.open_all(["error", "stdin", "stdout", "stderr"]).await;
    client.data(stdin, Fin::Last, &vec![b'x'; 3_000_000]).await;
    let counted = String::from_utf8(client.read_to_end(stdout).await).unwrap();
    assert_eq!(counted.trim(), "3000000");
}

#[tokio::test]
async fn ports_are_forwarded_with_half_closes() {
    let scene = Scene::start().await;
    let port = shouting_port().await.to_string();
    let path = scene.port_forward(&[]);
    let (mut client, chosen) = connect(&scene, &path, &["portforward.k8s.io"]).await;
    assert_eq!(chosen, "portforward.k8s.io");
    // Two connections at the same time, the second by a client that does not number them.
    let error = client.open([("streamType", "error"), ("port", &port), ("requestID", "0")]).await;
    let first = client.open([("streamType", "data"), ("port", &port), ("requestID", "0")]).await;
    client.open([("streamType", "error"), ("port", &port)]).await;
    let second = client.open([("streamType", "data"), ("port", &port)]).await;
    client.data(second, Fin::Last, b"second").await;
    assert_eq!(client.read_to_end(second).await, b"SECOND");
    client.data(first, Fin::More, b"fi").await;
    client.data(first, Fin::Last, b"rst").await;
    assert_eq!(client.read_to_end(first).await, b"FIRST");
    assert_eq!(client.read_to_end(error).await, b"");
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_an_error_of_its_pair_only() {
    let scene = Scene::start().await;
    let (silent, shouting) = (silent_port().await.to_string(), shouting_port().await.to_string());
    let path = scene.port_forward(&[]);
    let (mut client, _) = connect(&scene, &path, &["portforward.k8s.io"]).await;
    let error = client.open([("streamType", "error"), ("port", &silent), ("requestID", "0")]).await;
    client.open([("streamType", "data"), ("port", &silent), ("requestID", "0")]).await;
    let text = String::from_utf8(client.read_to_end(error).await).unwrap();
    assert!(text.starts_with(&format!("error forwarding port {silent} to pod s1")), "{text}");
    client.ask([("streamType", "error"), ("port", &shouting), ("requestID", "1")]).await;
    let data = client.ask([("streamType", "data"), ("port", &shouting), ("requestID", "1")]).await;
    client.data(data, Fin::Last, b"still here").await;
    assert_eq!(client.read_to_end(data).await, b"STILL HERE");
}
