//! `cargo xtask test`: everything that must hold, in one command that people and CI share.
//!
//! The cheap checks come first and the test runner last, so that the last line is the runner's own.

use std::path::Path;

use anyhow::Result;

use crate::step::{cargo, run as run_command, step};
use crate::{apt, fuzz, sim, tidy};

pub fn run(root: &Path) -> Result<()> {
    step("prerequisites", apt::ensure)?;
    step("formatting", || run_command(&mut cargo(root, ["fmt", "--all", "--", "--check"])))?;
    step("tidy", || tidy::run(root))?;
    step("clippy", || {
        let arguments = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        run_command(&mut cargo(root, arguments))
    })?;
    step("simulation", || sim::for_tests(root))?;
    step("fuzzing", || fuzz::for_tests(root))?;
    if apt::on_path("cargo-nextest") {
        if tidy::has_documentation_tests(root)? {
            // nextest does not know them.
            let arguments = ["test", "--quiet", "--workspace", "--doc"];
            step("documentation tests", || run_command(&mut cargo(root, arguments)))?;
        }
        eprintln!("\n== tests, with cargo-nextest");
        run_command(&mut cargo(root, ["nextest", "run", "--workspace"]))
    } else {
        eprintln!("\n== tests, with cargo test (cargo-nextest is not installed)");
        run_command(&mut cargo(root, ["test", "--workspace"]))
    }
}
