//! Running one more process in a container.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use super::{Engine, EngineError};
use crate::container::{Container, State};
use crate::shim::control::{Answer, Question, Streams};
use crate::shim::{Order, files};
use crate::shims::{self, Connection};
use crate::spec;

/// What is kept of each stream of a command: both together fit into one message.
pub const EXEC_OUTPUT_BYTES_MAX: usize = 8 * 1024 * 1024 - 64 * 1024;
/// After its end, a command's output is read for this long: something it left running may hold it open.
const DRAIN_WITHIN: Duration = Duration::from_millis(500);

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Executed {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: i32,
}

/// A command that runs.
pub struct Running {
    pub pid: i32,
    /// Its terminal, if it has one.
    pub terminal: Option<OwnedFd>,
    connection: Connection,
}

impl Running {
    /// Its exit code.
    pub async fn ended(&mut self) -> Result<i32, EngineError> {
        match self.connection.answer().await? {
            Answer::ExecExited { code } => Ok(code),
            answer => Err(EngineError::Internal(format!("a shim answered {answer:?} to an exec"))),
        }
    }
}

impl Engine {
    /// The container of this id, if it runs.
    pub fn running(&self, id: &str) -> Result<Arc<Container>, EngineError> {
        let container = self.containers.find(id)?;
        match container.state() {
            State::Running(_) => Ok(container),
            State::Created | State::Exited { .. } => {
                let state = container.state().of_cri().as_str_name();
                Err(EngineError::FailedPrecondition(format!("container {id:?} is not running: its state is {state}")))
            }
        }
    }

    /// Starts a command with these streams, in the order of their numbers.
    pub async fn exec(
        &self,
        container: &Container,
        command: &[String],
        terminal: spec::Terminal,
        along: &[(BorrowedFd<'_>, Stream)],
    ) -> Result<Running, EngineError> {
        if command.is_empty() {
            return Err(EngineError::InvalidArgument("no command is given".to_owned()));
        }
        let order: Option<Order> =
            files::read(&container.directory, files::ORDER).map_err(EngineError::io("read the container"))?;
        let order = order.ok_or_else(|| EngineError::Internal("the container's order is missing".to_owned()))?;
        let process = Box::new(spec::exec_process(&order.spec, command, terminal)?);
        let streams = Streams {
            stdin: along.iter().any(|(_, stream)| *stream == Stream::Stdin),
            stdout: along.iter().any(|(_, stream)| *stream == Stream::Stdout),
            stderr: along.iter().any(|(_, stream)| *stream == Stream::Stderr),
        };
        let descriptors: Vec<BorrowedFd<'_>> = along.iter().map(|(descriptor, _)| *descriptor).collect();
        let question = Question::Exec { process, streams };
        let mut connection = Connection::ask(&container.directory, &question, &descriptors)?;
        match connection.answer().await? {
            Answer::ExecStarted { pid } => {
                let terminal = connection.take_descriptors().into_iter().next();
                Ok(Running { pid, terminal, connection })
            }
            answer => Err(EngineError::Internal(format!("a shim answered {answer:?} to an exec"))),
        }
    }

    /// Kills a command.
    pub async fn kill_exec(&self, container: &Container, pid: i32) -> Result<(), EngineError> {
        shims::ask(&container.directory, &Question::KillExec { pid }).await?;
        Ok(())
    }

    /// Runs a command to its end; one that takes longer than `timeout` is killed.
    pub async fn exec_sync(
        &self,
        id: &str,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<Executed, EngineError> {
        let container = self.running(id)?;
        let (stdout, stdout_write) = pipe()?;
        let (stderr, stderr_write) = pipe()?;
        let along = [(stdout_write.as_fd(), Stream::Stdout), (stderr_write.as_fd(), Stream::Stderr)];
        let mut running = self.exec(&container, command, spec::Terminal::None, &along).await?;
        drop((stdout_write, stderr_write));
        let finished = async {
            let (mut stdout_said, mut stderr_said) = (Vec::new(), Vec::new());
            let code = {
                let reading = async {
                    tokio::join!(read_bounded(stdout, &mut stdout_said), read_bounded(stderr, &mut stderr_said))
                };
                tokio::pin!(reading);
                tokio::select! {
                    _ = &mut reading => running.ended().await?,
                    code = running.ended() => {
                        let code = code?;
                        let _ = tokio::time::timeout(DRAIN_WITHIN, reading).await;
                        code
                    }
                }
            };
            said(code, stdout_said, stderr_said)
        };
        let Some(timeout) = timeout else { return finished.await };
        match tokio::time::timeout(timeout, finished).await {
            Ok(executed) => executed,
            Err(_) => {
                self.kill_exec(&container, running.pid).await?;
                let seconds = timeout.as_secs_f64();
                Err(EngineError::DeadlineExceeded(format!("command timed out: it took longer than {seconds} s")))
            }
        }
    }
}

/// Which of a command's streams a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdin,
    Stdout,
    Stderr,
}

fn said(code: i32, stdout: Vec<u8>, stderr: Vec<u8>) -> Result<Executed, EngineError> {
    if stdout.len() > EXEC_OUTPUT_BYTES_MAX || stderr.len() > EXEC_OUTPUT_BYTES_MAX {
        let why = format!("the command said more than {EXEC_OUTPUT_BYTES_MAX} bytes");
        return Err(EngineError::ResourceExhausted(why));
    }
    Ok(Executed { stdout, stderr, code })
}

/// Reads to the end; keeps a little more than the limit so that it can be seen, and throws the rest away.
async fn read_bounded(mut pipe: Receiver, kept: &mut Vec<u8>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read) = pipe.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        let room = (EXEC_OUTPUT_BYTES_MAX + 1).saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
}

/// A pipe that is read here and written there.
fn pipe() -> Result<(Receiver, OwnedFd), EngineError> {
    let failed = |error: std::io::Error| EngineError::Internal(format!("cannot make a pipe: {error}"));
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    Ok((Receiver::from_owned_fd(read).map_err(failed)?, write))
}
