//! `cargo xtask fuzz`: libFuzzer on the stable compiler.
//!
//! The coverage instrumentation is asked of LLVM directly; an explicit target keeps it out of build scripts, and a
//! target directory of its own keeps it out of ordinary builds. What a run learns is kept in `fuzz/corpus-grown`, what
//! it breaks in `fuzz/artifacts`; the seeds in `fuzz/seeds` are never written.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::step;

/// What makes libFuzzer see where an input leads.
const INSTRUMENTATION: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];
const MEMORY_LIMIT_MB: u32 = 1024;
const INPUT_LIMIT_BYTES: u32 = 16 * 1024;
const HANG_LIMIT_SECONDS: u32 = 10;
const SECONDS_IN_TESTS: u32 = 4;

#[derive(clap::Args)]
pub struct Arguments {
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Run one input, as a crash says, and do not look for others
    #[arg(long, value_name = "FILE", requires = "target")]
    replay: Option<PathBuf>,
    /// One target; all of them if not given
    target: Option<String>,
}

pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let known = targets(root)?;
    let chosen = match &arguments.target {
        None => known,
        Some(name) if known.contains(name) => vec![name.clone()],
        Some(name) => bail!("no fuzz target {name:?}; there are: {}", known.join(", ")),
    };
    let binaries = build(root)?;
    for target in &chosen {
        let mut command = Command::new(binaries.join(target));
        match &arguments.replay {
            Some(input) => step::run(command.arg(input))?,
            None => fuzz(root, target, &mut command, arguments.seconds)?,
        }
    }
    Ok(())
}

/// The short run that is part of the tests.
pub fn for_tests(root: &Path) -> Result<()> {
    run(root, &Arguments { seconds: SECONDS_IN_TESTS, replay: None, target: None })
}

/// The targets are the binaries of the package.
fn targets(root: &Path) -> Result<Vec<String>> {
    let directory = root.join("fuzz/src/bin");
    let entries = std::fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds all targets and returns the directory they are in.
fn build(root: &Path) -> Result<PathBuf> {
    let host = host(root)?;
    let directory = step::target_directory(root)?.join("fuzz");
    let mut command = step::cargo(root, ["build", "--quiet", "--profile", "fuzz", "--package", "fuzz", "--bins"]);
    command.args(["--features", "libfuzzer", "--target", &host, "--target-dir"]).arg(&directory);
    command.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", INSTRUMENTATION.join(" "));
    step::run(&mut command)?;
    Ok(directory.join(host).join("fuzz"))
}

fn host(root: &Path) -> Result<String> {
    let output = Command::new("rustc").arg("-vV").current_dir(root).output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

fn fuzz(root: &Path, target: &str, command: &mut Command, seconds: u32) -> Result<()> {
    let artifacts = root.join("fuzz/artifacts").join(target);
    let grown = root.join("fuzz/corpus-grown").join(target);
    for directory in [&artifacts, &grown] {
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    eprintln!("-- {target} for {seconds} s");
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY_LIMIT_MB}"))
        .arg(format!("-max_len={INPUT_LIMIT_BYTES}"))
        .arg(format!("-timeout={HANG_LIMIT_SECONDS}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        .args([&grown, &root.join("fuzz/seeds").join(target)]);
    let output = command.output().with_context(|| format!("cannot start {}", step::line(command)))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let Some((before, after)) = coverage(&log) else {
            bail!("libFuzzer saw no coverage of {target}: the build is not instrumented");
        };
        eprintln!("   {}, coverage {before} from seeds, {after} at the end", summary(&log));
        return Ok(());
    }
    eprintln!("{log}");
    let crash = log.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, file)| file.trim());
    match crash {
        Some(file) => bail!("{target} was broken; replay with: cargo xtask fuzz {target} --replay {file}"),
        None => bail!("{target} ended with {}", output.status),
    }
}

/// Edges reached by the corpus that the run started with, and at its end.
fn coverage(log: &str) -> Option<(u32, u32)> {
    let mut reached = log.lines().filter_map(|line| line.split_once(" cov: ")?.1.split(' ').next()?.parse().ok());
    let first = reached.next().filter(|edges| *edges > 0)?;
    Some((first, reached.next_back().unwrap_or(first)))
}

/// The figures libFuzzer ends with, in one line.
fn summary(log: &str) -> String {
    let figure = |name: &str| {
        let line = log.lines().find_map(|line| line.strip_prefix("stat::").filter(|rest| rest.starts_with(name)));
        line.and_then(|line| line.split_whitespace().last()).unwrap_or("?").to_owned()
    };
    format!(
        "{} runs, {} per second, {} inputs found new paths, {} MB at most",
        figure("number_of_executed_units"),
        figure("average_exec_per_sec"),
        figure("new_units_added"),
        figure("peak_rss_mb"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_figures_become_one_line() {
        let log = "noise\nstat::number_of_executed_units: 12\nstat::average_exec_per_sec:     3\n\
                   stat::new_units_added:          4\nstat::slowest_unit_time_sec:    0\nstat::peak_rss_mb: 56\n";
        assert_eq!(summary(log), "12 runs, 3 per second, 4 inputs found new paths, 56 MB at most");
    }

    #[test]
    fn a_build_without_instrumentation_is_noticed() {
        let log = "#7\tINITED cov: 3898 ft: 6052\n#9\tNEW    cov: 3899 ft: 6053\n#12\tDONE   cov: 4000 ft: 1\n";
        assert_eq!(coverage(log), Some((3898, 4000)));
        assert_eq!(coverage("#2\tINITED cov: 0 ft: 0\n"), None);
        assert_eq!(coverage("#2\tINITED exec/s: 0 rss: 20Mb\n"), None);
    }
}
