//! The first process of a PID namespace that the containers of a sandbox share: it waits for orphans and does nothing
//! else. Sandboxes whose containers have PID namespaces of their own need no process at all.

use std::io::Write as _;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::UnshareFlags;

use super::control::StartReport;
use super::{ShimError, Started, process};

/// Makes the namespace and its first process, tells its number on standard output, and leaves it alone.
pub fn run() -> ExitCode {
    let report = match begin() {
        Ok(pid) => StartReport::Started(Started { pid, started_at: process::now_nanos() }),
        Err(error) => StartReport::Failed { message: error.to_string() },
    };
    let line = serde_json::to_string(&report).unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{line}");
    match report {
        StartReport::Started(_) => ExitCode::SUCCESS,
        StartReport::Failed { .. } => ExitCode::FAILURE,
    }
}

fn begin() -> Result<i32, ShimError> {
    #[expect(unsafe_code, reason = "unshare can pull the ground from under other threads")]
    // SAFETY: there is one thread, and only its children enter the new namespace.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWPID) }
        .map_err(ShimError::set_up("make a PID namespace"))?;
    process::fork(wait_for_orphans).map_err(ShimError::io("start the first process"))
}

fn wait_for_orphans() -> i32 {
    process::let_go_of_stdout();
    let Ok(children) = process::child_signals() else { return 1 };
    loop {
        let mut ended = [PollFd::new(&children, PollFlags::IN)];
        let _ = poll(&mut ended, None);
        process::drain(&children);
        while process::reap().is_some() {}
    }
}
