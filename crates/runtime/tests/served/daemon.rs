//! A runtime in a process of its own.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cri::Client;
use runtime::images::{HostImage, Images};
use runtime::namespaces::{self, Kind, Wanted};
use tempfile::TempDir;

/// Whatever a test waits for happens within this.
pub const SOON: Duration = Duration::from_secs(30);

/// A runtime, where it keeps its things, and the network namespace that is its machine's.
pub struct Daemon {
    directory: TempDir,
    child: Option<Child>,
}

impl Daemon {
    /// Starts a runtime that has the images of the contract.
    pub async fn start() -> Daemon {
        let directory = tempfile::tempdir().unwrap();
        let images = Images::open(&directory.path().join("runtime/images"), HostImage::Refused).unwrap();
        let archive = cri::contract::images::archive().unwrap();
        tokio::task::spawn_blocking(move || images.load(archive.as_slice(), None).unwrap()).await.unwrap();
        let machine = directory.path().join("machine");
        std::fs::create_dir(&machine).unwrap();
        namespaces::make_private(&machine).unwrap();
        let wanted = Wanted { kinds: vec![Kind::Network], ..Wanted::default() };
        namespaces::pin(&machine.join("ns"), &wanted).unwrap();
        let mut daemon = Daemon { directory, child: None };
        daemon.restart().await;
        daemon
    }

    /// Starts it, or starts it again, and waits until it answers.
    pub async fn restart(&mut self) -> Client {
        assert!(self.child.is_none(), "it was stopped");
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.network().display()));
        command
            .arg(env!("CARGO_BIN_EXE_test-runtime"))
            .arg("serve")
            .arg(self.directory())
            .arg(self.socket())
            .arg("pods0");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.directory().join("log")).unwrap();
        // What a test's terminal sends is not meant for it.
        self.child = Some(command.stdin(Stdio::null()).stderr(log).process_group(0).spawn().unwrap());
        self.client().await
    }

    pub async fn client(&self) -> Client {
        let address = format!("unix://{}", self.socket().display());
        let connected = Client::connect_within(&address, SOON).await;
        connected.unwrap_or_else(|error| panic!("{error}; the runtime said: {}", self.log()))
    }

    /// SIGKILL, and nothing else.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("a runtime that runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn containers(&self) -> PathBuf {
        self.directory().join("runtime/containers")
    }

    /// The network namespace that is the machine's.
    pub fn network(&self) -> PathBuf {
        Kind::Network.pin_in(&self.directory().join("machine/ns"))
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory().join("log")).unwrap_or_default()
    }

    fn socket(&self) -> PathBuf {
        self.directory().join("cri.sock")
    }
}

impl Drop for Daemon {
    /// A test that failed half-way leaves nothing behind either.
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
        super::leftovers::clear(self.directory());
    }
}

/// Looks until it is so.
pub async fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    assert!(becomes(is_so).await, "waited in vain for {what}");
}

/// Whether it is so before long.
pub async fn becomes(mut is_so: impl FnMut() -> bool) -> bool {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let waited = async {
        while !is_so() {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(SOON, waited).await.is_ok()
}
