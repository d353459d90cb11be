//! The `eventide` binary: parses the command line, runs one command, turns errors into text and exit codes.

mod cli;
mod commands;
mod data_dir;
mod failure;
mod logging;
mod manifest_file;
mod stop;
mod traces;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    {
        let mut arguments = std::env::args_os().skip(1);
        // Before anything else: a shim stays as small as it can.
        if arguments.next().is_some_and(|command| command == "shim") {
            return runtime::shim::main(arguments);
        }
    }
    let cli = Cli::parse();
    let outcome = match &cli.command {
        // Starts its log itself: traces may go along with it, and they need a runtime.
        Command::Apiserver(arguments) => commands::apiserver::run(arguments, &cli.global),
        Command::Explain(arguments) => {
            logging::start(&cli.global, None);
            commands::explain::run(arguments, &cli.global)
        }
        #[cfg(target_os = "linux")]
        Command::Runtime(arguments) => commands::runtime::run(arguments, &cli.global),
        #[cfg(target_os = "linux")]
        Command::Image(arguments) => {
            logging::start(&cli.global, None);
            commands::image::run(arguments)
        }
        Command::Completions(arguments) => {
            logging::start(&cli.global, None);
            commands::completions::run(arguments)
        }
    };
    match outcome {
        Ok(code) => code,
        Err(error) => report(&error),
    }
}

/// Says what was wrong, one line per mistake.
fn report(error: &anyhow::Error) -> ExitCode {
    if failure::is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    for line in format!("{error:#}").lines() {
        anstream::eprintln!("{}error:{} {line}", failure::RED.render(), failure::RED.render_reset());
    }
    match error.downcast_ref::<Failure>() {
        Some(failure) => failure.exit_code(),
        None => ExitCode::FAILURE,
    }
}
