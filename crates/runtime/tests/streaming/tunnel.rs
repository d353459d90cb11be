//! SPDY inside WebSocket messages, as today's kubectl forwards ports.

use futures_util::{SinkExt as _, StreamExt as _};
use runtime::streaming::spdy::Fin;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio_tungstenite::tungstenite::Message;

use crate::backend::{Scene, shouting_port};
use crate::spdy_client::Client;
use crate::websocket_client::Socket;

/// The bytes inside the messages, cut without regard to frames.
fn inside(socket: Socket) -> DuplexStream {
    let (ours, theirs) = duplex(64 * 1024);
    let (mut reads, mut writes) = split(ours);
    let (mut sink, mut stream) = socket.0.split();
    tokio::spawn(async move {
        let mut buffer = [0; 13];
        while let Ok(read @ 1..) = reads.read(&mut buffer).await {
            sink.send(Message::binary(buffer[..read].to_vec())).await.unwrap();
        }
    });
    tokio::spawn(async move {
        while let Some(Ok(Message::Binary(bytes))) = stream.next().await {
            writes.write_all(&bytes).await.unwrap();
        }
    });
    theirs
}

#[tokio::test]
async fn ports_are_forwarded_through_a_tunnel() {
    let scene = Scene::start().await;
    let port = shouting_port().await.to_string();
    let path = scene.port_forward(&[]);
    let socket = Socket::open(&scene, &path, Some("SPDY/3.1+portforward.k8s.io")).await;
    let mut client = Client::new(inside(socket));
    let error = client.open([("streamType", "error"), ("port", &port), ("requestID", "0")]).await;
    let data = client.open([("streamType", "data"), ("port", &port), ("requestID", "0")]).await;
    client.data(data, Fin::Last, b"through the tunnel").await;
    assert_eq!(client.read_to_end(data).await, b"THROUGH THE TUNNEL");
    assert_eq!(client.read_to_end(error).await, b"");
}
