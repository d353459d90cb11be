//! What SPDY clients are held to, and what they may hold us to.

use bytes::Bytes;
use runtime::streaming::spdy::{Fin, Frame, SETTING_INITIAL_WINDOW, go_away, reset};

use crate::backend::{ALL, OUTPUT, Scene, shouting_port};
use crate::spdy_client::connect;

#[tokio::test]
async fn the_windows_of_a_client_that_has_some_are_heeded() {
    let scene = Scene::start().await;
    let path = scene.exec("head -c 2500 /dev/zero", OUTPUT);
    let (mut client, _) = connect(&scene, &path, &["v4.channel.k8s.io"]).await;
    client.send(Frame::Settings(vec![(SETTING_INITIAL_WINDOW, 1000)])).await;
    let [_, stdout, _] = client.open_all(["error", "stdout", "stderr"]).await;
    for _ in 0..2 {
        let mut read = 0;
        while read < 1000 {
            match client.next().await {
                Some(Frame::Data { id, bytes, .. }) if id == stdout => read += bytes.len(),
                Some(_) => {}
                None => panic!("output ended early"),
            }
        }
        assert_eq!(read, 1000, "no more than the window lets through");
        // Only what was answered before the next window is opened can have been sent in the old one.
        client.send(Frame::Ping(1)).await;
        loop {
            match client.next().await {
                Some(Frame::Ping(1)) => break,
                Some(Frame::Data { id, bytes, .. }) => assert!(id != stdout || bytes.is_empty()),
                Some(_) => {}
                None => panic!("the connection ended early"),
            }
        }
        client.send(Frame::WindowUpdate { id: stdout, delta: 1000 }).await;
    }
    assert_eq!(client.read_to_end(stdout).await.len(), 500);
}

#[tokio::test]
async fn what_is_read_of_the_input_is_given_back_as_window() {
    let scene = Scene::start().await;
    let path = scene.exec("cat > /dev/null", ALL);
    let (mut client, _) = connect(&scene, &path, &["v4.channel.k8s.io"]).await;
    let [error, stdin, ..] = client.open_all(["error", "stdin", "stdout", "stderr"]).await;
    let (mut sent, mut window) = (0, 64 * 1024_i64);
    let mut whole = 64 * 1024_i64;
    while sent < 500_000 {
        while window.min(whole) < 10_000 {
            match client.next().await {
                Some(Frame::WindowUpdate { id: 0, delta }) => whole += i64::from(delta),
                Some(Frame::WindowUpdate { id, delta }) if id == stdin => window += i64::from(delta),
                other => panic!("{other:?}"),
            }
        }
        client.data(stdin, Fin::More, &[b'x'; 10_000]).await;
        sent += 10_000;
        window -= 10_000;
        whole -= 10_000;
    }
    client.data(stdin, Fin::Last, b"").await;
    assert_eq!(client.read_to_end(error).await, br#"{"metadata":{},"status":"Success"}"#);
}

#[tokio::test]
async fn nonsense_is_answered_with_a_goodbye() {
    let scene = Scene::start().await;
    for nonsense in
        [&b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"[..], &[0x80, 2, 0, 1, 0, 0, 0, 0], &[0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]]
    {
        let path = scene.exec("cat", ALL);
        let (mut client, _) = connect(&scene, &path, &["v4.channel.k8s.io"]).await;
        client.send_raw(nonsense).await;
        let data_of_no_stream = nonsense[0] & 0x80 == 0;
        if data_of_no_stream {
            // Its first bytes are the head of a long data frame, of a stream that was never opened.
            let answer = client.next().await;
            assert!(matches!(answer, Some(Frame::RstStream { status: reset::INVALID_STREAM, .. })), "{answer:?}");
            continue;
        }
        assert_eq!(client.all().await, [Frame::GoAway { last: 0, status: go_away::PROTOCOL_ERROR }]);
    }
}

#[tokio::test]
async fn pings_are_answered_and_answers_to_pings_are_not() {
    let scene = Scene::start().await;
    let (mut client, _) = connect(&scene, &scene.exec("cat", ALL), &["v4.channel.k8s.io"]).await;
    client.send(Frame::Ping(2)).await;
    client.send(Frame::Ping(7)).await;
    assert_eq!(client.next().await, Some(Frame::Ping(7)));
}

#[tokio::test]
async fn streams_that_nobody_wants_are_refused() {
    let scene = Scene::start().await;
    let (mut client, _) = connect(&scene, &scene.exec("cat", ALL), &["v4.channel.k8s.io"]).await;
    client.open([("streamType", "error")]).await;
    for unwanted in ["error", "resize", "other"] {
        let id = client.ask([("streamType", unwanted)]).await;
        assert_eq!(client.next().await, Some(Frame::RstStream { id, status: reset::REFUSED_STREAM }));
    }
    let (mut client, _) = connect(&scene, &scene.port_forward(&[]), &["portforward.k8s.io"]).await;
    for port in ["0", "65536", "http"] {
        let id = client.ask([("streamType", "data"), ("port", port)]).await;
        assert_eq!(client.next().await, Some(Frame::RstStream { id, status: reset::REFUSED_STREAM }));
    }
}

#[tokio::test]
async fn a_connection_has_a_limited_number_of_streams_and_gives_them_back() {
    let scene = Scene::start().await;
    let port = shouting_port().await.to_string();
    let (mut client, _) = connect(&scene, &scene.port_forward(&[]), &["portforward.k8s.io"]).await;
    let mut opened = Vec::new();
    loop {
        let request = opened.len().to_string();
        let id = client.ask([("streamType", "data"), ("port", &port), ("requestID", &request)]).await;
        match client.next().await {
            Some(Frame::SynReply { .. }) => opened.push(id),
            Some(Frame::RstStream { status: reset::REFUSED_STREAM, .. }) => break,
            other => panic!("{other:?}"),
        }
        assert!(opened.len() < 10_000, "there is no limit");
    }
    client.send(Frame::RstStream { id: opened[0], status: reset::CANCEL }).await;
    client.open([("streamType", "data"), ("port", &port), ("requestID", "again")]).await;
}

#[tokio::test]
async fn a_stream_that_is_reset_lets_go_of_the_port() {
    let scene = Scene::start().await;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (mut client, _) = connect(&scene, &scene.port_forward(&[]), &["portforward.k8s.io"]).await;
    client.open([("streamType", "error"), ("port", &port), ("requestID", "0")]).await;
    let data = client.open([("streamType", "data"), ("port", &port), ("requestID", "0")]).await;
    let (mut inside, _) = listener.accept().await.unwrap();
    client.send(Frame::Data { id: data, fin: Fin::More, bytes: Bytes::from_static(b"x") }).await;
    client.send(Frame::RstStream { id: data, status: reset::CANCEL }).await;
    let mut all = Vec::new();
    let reading = tokio::io::AsyncReadExt::read_to_end(&mut inside, &mut all);
    tokio::time::timeout(crate::backend::WITHIN, reading).await.expect("the port is let go").unwrap();
}
