//! `eventide image`: images on this machine, without a cluster.
//!
//! Each verb works on the directory of the images itself, or through the runtime that has it open.

mod load;
mod ls;
mod progress;
mod pull;
mod rm;
mod source;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};

/// Load, pull, list and remove images
///
/// Images are kept below the data directory. While a runtime has them open, pull, ls and rm go through it: name its
/// socket with --runtime-endpoint.
///
/// Examples:
///
///   eventide image load app.tar
///
///   eventide image pull registry.example/team/app:1.2
///
///   eventide image ls -o json
///
///   eventide image rm registry.example/team/app:1.2
#[derive(Args)]
#[command(verbatim_doc_comment, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Load(load::Arguments),
    Pull(pull::Arguments),
    Ls(ls::Arguments),
    Rm(rm::Arguments),
}

/// Does what the verb says.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    match &arguments.verb {
        Verb::Load(arguments) => load::run(arguments)?,
        Verb::Pull(arguments) => threads.block_on(pull::run(arguments))?,
        Verb::Ls(arguments) => threads.block_on(ls::run(arguments))?,
        Verb::Rm(arguments) => threads.block_on(rm::run(arguments))?,
    }
    Ok(ExitCode::SUCCESS)
}
