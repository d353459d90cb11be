//! Exec, attach and port-forward in the channels of a WebSocket.

use runtime::shim::control::Streams;
use runtime::streaming::{Terminal, TerminalSize};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::backend::{ALL, OUTPUT, Scene, Seen, shouting_port, silent_port};
use crate::websocket_client::Socket;

#[tokio::test]
async fn output_comes_on_its_channels_and_the_exit_code_after_all_of_it() {
    let scene = Scene::start().await;
    let path = scene.exec("echo out; echo err >&2; exit 3", OUTPUT);
    let heard = Socket::open(&scene, &path, Some("v4.channel.k8s.io")).await.all().await;
    assert_eq!(heard.channels[1], b"out\n");
    assert_eq!(heard.channels[2], b"err\n");
    assert_eq!(heard.status()["reason"], "NonZeroExitCode");
    assert_eq!(heard.status()["details"]["causes"][0]["message"], "3");
    assert_eq!(heard.order.last(), Some(&3));
    assert_eq!(heard.close, Some(CloseCode::Normal));
}

#[tokio::test]
async fn version_five_ends_input_by_a_message() {
    let scene = Scene::start().await;
    let path = scene.exec("cat; echo done", ALL);
    let mut socket = Socket::open(&scene, &path, Some("v5.channel.k8s.io")).await;
    socket.send(0, b"one ").await;
    socket.send(0, b"two ").await;
    socket.send(255, &[0]).await;
    let heard = socket.all().await;
    assert_eq!(heard.channels[1], b"one two done\n");
    assert_eq!(heard.status()["status"], "Success");
}

#[tokio::test]
async fn base64_channels_carry_text() {
    let scene = Scene::start().await;
    let path = scene.exec("printf '\\377'; exit 1", OUTPUT);
    let heard = Socket::open(&scene, &path, Some("v4.base64.channel.k8s.io")).await.all().await;
    assert_eq!(heard.channels[1], [0xff]);
    assert_eq!(heard.status()["details"]["causes"][0]["message"], "1");
}

#[tokio::test]
async fn versions_before_four_and_clients_that_name_none_hear_of_failure_as_text() {
    let scene = Scene::start().await;
    for protocol in [Some("v3.channel.k8s.io"), Some("v2.channel.k8s.io"), Some("channel.k8s.io"), None] {
        let heard = Socket::open(&scene, &scene.exec("exit 4", OUTPUT), protocol).await.all().await;
        assert_eq!(heard.channels[3], b"command terminated with non-zero exit code: 4");
        let heard = Socket::open(&scene, &scene.exec("exit 0", OUTPUT), protocol).await.all().await;
        assert_eq!(heard.channels[3], b"");
    }
}

#[tokio::test]
async fn the_first_protocol_of_the_client_that_is_known_is_spoken() {
    let scene = Scene::start().await;
    let path = scene.exec("exit 0", OUTPUT);
    let socket = Socket::open(&scene, &path, Some("v9.channel.k8s.io, v4.channel.k8s.io, channel.k8s.io")).await;
    assert_eq!(socket.all().await.status()["status"], "Success");
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_an_internal_error() {
    let scene = Scene::start().await;
    let request = runtime::streaming::ExecRequest {
        container: "c1".to_owned(),
        command: vec!["/nonexistent".to_owned()],
        terminal: Terminal::None,
        streams: OUTPUT,
    };
    let url = scene.server.exec_url(request).unwrap();
    let path = url.strip_prefix(&format!("http://{}", scene.server.address())).unwrap();
    let status = Socket::open(&scene, path, Some("v4.channel.k8s.io")).await.all().await.status();
    assert_eq!(status["reason"], "InternalError");
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("Internal error occurred: error executing command in container: "), "{message}");
}

#[tokio::test]
async fn sizes_of_the_terminal_reach_the_backend() {
    let mut scene = Scene::start().await;
    let streams = Streams { stderr: false, ..ALL };
    let path = scene.exec_in("cat", streams, Terminal::Tty);
    let mut socket = Socket::open(&scene, &path, Some("v5.channel.k8s.io")).await;
    socket.send(4, br#"{"Width":120,"Height":40}"#).await;
    assert_eq!(scene.seen().await, Seen::Resized(TerminalSize { columns: 120, rows: 40 }));
    socket.send(255, &[0]).await;
    assert_eq!(socket.all().await.status()["status"], "Success");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_input() {
    let mut scene = Scene::start().await;
    let path = scene.attach();
    let mut socket = Socket::open(&scene, &path, Some("v4.channel.k8s.io")).await;
    assert_eq!(socket.bytes().await, &[1][..]);
    assert_eq!(socket.bytes().await, &b"\x01hello\n"[..]);
    socket.send(0, b"bye").await;
    drop(socket);
    assert_eq!(scene.seen().await, Seen::InputEnded(b"bye".to_vec()));
}

#[tokio::test]
async fn an_attached_client_is_not_told_the_exit_code() {
    let scene = Scene::start().await;
    let path = scene.attach();
    let mut socket = Socket::open(&scene, &path, Some("v5.channel.k8s.io")).await;
    socket.send(255, &[0]).await;
    assert_eq!(socket.all().await.status()["status"], "Success");
}

#[tokio::test]
async fn a_client_that_reads_late_gets_everything() {
    let scene = Scene::start().await;
    let path = scene.exec("head -c 5000000 /dev/zero; echo written >&2", OUTPUT);
    let mut socket = Socket::open(&scene, &path, Some("v4.channel.k8s.io")).await;
    socket.bytes().await;
    let heard = socket.all().await;
    assert_eq!(heard.channels[1].len(), 5_000_000);
    assert_eq!(heard.channels[2], b"written\n");
}

#[tokio::test]
async fn input_that_nobody_reads_does_not_hide_the_outcome() {
    let scene = Scene::start().await;
    let mut socket = Socket::open(&scene, &scene.exec("exit 5", ALL), Some("v5.channel.k8s.io")).await;
    for _ in 0..32 {
        socket.send(0, &[b'x'; 8192]).await;
    }
    assert_eq!(socket.all().await.status()["details"]["causes"][0]["message"], "5");
}

#[tokio::test]
async fn ports_have_two_channels_each_which_begin_with_their_number() {
    let scene = Scene::start().await;
    let ports = [silent_port().await, shouting_port().await];
    let path = scene.port_forward(&ports);
    let mut socket = Socket::open(&scene, &path, Some("v4.channel.k8s.io")).await;
    for (channel, port) in [(0, ports[0]), (1, ports[0]), (2, ports[1]), (3, ports[1])] {
        assert_eq!(socket.bytes().await, [&[channel][..], &port.to_le_bytes()].concat());
    }
    let refused = socket.bytes().await;
    let text = String::from_utf8(refused[1..].to_vec()).unwrap();
    assert_eq!(refused[0], 1);
    assert!(text.starts_with(&format!("error forwarding port {} to pod s1", ports[0])), "{text}");
    socket.send(2, b"hello").await;
    socket.send(255, &[2]).await;
    assert_eq!(socket.bytes().await, &b"\x02HELLO"[..]);
}
