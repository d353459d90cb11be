//! What may stand on the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::gates::FeatureGates;

use crate::commands::{apiserver, completions, explain};
#[cfg(target_os = "linux")]
use crate::commands::{image, runtime};

/// Runs pods and ends them well.
#[derive(Parser)]
#[command(name = "eventide", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command understands.
#[derive(Args)]
pub struct Global {
    /// How much to log to standard error
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Warn, value_name = "LEVEL")]
    pub log_level: LogLevel,
    /// In which form
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub log_format: LogFormat,
    /// Turn features off or on: A=true,B=false (all are on by default)
    #[arg(long, global = true, default_value = "", hide_default_value = true, value_name = "GATES")]
    pub feature_gates: FeatureGates,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Subcommand)]
pub enum Command {
    Explain(explain::Arguments),
    Apiserver(Box<apiserver::Arguments>),
    #[cfg(target_os = "linux")]
    Runtime(runtime::Arguments),
    #[cfg(target_os = "linux")]
    Image(image::Arguments),
    Completions(completions::Arguments),
}
