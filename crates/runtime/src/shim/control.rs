//! What is said at a shim's socket: one question per connection, as a line of JSON, and its answers, a line each.
//!
//! Descriptors travel with the line they belong to. After an `attach` both sides speak in frames: a byte for the channel,
//! four for the length, then the bytes.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use libcontainer::oci_spec::runtime::Process;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use super::ShimError;
use super::files::{self, Exit, Started};

/// A longer line is no question of ours.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;
/// A longer frame is not ours.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;
/// Standard input, output and error at most.
pub const DESCRIPTORS_MAX: usize = 3;

/// What became of a start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartReport {
    Started(Started),
    Failed { message: String },
}

/// What a shim is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// How the container is.
    Status,
    /// To be told of its end.
    Wait,
    /// To be told of its end, which is to come within this time.
    Stop { timeout_millis: u64 },
    /// To go on in a new log file.
    ReopenLog,
    /// To run one more process in the container. Its standard streams come along, unless it has a terminal.
    Exec { process: Box<Process>, streams: Streams },
    /// To end a process that was run so.
    KillExec { pid: i32 },
    /// To be connected with the container's own streams.
    Attach { streams: Streams },
}

/// Which of the standard streams are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

/// What a shim answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Status(Box<Status>),
    Exited(Exit),
    /// The container was killed and is still there.
    Stuck {
        message: String,
    },
    Done,
    Refused {
        message: String,
    },
    /// The end of its terminal comes along, if it has one.
    ExecStarted {
        pid: i32,
    },
    ExecExited {
        code: i32,
    },
}

/// How a container is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub pid: i32,
    pub shim_pid: u32,
    /// Whether its first process has a handler for its stop signal.
    pub stop_signal_handling: String,
    pub stopping: Option<Stopping>,
    /// What could not be written to its log.
    pub log_lost_bytes: u64,
}

/// A stop under way; nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopping {
    pub since: i64,
    pub kill_at: Option<i64>,
    /// The signal has not reached the process yet.
    pub undelivered: bool,
}

/// Which stream a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Stdin = 0,
    Stdout = 1,
    Stderr = 2,
    /// Two numbers of two bytes: columns, rows.
    Resize = 3,
    /// No more input comes.
    CloseStdin = 4,
}

impl Channel {
    pub const fn of(byte: u8) -> Option<Channel> {
        match byte {
            0 => Some(Channel::Stdin),
            1 => Some(Channel::Stdout),
            2 => Some(Channel::Stderr),
            3 => Some(Channel::Resize),
            4 => Some(Channel::CloseStdin),
            _ => None,
        }
    }
}

/// The bytes of a frame.
pub fn frame(channel: Channel, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let mut bytes = vec![channel as u8];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// Takes the first frame off the bytes that have arrived; none if it is not complete.
pub fn take_frame(bytes: &mut Vec<u8>) -> Result<Option<(Channel, Vec<u8>)>, &'static str> {
    let Some((head, rest)) = bytes.split_first_chunk::<5>() else { return Ok(None) };
    let channel = Channel::of(head[0]).ok_or("a frame of an unknown channel")?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > FRAME_BYTES_MAX {
        return Err("a frame that is too long");
    }
    if rest.len() < length {
        return Ok(None);
    }
    let content = rest[..length].to_vec();
    bytes.drain(..5 + length);
    Ok(Some((channel, content)))
}

/// The path of a shim's socket that is short enough for the kernel, whatever the path of the directory is.
pub fn socket_path(directory: BorrowedFd<'_>) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}/{}", directory.as_raw_fd(), files::SOCKET))
}

/// Listens in the directory of a container.
pub(super) fn listen(directory: &Path) -> Result<UnixListener, ShimError> {
    let what = "listen for the runtime";
    let opened = std::fs::File::open(directory).map_err(ShimError::io(what))?;
    let path = socket_path(opened.as_fd());
    // A shim that was here before never came to an answer.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(path).map_err(ShimError::io(what))?;
    listener.set_nonblocking(true).map_err(ShimError::io(what))?;
    Ok(listener)
}

/// Sends a line with the descriptors that belong to it.
pub fn send(stream: impl AsFd, line: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let flags = SendFlags::NOSIGNAL;
    Ok(rustix::net::sendmsg(stream, &[io::IoSlice::new(line)], &mut ancillary, flags)?)
}

/// Receives what is there, and the descriptors that came with it. Zero bytes are the end.
pub fn receive(stream: impl AsFd, buffer: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [io::IoSliceMut::new(buffer)];
    let received = rustix::net::recvmsg(stream, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written_and_not_before_they_are_whole() {
        let mut bytes = Vec::new();
        for byte in frame(Channel::Stderr, b"oops") {
            assert_eq!(take_frame(&mut bytes), Ok(None));
            bytes.push(byte);
        }
        bytes.extend(frame(Channel::CloseStdin, b""));
        assert_eq!(take_frame(&mut bytes), Ok(Some((Channel::Stderr, b"oops".to_vec()))));
        assert_eq!(take_frame(&mut bytes), Ok(Some((Channel::CloseStdin, Vec::new()))));
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_frame_that_is_not_ours_is_refused() {
        assert!(take_frame(&mut vec![9, 0, 0, 0, 0]).is_err());
        assert!(take_frame(&mut vec![1, 0xff, 0, 0, 0]).is_err());
    }

    #[test]
    fn descriptors_travel_with_their_line() {
        let (left, right) = UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        send(&left, b"hello\n", &[file.as_fd()]).unwrap();
        let (mut buffer, mut received) = ([0; 32], Vec::new());
        assert_eq!(receive(&right, &mut buffer, &mut received).unwrap(), 6);
        assert_eq!(received.len(), 1);
        drop(left);
        assert_eq!(receive(&right, &mut buffer, &mut received).unwrap(), 0);
    }
}
