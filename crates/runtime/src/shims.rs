//! The runtime's side of its shims: starting one, asking one, and knowing whether one lives.
//!
//! A shim holds a lock on a file in its container's directory for as long as it lives. The runtime takes the lock before
//! it starts the shim and hands it over, so there is no moment in which a shim lives and the lock is free.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::FlockOperation;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::process::Command;

use crate::shim::control::{self, Answer, LINE_BYTES_MAX, Question, StartReport};
use crate::shim::{Started, files};

const LOCK: &str = "shim.lock";
/// A start that takes longer is given up; mounts on slow disks take their time.
const START_WITHIN: Duration = Duration::from_secs(120);
/// How long a shim may take to end after its container has.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// How often a lock that is held is tried.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// How this program is started as a shim.
#[derive(Clone, Debug)]
pub struct ShimProgram {
    pub program: PathBuf,
    /// What stands before the directory.
    pub arguments: Vec<OsString>,
    /// What makes it the first process of a shared PID namespace instead.
    pub pause: Vec<OsString>,
}

impl ShimProgram {
    /// This very program, started once more.
    pub fn this() -> ShimProgram {
        ShimProgram {
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec!["shim".into()],
            pause: vec!["shim".into(), "--pause".into()],
        }
    }
}

/// Why a shim could not be started or asked.
#[derive(Debug, Error)]
pub enum ShimsError {
    /// In the shim's own words.
    #[error("{0}")]
    NotStarted(String),
    #[error("the container's shim is not there")]
    Gone,
    #[error("{0}")]
    Refused(String),
    #[error("the container's shim cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("the container did not start within {} s", START_WITHIN.as_secs())]
    TooSlow,
}

/// Starts the shim of the container in this directory, and the container.
pub async fn start(shim: &ShimProgram, directory: &Path) -> Result<Started, ShimsError> {
    let lock = lock(directory)?.ok_or_else(|| ShimsError::NotStarted("a shim is there already".to_owned()))?;
    let log = OpenOptions::new().create(true).append(true).open(directory.join(files::LOG))?;
    let mut command = Command::new(&shim.program);
    command.args(&shim.arguments).arg(directory).stdin(lock).stderr(log);
    report(command).await
}

/// Starts the first process of a shared PID namespace; its lock is in this directory.
pub async fn start_pause(shim: &ShimProgram, directory: &Path) -> Result<Started, ShimsError> {
    let lock = lock(directory)?.ok_or_else(|| ShimsError::NotStarted("a process is there already".to_owned()))?;
    let mut command = Command::new(&shim.program);
    command.args(&shim.pause).stdin(lock).stderr(Stdio::null());
    report(command).await
}

async fn report(mut command: Command) -> Result<Started, ShimsError> {
    // A group of its own: what is typed at the runtime's terminal is not meant for it.
    command.process_group(0).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or(ShimsError::Gone)?;
    let mut line = String::new();
    let read = tokio::time::timeout(START_WITHIN, BufReader::new(output).read_line(&mut line)).await;
    if read.is_err() {
        let _ = child.start_kill();
        return Err(ShimsError::TooSlow);
    }
    match serde_json::from_str(&line) {
        Ok(StartReport::Started(started)) => Ok(started),
        Ok(StartReport::Failed { message }) => {
            let _ = child.wait().await;
            Err(ShimsError::NotStarted(message))
        }
        Err(_) => Err(ShimsError::NotStarted("the shim ended before the container ran".to_owned())),
    }
}

/// Whether a shim lives in this directory.
pub fn is_alive(directory: &Path) -> bool {
    !matches!(lock(directory), Ok(Some(_)))
}

/// Waits until no shim lives in this directory.
pub async fn gone(directory: &Path) -> Result<(), ShimsError> {
    let mut ticks = tokio::time::interval(TRY_AGAIN_AFTER);
    let waited = async {
        while is_alive(directory) {
            ticks.tick().await;
        }
    };
    let late = |_| ShimsError::Refused("the container has ended but its shim has not".to_owned());
    tokio::time::timeout(GONE_WITHIN, waited).await.map_err(late)
}

/// The lock of a directory, unless somebody holds it.
fn lock(directory: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(directory.join(LOCK))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A question that was asked.
pub struct Connection {
    stream: UnixStream,
    arrived: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Connection {
    /// Asks the shim in this directory.
    pub fn ask(directory: &Path, question: &Question, along: &[BorrowedFd<'_>]) -> Result<Connection, ShimsError> {
        let opened = File::open(directory)?;
        let stream = match std::os::unix::net::UnixStream::connect(control::socket_path(opened.as_fd())) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Err(ShimsError::Gone);
            }
            Err(error) => return Err(error.into()),
        };
        let mut line = serde_json::to_vec(question).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut sent = control::send(&stream, &line, along)?;
        while sent < line.len() {
            sent += control::send(&stream, &line[sent..], &[])?;
        }
        stream.set_nonblocking(true)?;
        Ok(Connection { stream: UnixStream::from_std(stream)?, arrived: Vec::new(), descriptors: Vec::new() })
    }

    /// The next answer. The end of the connection means that the shim is gone.
    pub async fn answer(&mut self) -> Result<Answer, ShimsError> {
        loop {
            if let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=end).collect();
                let answer = serde_json::from_slice(&line).map_err(io::Error::other)?;
                return match answer {
                    Answer::Refused { message } => Err(ShimsError::Refused(message)),
                    answer => Ok(answer),
                };
            }
            if self.arrived.len() > LINE_BYTES_MAX {
                return Err(io::Error::other("an answer that is too long").into());
            }
            if self.receive().await? == 0 {
                return Err(ShimsError::Gone);
            }
        }
    }

    /// The descriptors that came along so far.
    pub fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.descriptors)
    }

    /// The connection itself, for what follows an `attach`, and what has arrived of it already.
    pub fn into_parts(self) -> (UnixStream, Vec<u8>) {
        (self.stream, self.arrived)
    }

    async fn receive(&mut self) -> io::Result<usize> {
        let (stream, descriptors) = (&self.stream, &mut self.descriptors);
        let mut buffer = [0; 4096];
        let read = stream.async_io(Interest::READABLE, || control::receive(stream, &mut buffer, descriptors)).await;
        match read {
            Ok(read) => {
                self.arrived.extend_from_slice(&buffer[..read]);
                Ok(read)
            }
            // A shim that was killed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Asks what has one answer.
pub async fn ask(directory: &Path, question: &Question) -> Result<Answer, ShimsError> {
    Connection::ask(directory, question, &[])?.answer().await
}
