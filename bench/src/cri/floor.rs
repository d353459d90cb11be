//! The floor: how long the workload takes to end when it is a bare process that is signalled directly.
//!
//! What a runtime needs beyond that is its own.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cri::contract::images::BUSYBOX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// Exits at once on SIGTERM, and says when it is prepared for it. The same in containers and as the floor.
pub const WORKLOAD: &str = "trap 'exit 0' TERM; sleep 1000000 & echo ready; wait $!";
/// The line it says.
pub const READY: &str = "ready";
/// A process that takes longer than this does not react at all.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// From the signal to the moment at which the process is known to have ended.
pub fn signal_to_end() -> Result<Duration> {
    let mut bare = Bare::start()?;
    let process = pidfd_open(bare.pid()?, PidfdFlags::empty())?;
    let mut watched = [PollFd::new(&process, PollFlags::IN)];
    let began = Instant::now();
    pidfd_send_signal(&process, Signal::TERM)?;
    let ended = poll(&mut watched, Some(&PATIENCE))?;
    let took = began.elapsed();
    ensure!(ended == 1, "the bare process does not end on SIGTERM");
    ensure!(bare.0.wait()?.success(), "the bare process did not handle SIGTERM");
    Ok(took)
}

/// The workload without a container. It is gone with what it started when this is dropped.
struct Bare(Child);

impl Bare {
    fn start() -> Result<Bare> {
        let mut command = Command::new(BUSYBOX);
        command.args(["sh", "-c", WORKLOAD]).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        let spawned = command.spawn().with_context(|| format!("{BUSYBOX} does not start: install busybox-static"))?;
        let mut bare = Bare(spawned);
        let mut line = String::new();
        let output = bare.0.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line.trim_end() == READY, "the bare process said {line:?}");
        Ok(bare)
    }

    fn pid(&self) -> Result<Pid> {
        Pid::from_raw(i32::try_from(self.0.id())?).context("no process id")
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if let Ok(group) = self.pid() {
            // The shell has ended mostly; what it started has not.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_process_ends_on_its_signal() {
        assert!(signal_to_end().unwrap() < Duration::from_secs(60));
    }
}
