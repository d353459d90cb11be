//! A server between a pull and a registry that does to connections what networks and registries do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What becomes of a request.
pub enum Action {
    Forward,
    /// A whole answer: the head's first line and headers, and the body.
    Answer(String, Vec<u8>),
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    /// Nothing more comes after so many bytes of the body.
    Stall(usize),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub head: String,
    pub body: String,
}

impl Asked {
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    pub fn is_blob(&self) -> bool {
        self.path().contains("/blobs/")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

type Rule = dyn Fn(&Asked, usize) -> Action + Send + Sync;

/// The server. It answers as long as the test's process lives; what it was asked can be read.
pub struct Proxy {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Proxy {
    /// The rule sees each request, and how many with the same path came before it.
    pub fn start(upstream: SocketAddr, rule: impl Fn(&Asked, usize) -> Action + Send + Sync + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (rule, log): (Arc<Rule>, _) = (Arc::new(rule), Arc::clone(&asked));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (rule, log) = (Arc::clone(&rule), Arc::clone(&log));
                // A client that goes away is no fault of the server.
                std::thread::spawn(move || serve(client, upstream, &*rule, &log).ok());
            }
        });
        Proxy { address, asked }
    }

    pub fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn asked_for_blobs(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(Asked::is_blob).collect()
    }
}

fn serve(mut client: TcpStream, upstream: SocketAddr, rule: &Rule, log: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let head = read_head(&mut client)?;
    let mut asked = Asked { head, body: String::new() };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    client.read_exact(&mut body)?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    let before = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.iter().filter(|other| other.path() == asked.path()).count() - 1
    };
    let limit = match rule(&asked, before) {
        Action::Answer(head, body) => {
            client.write_all(
                format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()).as_bytes(),
            )?;
            return client.write_all(&body);
        }
        Action::Forward => None,
        Action::Cut(bytes) => Some((bytes, false)),
        Action::Stall(bytes) => Some((bytes, true)),
    };
    let mut server = TcpStream::connect(upstream)?;
    let head = asked.head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    server.write_all(format!("{head}\r\n\r\n{}", asked.body).as_bytes())?;
    let head = read_head(&mut server)?;
    client.write_all(format!("{head}\r\n\r\n").as_bytes())?;
    let bytes = limit.map_or(u64::MAX, |(bytes, _)| bytes as u64);
    std::io::copy(&mut server.take(bytes), &mut client)?;
    if let Some((_, true)) = limit {
        // Until the other side gives up.
        client.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

fn read_head(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    head.truncate(head.len() - 4);
    Ok(String::from_utf8_lossy(&head).into_owned())
}
