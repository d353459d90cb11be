//! `eventide runtime` as others meet it: the whole contract of CRI on the real binary, and what it refuses. Needs root.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cri::Client;
use cri::contract::daemon::PrivateDaemon;
use cri::contract::{self, Difference, Fixture};
use cri::v1::NamespaceMode;
use tests::{binary, eventide};

struct Ours {
    client: Client,
    daemon: PrivateDaemon,
}

impl Fixture for Ours {
    fn client(&self) -> Client {
        self.client.clone()
    }

    fn directory(&self) -> &Path {
        self.daemon.directory()
    }

    /// The machine's own, so that the test leaves its bridges and rules alone.
    fn network(&self) -> NamespaceMode {
        NamespaceMode::Node
    }

    fn differences(&self) -> &[Difference] {
        &[]
    }
}

fn start() -> PrivateDaemon {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = directory.path().join("data").display().to_string();
    let archive = directory.path().join("images.tar");
    std::fs::write(&archive, contract::images::archive().unwrap()).unwrap();
    let loaded = eventide(&["image", "load", &archive.display().to_string(), "--data-dir", &data_dir]);
    assert_eq!(loaded.code, 0, "{}", loaded.stderr);
    let socket = format!("unix://{}", PrivateDaemon::socket_in(directory.path()).display());
    let cni = directory.path().join("cni");
    let mut command = Command::new(binary());
    command.args(["runtime", "--data-dir", &data_dir, "--listen", &socket, "--bridge", "contract0"]);
    command.arg("--cni-conf-dir").arg(cni);
    PrivateDaemon::start(directory, command).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_binary_keeps_the_whole_contract() {
    let daemon = start();
    let client = daemon.client().await.unwrap();
    contract::check(Arc::new(Ours { client, daemon })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_runtime_is_refused_and_the_first_goes_on() {
    let daemon = start();
    let client = daemon.client().await.unwrap();
    let data_dir = daemon.directory().join("data").display().to_string();
    let other_socket = format!("unix://{}", daemon.directory().join("other.sock").display());
    let same_socket = format!("unix://{}", daemon.socket().display());
    let refused = eventide(&["runtime", "--data-dir", &data_dir, "--listen", &other_socket]);
    assert!(refused.code == 1 && refused.stderr.contains("images"), "{}", refused.stderr);
    let elsewhere = daemon.directory().join("elsewhere").display().to_string();
    let refused = eventide(&["runtime", "--data-dir", &elsewhere, "--listen", &same_socket]);
    assert!(refused.code == 1 && refused.stderr.contains("already listens"), "{}", refused.stderr);
    let version = client.runtime().version(cri::v1::VersionRequest::default()).await.unwrap().into_inner();
    assert_eq!((version.runtime_name.as_str(), version.runtime_api_version.as_str()), ("eventide", "v1"));
}

#[test]
fn addresses_that_are_none_are_refused_with_what_to_write() {
    for bad in ["tcp://127.0.0.1:1", "relative.sock", "unix://relative"] {
        let refused = eventide(&["runtime", "--listen", bad]);
        assert!(refused.code == 2 && refused.stderr.contains("unix:///"), "{bad}: {}", refused.stderr);
    }
}
