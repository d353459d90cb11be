//! Ports inside a network namespace. Needs root.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use runtime::namespaces::{self, Kind, Wanted};
use runtime::streaming::dial_in_namespace;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A network namespace of its own, taken off with the directory it is pinned in.
struct Pinned(tempfile::TempDir);

impl Pinned {
    fn new() -> Pinned {
        let directory = tempfile::tempdir().unwrap();
        namespaces::make_private(directory.path()).unwrap();
        let wanted = Wanted { kinds: vec![Kind::Network], ..Wanted::default() };
        namespaces::pin(&directory.path().join("pins"), &wanted).unwrap();
        Pinned(directory)
    }

    fn netns(&self) -> PathBuf {
        Kind::Network.pin_in(&self.0.path().join("pins"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let unpinned = namespaces::unpin(&self.0.path().join("pins"));
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
        if !std::thread::panicking() {
            unpinned.unwrap();
        }
    }
}

/// Listens inside, on the first port that is free there.
fn listen(netns: &Path, address: &str) -> TcpListener {
    namespaces::enter(netns, || TcpListener::bind((address, 0)).unwrap()).unwrap()
}

#[tokio::test]
async fn a_port_of_loopback_is_reached_inside_a_namespace_by_either_family() {
    let pinned = Pinned::new();
    for address in ["127.0.0.1", "::1"] {
        let listener = listen(&pinned.netns(), address);
        let port = listener.local_addr().unwrap().port();
        let inside = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            stream.write_all(&all).unwrap();
        });
        let mut stream = dial_in_namespace(&pinned.netns(), port).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"hello");
        inside.join().unwrap();
    }
}

#[tokio::test]
async fn a_port_of_the_host_is_not_reached_from_inside() {
    let pinned = Pinned::new();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = dial_in_namespace(&pinned.netns(), outside.local_addr().unwrap().port()).await;
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}
