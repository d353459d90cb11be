//! How a command fails, as far as its exit code tells.

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use thiserror::Error;

pub const RED: Style = AnsiColor::Red.on_default().bold();
pub const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// A failure with an exit code of its own.
#[derive(Debug, Error)]
pub enum Failure {
    /// What was given cannot be used: a manifest, a flag's value. One line per mistake.
    #[error("{0}")]
    Refused(String),
}

impl Failure {
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Refused(_) => ExitCode::from(2),
        }
    }
}

/// Whether whoever read our output has gone away, as `head` does: nothing is wrong then.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
