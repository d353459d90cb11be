//! A real registry as a child process, and a small client that pushes to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use runtime::images::digest::Digest;

/// A registry on a port of loopback; gone when dropped.
pub struct Registry {
    child: Child,
    pub address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Registry {
    pub fn start() -> Registry {
        let directory = tempfile::tempdir().unwrap();
        let settings = directory.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {:?}}}}}\nhttp: {{addr: 127.0.0.1:0, secret: s}}\n",
            directory.path().join("data")
        );
        std::fs::write(&settings, text).unwrap();
        let mut child = Command::new("docker-registry")
            .arg("serve")
            .arg(&settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("docker-registry is installed: apt-get install docker-registry");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("listening on ")?;
            rest.split(['"', ' ', ',']).next()?.parse().ok()
        });
        // Whoever writes must be read, or it stops.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Registry { child, address: address.expect("the registry says where it listens"), _directory: directory }
    }

    /// The name of an image in this registry.
    pub fn name(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    pub fn push_blob(&self, repository: &str, bytes: &[u8]) {
        let begun = ask(self.address, "POST", &format!("/v2/{repository}/blobs/uploads/"), "", b"");
        assert_eq!(begun.status, 202, "{}", begun.head);
        let location = begun.header("location").expect("a place to upload to");
        let path = &location[location.find("/v2/").unwrap()..];
        let path = format!("{path}&digest={}", Digest::of(bytes));
        let put = ask(self.address, "PUT", &path, "Content-Type: application/octet-stream\r\n", bytes);
        assert_eq!(put.status, 201, "{}", put.head);
    }

    pub fn push_manifest(&self, repository: &str, tag: &str, media_type: &str, manifest: &[u8]) {
        let path = format!("/v2/{repository}/manifests/{tag}");
        let put = ask(self.address, "PUT", &path, &format!("Content-Type: {media_type}\r\n"), manifest);
        assert_eq!(put.status, 201, "{} {}", put.head, String::from_utf8_lossy(&put.body));
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server answered.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }
}

/// One request on a connection of its own.
pub fn ask(to: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head");
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head, body: answer[end + 4..].to_vec() }
}
