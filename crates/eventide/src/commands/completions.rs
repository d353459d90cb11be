//! `eventide completions`: a shell's completion script.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;

/// Print a completion script for a shell
///
/// Example: eventide completions bash > /etc/bash_completion.d/eventide
#[derive(Args)]
pub struct Arguments {
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the script.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "eventide", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
