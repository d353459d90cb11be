//! A real etcd 3.5 for one test: on free loopback ports, in a directory that goes away, killed with the test.

use std::fs::File;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::part;
use crate::server::free_port;

/// Starting includes an election.
const STARTED_WITHIN: Duration = Duration::from_secs(30);

pub struct Etcd {
    child: Child,
    command: Command,
    address: String,
    directory: TempDir,
}

impl Etcd {
    /// An empty etcd that accepts connections.
    pub fn start() -> Etcd {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = format!("127.0.0.1:{}", free_port());
        let (url, peers) = (format!("http://{address}"), format!("http://127.0.0.1:{}", free_port()));
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(part("EVENTIDE_ETCD_3_5", "etcd-3.5/usr/bin/etcd"));
        command.args(["--name", "test", "--logger", "zap", "--log-level", "warn"]);
        command.args(["--heartbeat-interval", "20", "--election-timeout", "100"]);
        command.arg("--data-dir").arg(directory.path().join("data"));
        command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.arg("--initial-cluster").arg(format!("test={peers}"));
        let log = File::create(directory.path().join("log")).expect("a log file");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("etcd runs");
        let mut etcd = Etcd { child, command, address, directory };
        etcd.wait_until_it_listens();
        etcd
    }

    /// As `eventide apiserver --store` takes it.
    pub fn store(&self) -> String {
        format!("etcd://{}", self.address)
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("etcd can be killed");
        self.child.wait().expect("etcd ends");
    }

    /// Starts the killed etcd again, on the same port and data.
    pub fn restart(&mut self) {
        self.child = self.command.spawn().expect("etcd runs");
        self.wait_until_it_listens();
    }

    fn wait_until_it_listens(&mut self) {
        let started = Instant::now();
        while TcpStream::connect(&self.address).is_err() {
            let ended = self.child.try_wait().expect("etcd is our child");
            let log = || std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            assert!(ended.is_none() && started.elapsed() < STARTED_WITHIN, "etcd does not start: {}", log());
            std::thread::yield_now();
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
