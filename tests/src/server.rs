//! A real `eventide apiserver` in a directory of its own, and a real kubectl that talks to it.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::{NamedTempFile, TempDir};

use crate::{Run, binary, part};

const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// A server that dies with the test.
pub struct Server {
    directory: TempDir,
    launch: Launch,
    log: NamedTempFile,
    process: Option<Child>,
    /// `127.0.0.1:PORT`
    pub address: String,
}

/// How a server is started.
#[derive(Default)]
pub struct Launch {
    /// Further arguments.
    pub arguments: Vec<String>,
    /// Further variables of the environment.
    pub environment: Vec<(String, OsString)>,
    /// What is started in place of the server, with the server and its arguments for its own last arguments.
    pub wrapper: Vec<String>,
}

impl Launch {
    /// In a wrapper, stands for the data directory.
    pub const DIRECTORY: &str = "{directory}";
}

impl Server {
    /// A server on an empty directory, ready to answer.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// The same with further arguments.
    pub fn start_with(arguments: &[&str]) -> Server {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Server::launch(Launch { arguments, ..Launch::default() })
    }

    /// A server on an empty directory, started in an unusual way.
    pub fn launch(launch: Launch) -> Server {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = NamedTempFile::new().expect("a log file");
        // From a range that the kernel does not give to outgoing connections: it stays free while the server is down.
        let address = format!("127.0.0.1:{}", free_port());
        let mut server = Server { directory, launch, log, process: None, address };
        server.run();
        server
    }

    /// Starts the process again where it was, on the same port.
    pub fn run(&mut self) {
        assert!(self.process.is_none(), "the server runs already");
        let log = File::options().append(true).open(self.log.path()).expect("a log file");
        let mut process = self.command().stdout(Stdio::piped()).stderr(log).spawn().expect("eventide runs");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let first = lines.find_map(|line| line.split_once("https://").map(|(_, address)| address.to_owned()));
        self.process = Some(process);
        self.address = first.unwrap_or_else(|| panic!("the server does not say where it listens: {}", self.log()));
    }

    /// The program and its arguments. A test runner that gives up on a test kills it; its server must not outlive it.
    pub fn command(&self) -> Command {
        let directory = self.data_dir().display().to_string();
        let wrapper = self.launch.wrapper.iter().map(|word| word.replace(Launch::DIRECTORY, &directory));
        let tied = ["setpriv", "--pdeathsig", "KILL", "--"].map(str::to_owned);
        let mut words = wrapper.chain(tied);
        let mut command = Command::new(words.next().expect("a program"));
        command
            .args(words)
            .arg(binary())
            .args(["apiserver", "--listen", &self.address, "--data-dir", &directory])
            .args(&self.launch.arguments)
            .envs(self.launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Everything that the server has said on its standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap_or_default()
    }

    /// How much memory the server holds.
    pub fn memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// SIGKILL: nothing is flushed, nobody is told.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the server runs");
        process.kill().expect("it can be killed");
        process.wait().expect("it ends");
    }

    /// SIGTERM, and waits until the process is gone; its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        self.terminate();
        self.wait()
    }

    /// SIGTERM, and no more.
    pub fn terminate(&self) {
        let stopped = Command::new("kill").arg(self.pid().to_string()).status().expect("kill runs");
        assert!(stopped.success());
    }

    /// Waits until the process is gone; its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let mut process = self.process.take().expect("the server runs");
        process.wait().expect("it ends").code()
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("the server runs").id()
    }

    pub fn data_dir(&self) -> &Path {
        self.directory.path()
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("admin.kubeconfig")
    }

    /// Runs kubectl as the administrator.
    pub fn kubectl(&self, arguments: &[&str]) -> Run {
        self.kubectl_reading("", arguments)
    }

    /// Runs kubectl with this text on standard input.
    pub fn kubectl_reading(&self, input: &str, arguments: &[&str]) -> Run {
        let mut child = self.kubectl_command(arguments).spawn().expect("kubectl runs");
        // Not every command reads what it is given.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        Run::of(&child.wait_with_output().expect("kubectl ends"))
    }

    /// Runs kubectl and expects it to succeed; what it printed.
    pub fn kubectl_ok(&self, arguments: &[&str]) -> String {
        let run = self.kubectl(arguments);
        assert_eq!(run.code, 0, "kubectl {arguments:?}: {}{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Applies a manifest.
    pub fn apply(&self, manifest: &str) -> String {
        let run = self.kubectl_reading(manifest, &["apply", "-f", "-"]);
        assert_eq!(run.code, 0, "kubectl apply: {}{}", run.stdout, run.stderr);
        run.stdout
    }

    /// kubectl, about to be started.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(kubectl());
        command
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("the server said:\n{}", self.log());
        }
    }
}

/// A port that nobody listens on, from a range that the kernel does not give to outgoing connections.
pub fn free_port() -> u16 {
    let size = u64::from(PORTS.end - PORTS.start);
    loop {
        let offset = RandomState::new().hash_one(0) % size;
        let port = PORTS.start + u16::try_from(offset).expect("within the range");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The kubectl of the tests: what `cargo xtask test` says, else the one on `PATH`, else what `cargo xtask parts` fetched.
fn kubectl() -> PathBuf {
    if let Some(said) = std::env::var_os("EVENTIDE_KUBECTL") {
        return said.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join("kubectl")).find(|file| file.is_file());
    on_path.unwrap_or_else(|| part("EVENTIDE_KUBECTL", "kubectl-1.32/usr/bin/kubectl"))
}
