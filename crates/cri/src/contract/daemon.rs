//! A runtime's daemon in a directory of its own, which leaves nothing behind: neither helpers that outlive it on purpose,
//! nor mounts, nor the directory. Cgroups are not its business.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

use crate::{Client, ConnectError};

/// A daemon starts within this, also on a loaded machine.
const START_WITHIN: Duration = Duration::from_secs(60);
/// A daemon that was asked to end has this long until it is killed, and what was killed until it is gone.
const END_WITHIN: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };
/// How often helpers are looked for: what one was about to start is found the next time.
const SWEEPS_MAX: usize = 10;

/// Why a daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("{program} does not start: {error}; is it installed?")]
    Program { program: String, error: io::Error },
    #[error("the daemon cannot be prepared: {0}")]
    Unprepared(#[from] io::Error),
    #[error("{error}; the daemon said:\n{said}")]
    Silent { error: ConnectError, said: String },
    #[error("the images cannot be loaded: {told}")]
    Images { told: String },
}

pub struct PrivateDaemon {
    directory: TempDir,
    process: Child,
}

impl PrivateDaemon {
    /// Starts a daemon that keeps everything in this directory and listens there.
    pub fn start(directory: TempDir, mut command: Command) -> Result<PrivateDaemon, DaemonError> {
        let output = File::create(log(directory.path()))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        // What is typed at this terminal is not meant for it: it ends when it is dropped.
        let spawned = command.process_group(0).spawn();
        let process = spawned.map_err(|error| not_started(&command, error))?;
        Ok(PrivateDaemon { directory, process })
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The path of the socket in a daemon's directory.
    pub fn socket_in(directory: &Path) -> PathBuf {
        directory.join("cri.sock")
    }

    pub fn socket(&self) -> PathBuf {
        PrivateDaemon::socket_in(self.directory())
    }

    /// A client, once the daemon listens.
    pub async fn client(&self) -> Result<Client, DaemonError> {
        let address = format!("unix://{}", self.socket().display());
        let connected = Client::connect_within(&address, START_WITHIN).await;
        connected.map_err(|error| DaemonError::Silent { error, said: self.output() })
    }

    /// What the daemon wrote, to explain a failure.
    pub fn output(&self) -> String {
        fs::read_to_string(log(self.directory())).unwrap_or_default()
    }

    fn end_process(&mut self) {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        if let Some(process) = pid.and_then(|pid| kill(pid, Signal::TERM)) {
            wait_for_end(&process);
        }
        // It has ended by itself, or takes too long.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for PrivateDaemon {
    fn drop(&mut self) {
        self.end_process();
        // Helpers outlive their daemon on purpose.
        for _ in 0..SWEEPS_MAX {
            if !kill_helpers(self.directory()) {
                break;
            }
        }
        unmount_below(self.directory());
    }
}

/// Runs a command that must succeed; what it says is why it did not.
pub fn run(mut command: Command) -> Result<(), DaemonError> {
    let ended = command.stdin(Stdio::null()).output().map_err(|error| not_started(&command, error))?;
    let told = format!("{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
    if ended.status.success() { Ok(()) } else { Err(DaemonError::Images { told }) }
}

fn not_started(command: &Command, error: io::Error) -> DaemonError {
    DaemonError::Program { program: command.get_program().to_string_lossy().into_owned(), error }
}

fn log(directory: &Path) -> PathBuf {
    directory.join("daemon.log")
}

fn wait_for_end(process: &OwnedFd) {
    let mut watched = [PollFd::new(process, PollFlags::IN)];
    // A wait that fails is one that takes no time; the kill follows.
    let _ = poll(&mut watched, Some(&END_WITHIN));
}

/// Kills the processes whose command line names a directory, and waits for their ends; answers whether there were any.
fn kill_helpers(directory: &Path) -> bool {
    let named = directory.as_os_str().as_encoded_bytes();
    let mut killed = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if command.windows(named.len()).any(|part| part == named) {
            let number = process.file_name().to_str().and_then(|name| name.parse().ok());
            killed.extend(number.and_then(Pid::from_raw).and_then(|pid| kill(pid, Signal::KILL)));
        }
    }
    killed.iter().for_each(wait_for_end);
    !killed.is_empty()
}

/// Signals a process; none if it has ended by itself.
fn kill(pid: Pid, signal: Signal) -> Option<OwnedFd> {
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    pidfd_send_signal(&process, signal).ok()?;
    Some(process)
}

/// Unmounts everything below a directory, the innermost first.
fn unmount_below(directory: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let targets = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(Path::new);
    let ours: Vec<&Path> = targets.filter(|target| target.starts_with(directory)).collect();
    for target in ours.iter().rev() {
        // What cannot be unmounted is told by the removal of the directory.
        let _ = unmount(*target, UnmountFlags::DETACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(pid: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
    }

    #[test]
    fn a_daemon_takes_its_helpers_and_its_directory_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let mut helper = Command::new("sh")
            .args(["-c", "echo up; read forever"])
            .arg(path.join("helper"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 3];
        io::Read::read_exact(helper.stdout.as_mut().unwrap(), &mut first).unwrap();
        let mut command = Command::new("sleep");
        command.arg("infinity");
        let daemon = PrivateDaemon::start(directory, command).unwrap();
        let pid = daemon.pid();
        assert!(running(pid) && path.exists());
        drop(daemon);
        assert!(!running(pid) && !path.exists());
        assert!(!helper.wait().unwrap().success());
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let started = PrivateDaemon::start(tempfile::tempdir().unwrap(), Command::new("no-such-daemon"));
        let told = started.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told.starts_with("no-such-daemon does not start: "), "{told}");
    }

    #[test]
    fn the_images_of_a_command_that_fails_are_not_loaded_and_it_says_why() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo full >&2; exit 1"]);
        assert!(matches!(run(command), Err(DaemonError::Images { told }) if told == "exit status: 1: full\n"));
    }
}
