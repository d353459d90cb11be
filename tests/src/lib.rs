//! What the end-to-end tests share: the real binary, run as a person would run it.

pub mod client;
pub mod etcd;
pub mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests live below the root").to_owned()
}

/// An example of the project, by file name.
pub fn example(name: &str) -> String {
    root().join("examples").join(name).display().to_string()
}

/// The binary under test: `EVENTIDE_BIN` if set, else built now.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| std::env::var_os("EVENTIDE_BIN").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--package", "eventide", "--bin", "eventide", "--message-format", "json"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "eventide does not build");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    messages.lines().rev().find_map(executable).expect("cargo names the executable")
}

/// A file of a part that tests run against: what the variable says, else what `cargo xtask parts` fetched.
pub fn part(variable: &str, fetched: &str) -> PathBuf {
    let said = std::env::var_os(variable).map(PathBuf::from);
    // Tests lie in `deps` of a profile of cargo's target directory.
    let test = std::env::current_exe().expect("this test is a file");
    let parts = test.ancestors().nth(3).map(|target| target.join("parts"));
    let found = said.or_else(|| Some(parts?.join(fetched))).filter(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{fetched} is missing: `cargo xtask parts` fetches it, or set {variable}"))
}

/// What a run left behind.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub(crate) fn of(output: &Output) -> Run {
        Run {
            code: output.status.code().expect("an exit code, not a signal"),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).expect("JSON on standard output")
    }
}

/// Runs `eventide` with these arguments and nothing on standard input.
pub fn eventide(arguments: &[&str]) -> Run {
    Run::of(&Command::new(binary()).args(arguments).stdin(Stdio::null()).output().expect("eventide runs"))
}

/// Runs `eventide` with these bytes on standard input.
pub fn eventide_reading(input: &[u8], arguments: &[&str]) -> Run {
    let mut child = Command::new(binary())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("eventide runs");
    // A refusal may come before everything was written; that is the point of some tests.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    Run::of(&child.wait_with_output().expect("eventide ends"))
}

/// Runs `eventide` in a shell that may use this much memory and no more.
pub fn eventide_within(kibibytes: u64, arguments: &[&str]) -> Run {
    let script = format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\"");
    let output = Command::new("sh").args(["-c", &script]).arg(binary()).args(arguments).output();
    Run::of(&output.expect("a shell runs"))
}
