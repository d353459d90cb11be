//! Running one CNI plugin: a program that reads JSON and its environment, and answers with JSON. It may do anything
//! instead, so its time and its output are bounded, and all its children end with it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::CniSettings;

/// The largest answer that is read.
const MAX_OUTPUT: u64 = 1024 * 1024;
/// As much of a complaint as is read, and as is repeated in an error.
const MAX_COMPLAINT: u64 = 64 * 1024;
const MAX_REPEATED: usize = 1024;

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("there is no such program in {0:?}")]
    Missing(Vec<PathBuf>),
    #[error("it cannot be run: {0}")]
    Run(io::Error),
    #[error("it took longer than {0:?} and was killed")]
    Timeout(std::time::Duration),
    #[error("it answered with more than {MAX_OUTPUT} bytes and was killed")]
    TooMuch,
    #[error("{message}{}{}", if .details.is_empty() { "" } else { ": " }, .details)]
    Refused { message: String, details: String },
    #[error("it ended with {status} and said {said:?}")]
    Failed { status: String, said: String },
    #[error("its answer is no JSON object: {0:?}")]
    Garbage(String),
}

/// What a plugin is to do.
pub struct Call<'a> {
    pub command: &'static str,
    pub sandbox: &'a str,
    pub netns: &'a Path,
    pub interface: &'a str,
    pub arguments: &'a str,
    pub input: Value,
}

/// Runs a plugin and returns its answer, which may be null where none is expected.
pub async fn run(settings: &CniSettings, kind: &str, call: &Call<'_>) -> Result<Value, PluginError> {
    let program = settings.plugins.iter().map(|directory| directory.join(kind)).find(|program| program.is_file());
    let program = program.ok_or_else(|| PluginError::Missing(settings.plugins.clone()))?;
    let path = std::env::join_paths(&settings.plugins).map_err(|error| PluginError::Run(io::Error::other(error)))?;
    let mut command = Command::new(program);
    command
        .env("CNI_COMMAND", call.command)
        .env("CNI_CONTAINERID", call.sandbox)
        .env("CNI_NETNS", call.netns)
        .env("CNI_IFNAME", call.interface)
        .env("CNI_ARGS", call.arguments)
        .env("CNI_PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let child = command.spawn().map_err(PluginError::Run)?;
    let input = serde_json::to_vec(&call.input).expect("values are JSON");
    let timeout = settings.timeout;
    let output = tokio::time::timeout(timeout, talk(child, &input)).await;
    let output = output.map_err(|_| PluginError::Timeout(timeout))??;
    judge(call.command, &output)
}

struct Output {
    status: std::process::ExitStatus,
    answer: Vec<u8>,
    complaint: Vec<u8>,
}

/// The plugin and its children, killed together when they are given up, also because nobody awaits them any more. Those
/// of a plugin that ended by itself are left alone: some leave a server behind.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            // It may have ended just now.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn talk(mut child: Child, input: &[u8]) -> Result<Output, PluginError> {
    // Dropped before the child: until then its number belongs to no one else.
    let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A plugin that does not read its input is judged by what it answers.
            let _ = stdin.write_all(input).await;
        }
        Ok(())
    };
    let complaint = async { Ok(read_some(stderr, MAX_COMPLAINT).await) };
    let ((), answer, complaint) = tokio::try_join!(write, read_all(stdout, MAX_OUTPUT), complaint)?;
    let status = child.wait().await.map_err(PluginError::Run)?;
    group.0 = None;
    Ok(Output { status, answer, complaint })
}

async fn read_all(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> Result<Vec<u8>, PluginError> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(limit + 1).read_to_end(&mut bytes).await.map_err(PluginError::Run)?;
    }
    if bytes.len() as u64 > limit { Err(PluginError::TooMuch) } else { Ok(bytes) }
}

/// Reads to the end, so that the writer is never held up, and keeps the beginning.
async fn read_some(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let kept = (&mut pipe).take(limit).read_to_end(&mut bytes).await;
        if kept.is_ok() {
            let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
        }
    }
    bytes
}

fn judge(command: &str, output: &Output) -> Result<Value, PluginError> {
    let answer: Option<Value> = serde_json::from_slice(&output.answer).ok();
    if !output.status.success() {
        let text = |field: &str| answer.as_ref().and_then(|error| error.get(field)).and_then(Value::as_str);
        return Err(match text("msg") {
            Some(message) => PluginError::Refused {
                message: shorten(message),
                details: shorten(text("details").unwrap_or_default()),
            },
            None => {
                let said = if output.complaint.is_empty() { &output.answer } else { &output.complaint };
                PluginError::Failed { status: output.status.to_string(), said: excerpt(said) }
            }
        });
    }
    match answer {
        Some(answer) if answer.is_object() => Ok(answer),
        _ if command == "DEL" => Ok(Value::Null),
        _ => Err(PluginError::Garbage(excerpt(&output.answer))),
    }
}

fn excerpt(bytes: &[u8]) -> String {
    shorten(String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_REPEATED)]).trim())
}

fn shorten(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_REPEATED)].to_owned()
}
