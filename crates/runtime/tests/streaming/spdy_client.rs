//! A client that speaks SPDY/3.1 frame by frame.

use std::collections::VecDeque;

use bytes::Bytes;
use runtime::streaming::spdy::{Decoder, Encoder, Fin, Frame, Headers, Ways};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::backend::{Scene, WITHIN};

pub struct Client<S> {
    io: S,
    encoder: Encoder,
    decoder: Decoder,
    frames: VecDeque<Frame>,
    next_id: u32,
}

/// Upgrades a connection; the protocol that the server chose comes beside.
pub async fn connect(scene: &Scene, path: &str, protocols: &[&str]) -> (Client<TcpStream>, String) {
    let mut io = TcpStream::connect(scene.server.address()).await.unwrap();
    let offers: String = protocols.iter().map(|name| format!("X-Stream-Protocol-Version: {name}\r\n")).collect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n{offers}\r\n");
    io.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(io.read_u8().await.unwrap());
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    let chosen = answer.lines().find_map(|line| line.strip_prefix("x-stream-protocol-version: ")).unwrap();
    (Client::new(io), chosen.to_owned())
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub fn new(io: S) -> Client<S> {
        let (encoder, decoder) = (Encoder::default(), Decoder::default());
        Client { io, encoder, decoder, frames: VecDeque::new(), next_id: 1 }
    }

    pub async fn send(&mut self, frame: Frame) {
        let mut bytes = Vec::new();
        self.encoder.encode(&frame, &mut bytes);
        self.send_raw(&bytes).await;
    }

    pub async fn send_raw(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.unwrap();
    }

    pub async fn data(&mut self, id: u32, fin: Fin, bytes: &[u8]) {
        self.send(Frame::Data { id, fin, bytes: Bytes::copy_from_slice(bytes) }).await;
    }

    /// Asks for a stream and does not wait for an answer.
    pub async fn ask<const N: usize>(&mut self, headers: [(&str, &str); N]) -> u32 {
        let id = self.next_id;
        self.next_id += 2;
        let (headers, fin, ways) = (Headers::new(headers), Fin::More, Ways::Both);
        self.send(Frame::SynStream { id, associated: 0, priority: 0, fin, ways, headers }).await;
        id
    }

    /// Opens a stream.
    pub async fn open<const N: usize>(&mut self, headers: [(&str, &str); N]) -> u32 {
        let id = self.ask(headers).await;
        let answer = self.next().await;
        assert_eq!(answer, Some(Frame::SynReply { id, fin: Fin::More, headers: Headers::default() }));
        id
    }

    /// Opens the streams of a session, by their names.
    pub async fn open_all<const N: usize>(&mut self, names: [&str; N]) -> [u32; N] {
        let mut ids = [0; N];
        for (id, name) in ids.iter_mut().zip(names) {
            *id = self.open([("streamType", name)]).await;
        }
        ids
    }

    /// The next frame; none at the end of the connection.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut buffer = [0; 4096];
        while self.frames.is_empty() {
            let reading = tokio::time::timeout(WITHIN, self.io.read(&mut buffer));
            match reading.await.expect("something comes in time") {
                Ok(read) if read > 0 => self.frames.extend(self.decoder.push(&buffer[..read]).unwrap()),
                Ok(_) | Err(_) => return None,
            }
        }
        self.frames.pop_front()
    }

    /// Everything until the connection ends.
    pub async fn all(mut self) -> Vec<Frame> {
        let mut all = Vec::new();
        while let Some(frame) = self.next().await {
            all.push(frame);
        }
        all
    }

    /// The data of a stream until its end; frames of others are passed over.
    pub async fn read_to_end(&mut self, wanted: u32) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Some(Frame::Data { id, fin, bytes }) if id == wanted => {
                    all.extend_from_slice(&bytes);
                    if fin == Fin::Last {
                        return all;
                    }
                }
                Some(_) => {}
                None => panic!("stream {wanted} had no end"),
            }
        }
    }
}

/// What a stream carried, and whether it was ended.
pub fn carried(frames: &[Frame], wanted: u32) -> (Vec<u8>, Fin) {
    let (mut all, mut end) = (Vec::new(), Fin::More);
    for frame in frames {
        match frame {
            Frame::Data { id, fin, bytes } if *id == wanted => {
                assert_eq!(end, Fin::More, "nothing follows the end");
                all.extend_from_slice(bytes);
                end = *fin;
            }
            _ => {}
        }
    }
    (all, end)
}
