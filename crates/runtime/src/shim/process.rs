//! Processes as the kernel shows them: waiting for them, signalling them, and what they do about signals.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use model::signal::Signal;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus};

use super::ShimError;

/// What a process does about one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    Caught,
    Ignored,
    /// The kernel does what it does by default; for the first process of a PID namespace that is nothing.
    Default {
        first_of_namespace: bool,
    },
}

/// A process that cannot be confused with a later one of the same number.
#[derive(Debug)]
pub struct Process {
    pub pid: Pid,
    pidfd: OwnedFd,
}

impl Process {
    /// A child that has not been waited for, so its number is still its own.
    pub fn of_child(pid: i32) -> rustix::io::Result<Process> {
        let pid = Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH)?;
        Ok(Process { pid, pidfd: rustix::process::pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// Readable once the process has ended.
    pub fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Sends a signal of any number, real-time ones included. One to a process that has ended does nothing.
    #[expect(unsafe_code, reason = "no safe function sends real-time signals through a pidfd")]
    pub fn send(&self, number: i32) -> rustix::io::Result<()> {
        // SAFETY: the descriptor is open, and the call takes no memory of ours.
        let result = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.pidfd.as_raw_fd(),
                number,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
        match (result, std::io::Error::last_os_error().raw_os_error()) {
            (0, _) | (_, Some(libc::ESRCH)) => Ok(()),
            (_, errno) => Err(rustix::io::Errno::from_raw_os_error(errno.unwrap_or(libc::EINVAL))),
        }
    }

    /// What the process does about a signal now. One that cannot be asked has ended, and takes anything.
    pub fn handling(&self, signal: Signal) -> Handling {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid.as_raw_nonzero()));
        handling(&status.unwrap_or_default(), signal)
    }

    /// Whether a signal does anything to the process now.
    pub fn takes(&self, signal: Signal) -> bool {
        const UNSTOPPABLE: [i32; 2] = [libc::SIGKILL, libc::SIGSTOP];
        UNSTOPPABLE.contains(&i32::from(signal.linux_number()))
            || match self.handling(signal) {
                Handling::Caught | Handling::Default { first_of_namespace: false } => true,
                Handling::Ignored | Handling::Default { first_of_namespace: true } => false,
            }
    }
}

fn handling(status: &str, signal: Signal) -> Handling {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let mask = |name: &str| field(name).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or_default();
    let bit = 1 << (signal.linux_number() - 1);
    if mask("SigCgt") & bit != 0 {
        return Handling::Caught;
    }
    if mask("SigIgn") & bit != 0 {
        return Handling::Ignored;
    }
    // The number in each PID namespace, from the outermost to its own.
    let numbers: Vec<&str> = field("NSpid").unwrap_or_default().split_whitespace().collect();
    Handling::Default { first_of_namespace: numbers.len() > 1 && numbers.last() == Some(&"1") }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Returned(i32),
    Signalled(i32),
}

impl Ended {
    /// As shells count: the code, or 128 and the signal.
    pub const fn code(self) -> i32 {
        match self {
            Ended::Returned(code) => code,
            Ended::Signalled(signal) => 128 + signal,
        }
    }

    fn of(status: WaitStatus) -> Option<Ended> {
        let returned = status.exit_status().map(Ended::Returned);
        returned.or_else(|| status.terminating_signal().map(Ended::Signalled))
    }
}

/// The next child that has ended, if there is one.
pub fn reap() -> Option<(i32, Ended)> {
    loop {
        let (pid, status) = rustix::process::wait(WaitOptions::NOHANG).ok()??;
        if let Some(ended) = Ended::of(status) {
            return Some((pid.as_raw_nonzero().get(), ended));
        }
    }
}

/// Waits for one child.
pub fn wait_for(pid: i32) -> Option<Ended> {
    loop {
        match rustix::process::waitpid(Pid::from_raw(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ended::of(status),
            Err(rustix::io::Errno::INTR) | Ok(None) => {}
            Err(_) => return None,
        }
    }
}

/// Whoever loses its parent in the container becomes a child of the shim.
pub fn become_reaper() -> Result<(), ShimError> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(ShimError::set_up("adopt orphans"))
}

/// A descriptor that is readable when a child has ended.
#[expect(unsafe_code, reason = "signalfd has no safe function")]
pub fn child_signals() -> Result<OwnedFd, ShimError> {
    // SAFETY: the set is initialised by sigemptyset before it is read; the descriptor is new and ours alone.
    let descriptor = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        let raw = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if raw < 0 {
            return Err(ShimError::io("watch children")(std::io::Error::last_os_error()));
        }
        OwnedFd::from_raw_fd(raw)
    };
    Ok(descriptor)
}

/// Takes what a signal descriptor has to say, so that it becomes silent.
pub fn drain(signals: &OwnedFd) {
    let mut told = [0; 1024];
    while rustix::io::read(signals, &mut told).is_ok_and(|read| read > 0) {}
}

/// Undoes what the shim, and Rust before it, did to signals: called in a child before it becomes someone else.
#[expect(unsafe_code, reason = "signal masks and dispositions have no safe function")]
pub fn reset_signals() {
    // SAFETY: the set is initialised by sigemptyset before it is read; no handler of ours is taken away.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Runs `child` in a new process and returns its number.
#[expect(unsafe_code, reason = "fork has no safe function")]
pub fn fork(child: impl FnOnce() -> i32) -> std::io::Result<i32> {
    // SAFETY: the shim has one thread, so the child finds every lock free.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        0 => {
            let code = child();
            // SAFETY: ends the process without running what belongs to the parent.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Closes standard output, so that whoever waits for the report of the start sees its end.
pub fn let_go_of_stdout() {
    let Ok(null) = fs::OpenOptions::new().write(true).open("/dev/null") else { return };
    let _ = rustix::stdio::dup2_stdout(null.as_fd());
}

/// Nanoseconds since 1970.
pub fn now_nanos() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(caught: u64, ignored: u64, numbers: &str) -> String {
        format!("Name:\tx\nNSpid:\t{numbers}\nSigIgn:\t{ignored:016x}\nSigCgt:\t{caught:016x}\n")
    }

    #[test]
    fn what_a_process_does_about_a_signal_is_read_from_its_status() {
        let term = 1 << 14;
        let realtime = Signal::named("SIGRTMAX").unwrap();
        assert_eq!(handling(&status(term, 0, "7"), Signal::TERM), Handling::Caught);
        assert_eq!(handling(&status(1 << 63, 0, "7 1"), realtime), Handling::Caught);
        assert_eq!(handling(&status(0, term, "7 1"), Signal::TERM), Handling::Ignored);
        let default = |numbers| handling(&status(0, 0, numbers), Signal::TERM);
        assert_eq!(default("7"), Handling::Default { first_of_namespace: false });
        assert_eq!(default("7 1"), Handling::Default { first_of_namespace: true });
        assert_eq!(default("7 3"), Handling::Default { first_of_namespace: false });
        // A shim may itself be in a container; then its own PID namespace is not the outermost.
        assert_eq!(default("900 7 1"), Handling::Default { first_of_namespace: true });
    }

    #[test]
    fn codes_are_those_of_shells() {
        assert_eq!((Ended::Returned(3).code(), Ended::Signalled(9).code()), (3, 137));
    }
}
