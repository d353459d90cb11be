//! A client that speaks WebSocket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::backend::{Scene, WITHIN};

pub struct Socket(pub WebSocketStream<TcpStream>);

/// All that came until the connection was closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// What each channel carried.
    pub channels: [Vec<u8>; 5],
    /// The channels, in the order of their messages, repetitions left out.
    pub order: Vec<u8>,
    pub close: Option<CloseCode>,
}

impl Heard {
    pub fn status(&self) -> serde_json::Value {
        serde_json::from_slice(&self.channels[3]).unwrap()
    }

    pub fn add(&mut self, channel: u8, bytes: &[u8]) {
        self.channels[usize::from(channel)].extend_from_slice(bytes);
        if self.order.last() != Some(&channel) {
            self.order.push(channel);
        }
    }
}

impl Socket {
    pub async fn open(scene: &Scene, path: &str, protocol: Option<&str>) -> Socket {
        Socket::try_open(scene, path, protocol).await.unwrap()
    }

    /// The status and the text of a refusal.
    pub async fn try_open(scene: &Scene, path: &str, protocol: Option<&str>) -> Result<Socket, (StatusCode, String)> {
        let address = scene.server.address();
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        if let Some(protocol) = protocol {
            request.headers_mut().insert("Sec-WebSocket-Protocol", protocol.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(Error::Http(answer)) => {
                let text = String::from_utf8(answer.body().clone().unwrap_or_default()).unwrap();
                Err((answer.status(), text))
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn send(&mut self, channel: u8, bytes: &[u8]) {
        self.0.send(Message::binary([&[channel], bytes].concat())).await.unwrap();
    }

    pub async fn next(&mut self) -> Message {
        let message = tokio::time::timeout(WITHIN, self.0.next()).await.expect("a message comes in time");
        message.expect("the connection stands").unwrap()
    }

    pub async fn bytes(&mut self) -> Bytes {
        self.next().await.into_data()
    }

    pub async fn all(mut self) -> Heard {
        let mut heard = Heard::default();
        loop {
            match self.next().await {
                Message::Binary(bytes) => heard.add(bytes[0], &bytes[1..]),
                Message::Text(text) => {
                    let (channel, content) = text.as_bytes().split_first().unwrap();
                    heard.add(channel - b'0', &STANDARD.decode(content).unwrap());
                }
                Message::Close(frame) => {
                    heard.close = frame.map(|frame| frame.code);
                    return heard;
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}
