//! The process that stands behind one container: it starts the container, owns its output, carries out its stop, and
//! writes down how it ended.
//!
//! It is the same program started once more, with one thread and no runtime of its own, so that it stays small and may
//! fork. It outlives the runtime that started it: whoever comes next finds it at its socket, and what happened meanwhile
//! in its files ([`files`]). Everything that is mounted for the container is mounted in the shim's own mount namespace
//! and is gone with it.

mod attach;
mod clients;
pub mod control;
mod execs;
pub mod files;
mod launch;
mod logs;
pub mod order;
pub mod pause;
mod process;
mod rootfs;
mod stopping;
mod supervise;
mod workload;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use thiserror::Error;

pub use files::{Exit, Started};
pub use order::Order;

use supervise::Supervisor;

/// Why a container did not start.
#[derive(Debug, Error)]
pub enum ShimError {
    #[error("the order cannot be read: {0}")]
    Order(String),
    #[error("cannot {what}: {reason}")]
    SetUp { what: &'static str, reason: String },
    /// In the words of whoever could not start it: a missing program, a mount that failed.
    #[error("{0}")]
    Start(String),
}

impl ShimError {
    pub(crate) fn set_up(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> ShimError {
        move |errno| ShimError::SetUp { what, reason: errno.to_string() }
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> ShimError {
        move |error| ShimError::SetUp { what, reason: error.to_string() }
    }
}

/// What a program that was started as a shim does: `DIRECTORY`, or `--pause`.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match (arguments.next(), arguments.next()) {
        (Some(only), None) if only == "--pause" => pause::run(),
        (Some(directory), None) => run(Path::new(&directory)),
        (_, _) => {
            eprintln!("a shim is started by the runtime, with the directory of its container");
            ExitCode::from(2)
        }
    }
}

/// Runs one container from its order to its end. What becomes of the start is told on standard output, as one line.
pub fn run(directory: &Path) -> ExitCode {
    let started = begin(directory);
    let told = match &started {
        Ok((started, _)) => control::StartReport::Started(*started),
        Err(error) => control::StartReport::Failed { message: error.to_string() },
    };
    // Nobody may be listening any more: the container runs all the same.
    let line = serde_json::to_string(&told).unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{line}");
    process::let_go_of_stdout();
    match started {
        Ok((_, supervisor)) => {
            supervisor.run();
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn begin(directory: &Path) -> Result<(Started, Supervisor), ShimError> {
    let order = Order::read(directory)?;
    process::become_reaper()?;
    // Asked for before anything is started, so that no end is missed.
    let children = process::child_signals()?;
    let listener = control::listen(directory)?;
    rootfs::mount(directory, &order)?;
    let launched = launch::start(directory, &order)?;
    let started = Started { pid: launched.pid, started_at: process::now_nanos() };
    files::write(directory, files::STARTED, &started).map_err(ShimError::io("write down the start"))?;
    let supervisor = Supervisor::new(directory, order, launched, listener, children)?;
    Ok((started, supervisor))
}
