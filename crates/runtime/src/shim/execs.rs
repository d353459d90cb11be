//! The processes that were run in a container beside its own.

use super::control::Answer;
use super::process::{Ended, Process};

/// More at the same time than this are refused.
pub const EXECS_MAX: usize = 256;

/// One process, and whom to tell of its end.
struct Exec {
    process: Process,
    /// The number of the connection that asked.
    asked_by: u64,
}

/// All of them.
#[derive(Default)]
pub struct Execs(Vec<Exec>);

impl Execs {
    pub fn is_full(&self) -> bool {
        self.0.len() >= EXECS_MAX
    }

    pub fn add(&mut self, process: Process, asked_by: u64) {
        self.0.push(Exec { process, asked_by });
    }

    /// Takes note of an end; returns whom to tell what, if it is one of them.
    pub fn ended(&mut self, pid: i32, ended: Ended) -> Option<(u64, Answer)> {
        let at = self.0.iter().position(|exec| exec.process.pid.as_raw_nonzero().get() == pid)?;
        let exec = self.0.swap_remove(at);
        Some((exec.asked_by, Answer::ExecExited { code: ended.code() }))
    }

    /// Kills one of them.
    pub fn kill(&self, pid: i32) -> Result<(), String> {
        let found = self.0.iter().find(|exec| exec.process.pid.as_raw_nonzero().get() == pid);
        let exec = found.ok_or_else(|| format!("no process {pid} was run in this container"))?;
        exec.process.send(libc::SIGKILL).map_err(|error| error.to_string())
    }
}
