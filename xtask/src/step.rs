//! One step of a longer run: a heading, a command, how long it took.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// Runs one step under a heading and says how long it took. The first step that fails ends the run.
pub fn step<T>(heading: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("\n== {heading}");
    let start = Instant::now();
    let result = work().with_context(|| format!("{heading} failed"))?;
    eprintln!("== {heading}: ok in {:.1} s", start.elapsed().as_secs_f64());
    Ok(result)
}

/// A cargo command in the workspace, with nothing to read on its standard input.
pub fn cargo<S: AsRef<OsStr>>(root: &Path, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments).stdin(Stdio::null());
    command
}

/// Where cargo builds, which need not be in the workspace.
pub fn target_directory(root: &Path) -> Result<PathBuf> {
    let output = cargo(root, ["metadata", "--no-deps", "--format-version=1"]).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    metadata["target_directory"].as_str().map(PathBuf::from).context("cargo metadata names no target directory")
}

/// Runs a command to its end; an exit code other than 0 is an error that repeats the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

/// The command as one would type it.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
