//! Exec, attach and port-forward through real containers, with a WebSocket as kubectl opens it.

use cri::Client;
use cri::v1::{AttachRequest, ExecRequest, PortForwardRequest};
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::SEC_WEBSOCKET_PROTOCOL;
use runtime::streaming::dial_in_namespace;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::daemon::{Daemon, SOON, eventually};
use super::pods::{self, ENDS_ON_TERM, Pod};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn open(daemon: &Daemon, url: &str, protocol: &str) -> Socket {
        let mut request = url.replace("http://", "ws://").into_client_request().unwrap();
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
        let port = request.uri().port_u16().expect("a port");
        let stream = dial_in_namespace(&daemon.network(), port).await.unwrap();
        Socket(client_async(request, stream).await.unwrap().0)
    }

    async fn send(&mut self, channel: u8, content: &[u8]) {
        self.0.send(Message::binary([&[channel], content].concat())).await.unwrap();
    }

    /// Everything that comes, by channel, until it is enough or nothing more comes.
    async fn heard(&mut self, enough: impl Fn(&Heard) -> bool) -> Heard {
        let mut heard = Heard::default();
        let listening = async {
            while !enough(&heard) {
                match self.0.next().await {
                    Some(Ok(Message::Binary(bytes))) if !bytes.is_empty() => {
                        heard.0[usize::from(bytes[0]) % 5].extend_from_slice(&bytes[1..]);
                    }
                    Some(Ok(Message::Close(_))) | None | Some(Err(_)) => break,
                    Some(Ok(_)) => {}
                }
            }
        };
        tokio::time::timeout(SOON, listening).await.expect("an end");
        heard
    }
}

#[derive(Debug, Default)]
struct Heard([Vec<u8>; 5]);

impl Heard {
    fn text(&self, channel: u8) -> String {
        String::from_utf8_lossy(&self.0[usize::from(channel)]).into_owned()
    }
}

async fn running(daemon: &Daemon, client: &Client, container: cri::v1::ContainerConfig) -> Pod {
    let logs = daemon.directory().join("logs");
    let pod = pods::run(client, pods::sandbox("streams", &logs), container).await.unwrap();
    eventually("the container", || {
        std::fs::read_to_string(logs.join("main.log")).is_ok_and(|log| log.contains("ready"))
    })
    .await;
    pod
}

/// Waits until a process of the container listens at this port.
async fn listens(daemon: &Daemon, pod: &Pod, port: u16) {
    let started = std::fs::read(daemon.containers().join(&pod.container).join("started.json")).unwrap();
    let started: serde_json::Value = serde_json::from_slice(&started).unwrap();
    let table =
        |name: &str| std::fs::read_to_string(format!("/proc/{}/net/{name}", started["pid"])).unwrap_or_default();
    let address = format!(":{port:04X} ");
    eventually("a listener", || table("tcp").contains(&address) || table("tcp6").contains(&address)).await;
}

