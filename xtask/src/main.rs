//! Project chores behind `cargo xtask`: parses the command line and calls the verb's module.

mod apt;
mod bench;
mod fuzz;
mod sim;
mod step;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Everything that must hold before a change is merged: formatting, lints, tidy, simulation, fuzzing, tests
    Test,
    /// The house rules that are programs: file and function lengths, layers, links, promises
    Tidy,
    /// The simulator in release mode: `cargo xtask sim --seed 7`, `cargo xtask sim --terminations 200000`
    Sim {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Coverage-guided fuzzing of one target or of all
    Fuzz(fuzz::Arguments),
    /// The micro-benchmarks
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let root = root();
    let result = match Arguments::parse().verb {
        Verb::Test => test::run(&root),
        Verb::Tidy => tidy::run(&root),
        Verb::Sim { arguments } => sim::run(&root, &arguments),
        Verb::Fuzz(arguments) => fuzz::run(&root, &arguments),
        Verb::Bench { arguments } => bench::run(&root, &arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a directory of the workspace").to_owned()
}
