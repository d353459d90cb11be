//! A Python that has the official Kubernetes client library, in an environment of its own.
//!
//! The environment is made without a pip inside, and the machine's pip fills it: so the package that Debian splits off
//! for complete environments is not needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::Found;
use crate::step;

const NAME: &str = "python-kubernetes-37.0";
const LIBRARY: &str = "kubernetes==37.0.2";
const PROGRAM: &str = "bin/python";
const VARIABLE: &str = "EVENTIDE_PYTHON";

/// Makes sure that it is there. Quick when it is.
pub fn ensure(directory: &Path) -> Result<Found> {
    let given = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|program| program.is_file());
    if let Some(program) = given {
        return Ok((VARIABLE, program));
    }
    let place = directory.join(NAME);
    let program = place.join(PROGRAM);
    if !program.is_file() {
        eprintln!("fetching {LIBRARY} for Python");
        make(&place).with_context(|| {
            format!("{LIBRARY} is missing: set {VARIABLE} to a Python that has it, or install python3 and pip3")
        })?;
    }
    Ok((VARIABLE, program))
}

/// Fills the environment beside its final place and renames it, so that it is there as a whole or not at all.
fn make(place: &Path) -> Result<()> {
    let unfinished = place.with_extension(std::process::id().to_string());
    let result = fill(&unfinished).and_then(|()| {
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        fs::rename(&unfinished, place).with_context(|| format!("cannot make {}", place.display()))
    });
    fs::remove_dir_all(&unfinished).ok();
    result
}

fn fill(environment: &Path) -> Result<()> {
    step::run(python("python3").args(["-m", "venv", "--without-pip"]).arg(environment))?;
    let program = environment.join(PROGRAM);
    let pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--python"];
    step::run(python("python3").args(pip).arg(&program).args(["install", "--no-input", LIBRARY]))?;
    let found = python(&program).args(["-c", "import kubernetes"]).status().context("the new Python does not run")?;
    ensure!(found.success(), "the new Python does not find the library");
    Ok(())
}

fn python(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    // What goes to standard output is for programs that ask where the parts are.
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    command
}
