//! Project chores behind `cargo xtask`: parses the command line and calls the verb's module.

mod apt;
mod bench;
mod fuzz;
mod parts;
mod sim;
mod step;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = USAGE)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

/// What a newcomer wants to know.
const USAGE: &str = "\
Before a change is merged:  cargo xtask test
One crate, quickly:         cargo test -p store

Tests run against real programs (etcd 3.4 and 3.5, kubectl). `cargo xtask test` fetches them; for a plain
`cargo test`, run `cargo xtask parts` once. They are Debian packages, unpacked below cargo's target directory with
apt-get and dpkg: nothing is installed, and root is not needed. To use programs of your own, set EVENTIDE_ETCD_3_4,
EVENTIDE_ETCD_3_5 or EVENTIDE_KUBECTL to them; a kubectl on PATH is used before the fetched one.";

#[derive(Subcommand)]
enum Verb {
    /// Everything that must hold before a change is merged: formatting, lints, tidy, simulation, fuzzing, tests
    Test,
    /// Fetch the real programs that tests run against, and say where they are
    Parts,
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
        Verb::Parts => parts::run(&root),
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
