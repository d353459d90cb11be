//! `cargo xtask sim`: the simulator in release mode, with the arguments as given.

use std::path::Path;

use anyhow::Result;

use crate::step;

/// How many terminations a test run simulates.
const TERMINATIONS: &str = "200000";

pub fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let command = ["run", "--quiet", "--release", "--package", "sim", "--bin", "sim", "--"];
    step::run(step::cargo(root, command).args(arguments))
}

/// The simulation that is part of the tests: the dev profile optimizes what matters, checks more, and is built anyway.
pub fn for_tests(root: &Path) -> Result<()> {
    let command = ["run", "--quiet", "--package", "sim", "--bin", "sim", "--", "--terminations", TERMINATIONS];
    step::run(&mut step::cargo(root, command))
}
