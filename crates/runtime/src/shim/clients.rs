//! Those who ask something at the shim's socket, each on a connection of its own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use super::control::{self, Answer, LINE_BYTES_MAX, Question};

/// More connections than this wait until others have ended.
pub const CLIENTS_MAX: usize = 512;

/// What a connection is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its question has not arrived.
    Asking,
    WaitsForExit,
    /// As before, and it asked for the stop.
    WaitsForStop,
    WaitsForExec,
}

/// One connection.
pub struct Client {
    pub number: u64,
    pub role: Role,
    stream: UnixStream,
    arrived: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// A question, and what came along.
pub struct Asked {
    pub question: Question,
    pub descriptors: Vec<OwnedFd>,
}

impl Client {
    /// What has arrived; none if it is not a whole question yet. An error, and the end, are the end of the connection.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Asked>> {
        match control::receive(&self.stream, buffer, &mut self.descriptors) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(received) => self.arrived.extend_from_slice(&buffer[..received]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        if self.role != Role::Asking {
            return Err(io::Error::other("one connection has one question"));
        }
        let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') else {
            let too_long = self.arrived.len() > LINE_BYTES_MAX;
            return if too_long { Err(io::Error::other("the question is too long")) } else { Ok(None) };
        };
        let line: Vec<u8> = self.arrived.drain(..=end).collect();
        let question = serde_json::from_slice(&line)?;
        Ok(Some(Asked { question, descriptors: std::mem::take(&mut self.descriptors) }))
    }

    /// Answers are short and few: one that does not fit into the socket's buffer is not read by anybody.
    pub fn tell(&self, answer: &Answer, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut line = serde_json::to_vec(answer)?;
        line.push(b'\n');
        let sent = control::send(&self.stream, &line, descriptors)?;
        if sent == line.len() { Ok(()) } else { Err(io::Error::other("the answer is not read")) }
    }

    /// The connection itself, and what has arrived behind the question.
    pub fn into_stream(self) -> (UnixStream, Vec<u8>) {
        (self.stream, self.arrived)
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// All connections.
pub struct Clients {
    listener: UnixListener,
    pub all: Vec<Client>,
    next: u64,
}

impl Clients {
    pub fn new(listener: UnixListener) -> Clients {
        Clients { listener, all: Vec::new(), next: 0 }
    }

    /// Where new ones come from; none while there are too many.
    pub fn listener(&self) -> Option<&UnixListener> {
        (self.all.len() < CLIENTS_MAX).then_some(&self.listener)
    }

    /// Lets in who waits.
    pub fn accept(&mut self) {
        while self.all.len() < CLIENTS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok() {
                let (arrived, descriptors) = (Vec::new(), Vec::new());
                self.all.push(Client { number: self.next, role: Role::Asking, stream, arrived, descriptors });
                self.next += 1;
            }
        }
    }

    pub fn get(&mut self, number: u64) -> Option<&mut Client> {
        self.all.iter_mut().find(|client| client.number == number)
    }

    pub fn take(&mut self, number: u64) -> Option<Client> {
        let at = self.all.iter().position(|client| client.number == number)?;
        Some(self.all.swap_remove(at))
    }

    /// Tells everyone in a role the same, and lets them go.
    pub fn tell_all(&mut self, role: Role, answer: &Answer) {
        let (told, kept) = std::mem::take(&mut self.all).into_iter().partition(|client| client.role == role);
        self.all = kept;
        let told: Vec<Client> = told;
        for client in &told {
            let _ = client.tell(answer, &[]);
        }
    }
}
