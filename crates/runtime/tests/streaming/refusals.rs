//! What the server does not do.

use runtime::shim::control::Streams;
use runtime::streaming::{AttachRequest, ExecRequest, PortForwardRequest, RequestError, Terminal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::http::StatusCode;

use crate::backend::{ALL, OUTPUT, Scene, WITHIN};
use crate::websocket_client::Socket;

async fn raw(scene: &Scene, request: &str) -> String {
    let mut stream = TcpStream::connect(scene.server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(WITHIN, stream.read_to_string(&mut answer)).await.expect("an answer in time").unwrap();
    answer
}

#[tokio::test]
async fn an_address_works_once() {
    let scene = Scene::start().await;
    let path = scene.exec("true", OUTPUT);
    Socket::open(&scene, &path, Some("v4.channel.k8s.io")).await.all().await;
    let refused = Socket::try_open(&scene, &path, Some("v4.channel.k8s.io")).await.err().unwrap();
    assert_eq!(refused.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_token_of_one_kind_opens_no_other() {
    let scene = Scene::start().await;
    let path = scene.exec("true", OUTPUT).replace("/exec/", "/attach/");
    let refused = Socket::try_open(&scene, &path, Some("v4.channel.k8s.io")).await.err().unwrap();
    assert_eq!(refused.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_protocol_that_nobody_knows_is_refused_with_those_that_are() {
    let scene = Scene::start().await;
    let path = scene.exec("true", OUTPUT);
    let (code, text) = Socket::try_open(&scene, &path, Some("v9.channel.k8s.io")).await.err().unwrap();
    assert_eq!(code, StatusCode::BAD_REQUEST);
    assert!(text.contains("v9.channel.k8s.io") && text.contains("channel.k8s.io"), "{text}");
}

#[tokio::test]
async fn port_forward_in_channels_needs_ports() {
    let scene = Scene::start().await;
    let path = scene.port_forward(&[]);
    let refused = Socket::try_open(&scene, &path, Some("v4.channel.k8s.io")).await.err().unwrap();
    assert_eq!(refused.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_is_no_upgrade_is_refused() {
    let scene = Scene::start().await;
    let path = scene.exec("true", OUTPUT);
    let answer = raw(&scene, &format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("unable to upgrade"), "{answer}");
    let answer = raw(&scene, "PUT / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    let answer = raw(&scene, "GET /exec HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[tokio::test]
async fn spdy_without_a_common_protocol_is_refused_with_those_that_are_spoken() {
    let scene = Scene::start().await;
    let head = "Host: h\r\nConnection: Upgrade, close\r\nUpgrade: SPDY/3.1\r\n";
    let path = scene.exec("true", OUTPUT);
    let answer = raw(&scene, &format!("POST {path} HTTP/1.1\r\n{head}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let path = scene.port_forward(&[]);
    let answer = raw(&scene, &format!("POST {path} HTTP/1.1\r\n{head}X-Stream-Protocol-Version: v9\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("x-accepted-stream-protocol-versions: portforward.k8s.io"), "{answer}");
}

#[tokio::test]
async fn requests_that_make_no_sense_get_no_address() {
    let scene = Scene::start().await;
    let exec = |container: &str, terminal, streams| {
        let command = vec!["true".to_owned()];
        scene.server.exec_url(ExecRequest { container: container.to_owned(), command, terminal, streams })
    };
    assert_eq!(exec("", Terminal::None, ALL), Err(RequestError::NoContainer));
    assert_eq!(exec("c1", Terminal::Tty, ALL), Err(RequestError::TerminalWithStderr));
    let attach = AttachRequest { container: "c1".to_owned(), terminal: Terminal::None, streams: Streams::default() };
    assert_eq!(scene.server.attach_url(attach), Err(RequestError::NoStreams));
    let ports = PortForwardRequest { sandbox: String::new(), ports: vec![] };
    assert_eq!(scene.server.port_forward_url(ports), Err(RequestError::NoSandbox));
}

#[tokio::test]
async fn the_end_of_the_server_ends_every_connection() {
    let scene = Scene::start().await;
    let mut socket = Socket::open(&scene, &scene.attach(), Some("v4.channel.k8s.io")).await;
    assert_eq!(socket.bytes().await, &[1][..]);
    scene.closing.cancel();
    tokio::time::timeout(WITHIN, scene.server.stopped()).await.expect("everything ends");
    assert!(TcpStream::connect(scene.server.address()).await.is_err());
}
