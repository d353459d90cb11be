//! A real `eventide apiserver` in a directory of its own, and a real kubectl that talks to it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::{Run, binary, root};

/// A server that dies with the test.
pub struct Server {
    directory: TempDir,
    arguments: Vec<String>,
    process: Option<Child>,
    log: Log,
    /// `127.0.0.1:PORT`
    pub address: String,
}

/// Where a server's standard error goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    Shown,
    /// To a file in the directory, for [`Server::log`].
    Kept,
}

impl Server {
    /// A server on an empty directory, ready to answer.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// The same with further arguments.
    pub fn start_with(arguments: &[&str]) -> Server {
        Server::new(arguments, Log::Shown)
    }

    /// The same, keeping what it logs.
    pub fn start_logged(arguments: &[&str]) -> Server {
        Server::new(arguments, Log::Kept)
    }

    fn new(arguments: &[&str], log: Log) -> Server {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let mut server = Server { directory, arguments, process: None, log, address: "127.0.0.1:0".to_owned() };
        server.run();
        server
    }

    /// Starts the process again where it was, on the same port.
    pub fn run(&mut self) {
        assert!(self.process.is_none(), "the server runs already");
        let log = match self.log {
            Log::Shown => Stdio::inherit(),
            Log::Kept => std::fs::File::create(self.log_file()).expect("a file for the log").into(),
        };
        let mut process = Command::new(binary())
            .args(["apiserver", "--listen", &self.address, "--data-dir"])
            .arg(self.directory.path())
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("eventide runs");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let first = lines.find_map(|line| line.split_once("https://").map(|(_, address)| address.to_owned()));
        self.process = Some(process);
        self.address = first.expect("the server says where it listens");
    }

    /// SIGKILL: nothing is flushed, nobody is told.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the server runs");
        process.kill().expect("it can be killed");
        process.wait().expect("it ends");
    }

    /// SIGTERM, and waits until the process is gone; its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let mut process = self.process.take().expect("the server runs");
        let stopped = Command::new("kill").arg(process.id().to_string()).status().expect("kill runs");
        assert!(stopped.success());
        process.wait().expect("it ends").code()
    }

    /// What a server that keeps its log has logged since it was run.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).expect("the log is kept")
    }

    fn log_file(&self) -> PathBuf {
        self.directory.path().join("log")
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
    }
}

/// The kubectl of the tests: what `cargo xtask test` says, else the one on `PATH`, else what `cargo xtask parts` fetched.
fn kubectl() -> PathBuf {
    if let Some(said) = std::env::var_os("EVENTIDE_KUBECTL") {
        return said.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join("kubectl")).find(|file| file.is_file());
    let fetched = root().join("target/parts/kubectl-1.32/usr/bin/kubectl");
    on_path.or_else(|| fetched.is_file().then_some(fetched)).expect("kubectl: `cargo xtask parts` fetches it")
}
