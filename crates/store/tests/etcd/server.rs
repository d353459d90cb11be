//! A real etcd for one test: on free loopback ports, in a directory that goes away, killed with the test.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use store::etcd::{ConnectError, EtcdOptions};
use store::{EtcdStore, Key, Prefix};
use tempfile::TempDir;

/// Starting includes an election; nothing in a test takes longer.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Below what the kernel gives to outgoing connections, so that a port stays free while its server is down.
const PORTS: std::ops::Range<u16> = 10_000..30_000;
const STARTS: usize = 5;

/// Which etcd.
pub trait Version: Send + Sync + 'static {
    const VARIABLE: &'static str;
    const PART: &'static str;
}

pub struct Etcd34;
pub struct Etcd35;

impl Version for Etcd34 {
    const VARIABLE: &'static str = "EVENTIDE_ETCD_3_4";
    const PART: &'static str = "etcd-3.4";
}

impl Version for Etcd35 {
    const VARIABLE: &'static str = "EVENTIDE_ETCD_3_5";
    const PART: &'static str = "etcd-3.5";
}

pub struct Server<V> {
    child: Child,
    command: Command,
    port: u16,
    directory: TempDir,
    version: PhantomData<V>,
}

impl<V: Version> Server<V> {
    /// A new, empty server with further arguments, and a store in it.
    pub async fn start(arguments: &[&str]) -> (Server<V>, EtcdStore) {
        let mut log = String::new();
        for _ in 0..STARTS {
            let directory = tempfile::tempdir().unwrap();
            let mut server = Server::launch(directory, "http", arguments);
            match EtcdStore::connect(server.options()).await {
                Ok(store) => return (server, store),
                Err(error) => log = format!("{error}\n{}", server.log()),
            }
            // Somebody else may have taken the port.
            assert!(server.child.try_wait().unwrap().is_some(), "etcd runs but does not answer: {log}");
        }
        panic!("etcd does not start: {log}");
    }

    /// Starts a server that may not answer yet.
    pub fn launch(directory: TempDir, scheme: &str, arguments: &[&str]) -> Server<V> {
        let (port, peers) = (free_port(), free_port());
        let url = |port: u16| format!("{scheme}://127.0.0.1:{port}");
        let peers = format!("http://127.0.0.1:{peers}");
        let mut command = tied_to_this_thread(&program::<V>());
        command.args(["--name", "test", "--logger", "zap", "--log-level", "warn"]);
        command.args(["--heartbeat-interval", "20", "--election-timeout", "100"]);
        command.arg("--data-dir").arg(directory.path().join("data"));
        command.args(["--listen-client-urls", &url(port), "--advertise-client-urls", &url(port)]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.arg("--initial-cluster").arg(format!("test={peers}")).args(arguments);
        let log = File::create(directory.path().join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        Server { child, command, port, directory, version: PhantomData }
    }

    pub fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn options(&self) -> EtcdOptions {
        let prefix = Prefix::new("/eventide-test/").unwrap();
        let options = EtcdOptions::parse(&format!("etcd://{}", self.endpoint()), prefix, None).unwrap();
        EtcdOptions { call_within: PATIENCE, resume_within: PATIENCE, ..options }
    }

    pub async fn connect(&self) -> EtcdStore {
        self.connect_with(self.options()).await.unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
    }

    pub async fn connect_with(&self, options: EtcdOptions) -> Result<EtcdStore, ConnectError> {
        EtcdStore::connect(options).await
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the killed server again, on the same port and data.
    pub fn restart(&mut self) {
        self.child = self.command.spawn().unwrap();
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl<V> Drop for Server<V> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn key(name: impl Into<String>) -> Key {
    Key::new(name.into()).unwrap()
}

fn program<V: Version>() -> PathBuf {
    let given = std::env::var_os(V::VARIABLE).map(PathBuf::from);
    let parts = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().map(|target| target.join("parts"));
    let program = given.or_else(|| Some(parts?.join(V::PART).join("usr/bin/etcd"))).filter(|program| program.is_file());
    program.unwrap_or_else(|| panic!("{} is missing: `cargo xtask parts` fetches it, or set {}", V::PART, V::VARIABLE))
}

/// A test runner that gives up on a test kills it; its server must not outlive it.
fn tied_to_this_thread(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

pub fn free_port() -> u16 {
    let size = u64::from(PORTS.end - PORTS.start);
    loop {
        let offset = RandomState::new().hash_one(0) % size;
        let port = PORTS.start + u16::try_from(offset).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