fn exec(pod: &Pod, script: &str) -> ExecRequest {
    let cmd = ["sh", "-c", script].map(str::to_owned).to_vec();
    ExecRequest { container_id: pod.container.clone(), cmd, stdin: true, stdout: true, stderr: true, tty: false }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_its_input_and_gives_both_outputs_and_its_code() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let pod = running(&daemon, &client, pods::shell(ENDS_ON_TERM)).await;
    let url = client.runtime().exec(exec(&pod, "cat; echo oops >&2; exit 3")).await.unwrap().into_inner().url;
    let mut socket = Socket::open(&daemon, &url, "v5.channel.k8s.io").await;
    socket.send(STDIN, b"hello").await;
    socket.send(CLOSE, &[STDIN]).await;
    let heard = socket.heard(|_| false).await;
    assert_eq!((heard.text(STDOUT).as_str(), heard.text(STDERR).as_str()), ("hello", "oops\n"));
    let status: serde_json::Value = serde_json::from_str(&heard.text(STATUS)).unwrap();
    assert_eq!(
        (&status["reason"], &status["details"]["causes"][0]["message"]),
        (&"NonZeroExitCode".into(), &"3".into())
    );
    // An address is good for one connection.
    let port: u16 = url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let stream = dial_in_namespace(&daemon.network(), port).await.unwrap();
    assert!(client_async(url.replace("http://", "ws://").into_client_request().unwrap(), stream).await.is_err());
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_has_the_size_that_it_is_given() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let pod = running(&daemon, &client, pods::shell(ENDS_ON_TERM)).await;
    let request = ExecRequest { tty: true, stderr: false, ..exec(&pod, "read line; stty size; exit 4") };
    let url = client.runtime().exec(request).await.unwrap().into_inner().url;
    let mut socket = Socket::open(&daemon, &url, "v4.channel.k8s.io").await;
    socket.send(RESIZE, br#"{"Width":101,"Height":33}"#).await;
    socket.send(STDIN, b"go\n").await;
    let heard = socket.heard(|_| false).await;
    assert!(heard.text(STDOUT).contains("33 101\r\n"), "{heard:?}");
    assert!(heard.text(STATUS).contains("\"4\""), "{heard:?}");
    // And once more: nothing of the first is in the way.
    let request = ExecRequest { tty: true, stderr: false, ..exec(&pod, "exit 6") };
    let url = client.runtime().exec(request).await.unwrap().into_inner().url;
    let heard = Socket::open(&daemon, &url, "v4.channel.k8s.io").await.heard(|_| false).await;
    assert!(heard.text(STATUS).contains("\"6\""), "{heard:?}");
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_may_have_a_terminal_itself() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let mut config = pods::shell("tty; echo ready; read line; echo \"got $line\"; exit 8");
    (config.tty, config.stdin) = (true, true);
    let pod = running(&daemon, &client, config).await;
    let request =
        AttachRequest { container_id: pod.container.clone(), stdin: true, stdout: true, stderr: false, tty: true };
    let url = client.runtime().attach(request).await.unwrap().into_inner().url;
    let mut socket = Socket::open(&daemon, &url, "v4.channel.k8s.io").await;
    socket.send(STDIN, b"hello\n").await;
    let status = pods::reaches(&client, &pod.container, cri::v1::ContainerState::ContainerExited).await;
    assert_eq!(status.exit_code, 8);
    let log = std::fs::read_to_string(daemon.directory().join("logs/main.log")).unwrap();
    assert!(log.contains("/dev/") && log.contains("got hello"), "{log}");
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_attached_speaks_with_the_container_itself() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let mut config = pods::shell("echo ready; while read line; do echo \"got $line\"; done; exit 5");
    config.stdin = true;
    config.stdin_once = true;
    let pod = running(&daemon, &client, config).await;
    let request =
        AttachRequest { container_id: pod.container.clone(), stdin: true, stdout: true, stderr: true, tty: false };
    let url = client.runtime().attach(request).await.unwrap().into_inner().url;
    let mut socket = Socket::open(&daemon, &url, "v5.channel.k8s.io").await;
    socket.send(STDIN, b"one\n").await;
    let heard = socket.heard(|heard| heard.text(STDOUT).contains("got one\n")).await;
    assert!(heard.text(STDOUT).contains("got one\n"), "{heard:?}");
    // Input that is given once ends with who gave it, and with it this container.
    socket.send(CLOSE, &[STDIN]).await;
    let status = pods::reaches(&client, &pod.container, cri::v1::ContainerState::ContainerExited).await;
    assert_eq!(status.exit_code, 5);
    let log = std::fs::read_to_string(daemon.directory().join("logs/main.log")).unwrap();
    assert!(log.contains("stdout F got one\n"), "what is attached is logged all the same: {log}");
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_a_sandbox_is_reached_from_outside() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let pod = running(&daemon, &client, pods::shell("echo ready; nc -l -p 8080 -e cat")).await;
    listens(&daemon, &pod, 8080).await;
    let request = PortForwardRequest { pod_sandbox_id: pod.sandbox.clone(), port: vec![8080] };
    let url = client.runtime().port_forward(request).await.unwrap().into_inner().url;
    let mut socket = Socket::open(&daemon, &url, "v4.channel.k8s.io").await;
    socket.send(0, b"ping").await;
    // Both channels of a port begin with its number.
    let heard = socket.heard(|heard| heard.0[0].len() >= 6).await;
    assert_eq!(heard.0[0], [&8080_u16.to_le_bytes()[..], b"ping"].concat());
    pods::remove(&client, &pod.sandbox).await.unwrap();
}
