//! `cargo xtask bench`: the micro-benchmarks, with the arguments as given.

use std::path::Path;

use anyhow::Result;

use crate::step;

pub fn run(root: &Path, arguments: &[String]) -> Result<()> {
    step::run(step::cargo(root, ["bench", "--package", "bench", "--"]).args(arguments))
}
