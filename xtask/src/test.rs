//! `cargo xtask test`: everything that must hold, in one command that people and CI share.
//!
//! The cheap checks come first and the test runner last, so that the last line is the runner's own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::step::{cargo, run as run_command, step};
use crate::{apt, fuzz, parts, sim, tidy};

/// Tells the end-to-end tests which binary to run, so that none of them has to build it.
const BINARY: &str = "EVENTIDE_BIN";

pub fn run(root: &Path) -> Result<()> {
    step("prerequisites", apt::ensure)?;
    let parts = step("parts", || parts::ensure(root))?;
    step("formatting", || run_command(&mut cargo(root, ["fmt", "--all", "--", "--check"])))?;
    step("tidy", || tidy::run(root))?;
    step("clippy", || {
        let arguments = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        run_command(&mut cargo(root, arguments))
    })?;
    step("simulation", || sim::for_tests(root))?;
    step("fuzzing", || fuzz::for_tests(root))?;
    let binary = step("the binary", || build_binary(root))?;
    if apt::on_path("cargo-nextest") {
        if tidy::has_documentation_tests(root)? {
            // nextest does not know them.
            let arguments = ["test", "--quiet", "--workspace", "--doc"];
            step("documentation tests", || run_command(&mut cargo(root, arguments)))?;
        }
        eprintln!("\n== tests, with cargo-nextest");
        run_command(cargo(root, ["nextest", "run", "--workspace"]).env(BINARY, binary).envs(parts))
    } else {
        eprintln!("\n== tests, with cargo test (cargo-nextest is not installed)");
        run_command(cargo(root, ["test", "--workspace"]).env(BINARY, binary).envs(parts))
    }
}

/// Builds `eventide` and returns where it lies.
fn build_binary(root: &Path) -> Result<PathBuf> {
    let arguments = ["build", "--quiet", "--package", "eventide", "--message-format", "json"];
    let output = cargo(root, arguments).stderr(Stdio::inherit()).output().context("cargo does not run")?;
    ensure!(output.status.success(), "eventide does not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    messages.lines().rev().find_map(executable).context("cargo names no executable")
}
