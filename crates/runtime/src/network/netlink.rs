//! Netlink: messages of nested attributes, and a socket that answers at once.
//!
//! Written here rather than taken from a crate because the permissive ones know either links (asynchronously) or no
//! nf_tables at all, and both families share this one small encoding. What the messages mean is `links`'s and
//! `nftables`'s business.

mod attributes;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};

pub use attributes::{Attribute, attributes};

pub const REQUEST: u16 = 0x1;
pub const ACK: u16 = 0x4;
pub const EXCLUSIVE: u16 = 0x200;
pub const REPLACE: u16 = 0x100;
pub const CREATE: u16 = 0x400;
pub const APPEND: u16 = 0x800;
pub const DUMP: u16 = 0x300;

const MESSAGE_NOOP: u16 = 1;
const MESSAGE_ERROR: u16 = 2;
const MESSAGE_DONE: u16 = 3;
/// Of a message of a list that changed while it was read: some entries may be missing.
const DUMP_INTERRUPTED: u16 = 0x10;
const HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;
const ALIGNMENT: usize = 4;
const NESTED: u16 = 0x8000;
/// The kernel writes at most 32 KiB of a dump at once; errors repeat the message they are about.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// Room for the largest batch; the usual limit is too small for thousands of rules.
const SEND_BUFFER: usize = 8 * 1024 * 1024;
/// A dump with more messages than this is no answer to anything asked here.
const MAX_MESSAGES: usize = 1 << 20;

/// How often a list is read anew because it changed while it was read.
const MAX_DUMPS: usize = 16;
/// No batch has more messages than this.
const MAX_BATCH: u32 = 1 << 16;

/// One message under construction.
#[derive(Debug, Clone)]
pub struct Message {
    bytes: Vec<u8>,
}

/// One message from the kernel, without its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub kind: u16,
    flags: u16,
    pub payload: Vec<u8>,
}

/// A socket to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    sequence: u32,
}

/// Which family of messages a socket speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Route,
    Netfilter,
}

impl Message {
    pub fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(&0u32.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&(flags | REQUEST).to_ne_bytes());
        bytes.extend_from_slice(&[0; 8]);
        Self { bytes }
    }

    /// The fixed part that follows the header.
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self.align();
        self
    }

    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(ATTRIBUTE_HEADER + value.len()).expect("attributes here are short");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.fixed(value)
    }

    /// Text as the kernel reads it, with its final NUL.
    pub fn text(self, kind: u16, value: &str) -> Self {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// An attribute that holds attributes.
    pub fn nested(mut self, kind: u16, content: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self = content(self.attribute(kind | NESTED, &[]));
        let length = u16::try_from(self.bytes.len() - start).expect("attributes here are short");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    pub fn with_flags(mut self, flags: u16) -> Self {
        let all = u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) | flags;
        self.bytes[6..8].copy_from_slice(&all.to_ne_bytes());
        self
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("a message is far below 4 GiB");
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

impl Socket {
    pub fn open(family: Family) -> io::Result<Self> {
        let protocol: Option<Protocol> = match family {
            Family::Route => None,
            Family::Netfilter => Some(netlink::NETFILTER),
        };
        let descriptor =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        rustix::net::bind(&descriptor, &SocketAddrNetlink::new(0, 0))?;
        // Without CAP_NET_ADMIN the buffer stays small, and what needs it fails with a clearer error of its own.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size_force(&descriptor, SEND_BUFFER);
        Ok(Self { descriptor, sequence: 0 })
    }

    /// Sends one request and returns when the kernel has carried it out.
    pub fn request(&mut self, message: Message) -> io::Result<()> {
        let before = self.sequence;
        let last = self.send(vec![message.with_flags(ACK)])?;
        self.acknowledged(before, last)
    }

    /// Sends messages in one piece; nf_tables carries out all of them or none.
    pub fn batch(&mut self, begin: Message, messages: Vec<Message>, end: Message) -> io::Result<()> {
        let mut all = vec![begin];
        all.extend(messages);
        let last = all.pop().expect("the beginning is there").with_flags(ACK);
        all.extend([last, end]);
        let before = self.sequence;
        let end = self.send(all)?;
        self.acknowledged(before, end.wrapping_sub(1))
    }

    /// Asks for everything of a kind.
    pub fn dump(&mut self, message: Message) -> io::Result<Vec<Answer>> {
        let message = message.with_flags(DUMP);
        for _ in 0..MAX_DUMPS {
            let answers = self.dump_once(message.clone())?;
            if answers.iter().all(|answer| answer.flags & DUMP_INTERRUPTED == 0) {
                return Ok(answers.into_iter().filter(|answer| answer.kind != MESSAGE_DONE).collect());
            }
        }
        Err(io::Error::other("the list does not stop to change"))
    }

    /// With the message that ends it.
    fn dump_once(&mut self, message: Message) -> io::Result<Vec<Answer>> {
        let sequence = self.send(vec![message])?;
        let mut answers = Vec::new();
        while answers.len() <= MAX_MESSAGES {
            for (_, answer) in self.receive()?.into_iter().filter(|(answered, _)| *answered == sequence) {
                match answer.kind {
                    MESSAGE_DONE => {
                        error_of(&answer)?;
                        answers.push(answer);
                        return Ok(answers);
                    }
                    MESSAGE_ERROR => error_of(&answer)?,
                    MESSAGE_NOOP => {}
                    _ => answers.push(answer),
                }
            }
        }
        Err(io::Error::other("the kernel's answer does not end"))
    }

    fn send(&mut self, messages: Vec<Message>) -> io::Result<u32> {
        let mut bytes = Vec::new();
        for message in messages {
            self.sequence = self.sequence.wrapping_add(1);
            bytes.extend(message.finish(self.sequence));
        }
        rustix::net::sendto(&self.descriptor, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(self.sequence)
    }

    /// Reads all answers: the kernel works while it is sent to, so they are there already. The first error counts, of
    /// those to what was sent after `before`.
    fn acknowledged(&mut self, before: u32, sequence: u32) -> io::Result<()> {
        let mut outcome = Err(io::Error::other("the kernel did not answer a request"));
        let mut failed = None;
        loop {
            let answers = match self.receive() {
                Ok(answers) => answers,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            for (answered, answer) in answers {
                match error_of(&answer) {
                    _ if answer.kind != MESSAGE_ERROR || answered.wrapping_sub(before) > MAX_BATCH => {}
                    Ok(()) if answered == sequence => outcome = Ok(()),
                    Ok(()) => {}
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        failed.map_or(outcome, Err)
    }

    fn receive(&mut self) -> io::Result<Vec<(u32, Answer)>> {
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let (length, _) = loop {
            match rustix::net::recv(&self.descriptor, &mut buffer[..], RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        };
        Ok(split(&buffer[..length]))
    }
}

/// Cuts what was received into messages; what is cut short is left out.
fn split(mut bytes: &[u8]) -> Vec<(u32, Answer)> {
    let mut messages = Vec::new();
    while let Some(header) = bytes.first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(payload) = bytes.get(HEADER..length) else { break };
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let flags = u16::from_ne_bytes([header[6], header[7]]);
        let sequence = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
        messages.push((sequence, Answer { kind, flags, payload: payload.to_vec() }));
        bytes = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    }
    messages
}

fn error_of(answer: &Answer) -> io::Result<()> {
    let code = answer.payload.first_chunk::<4>().map_or(0, |code| i32::from_ne_bytes(*code));
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code.saturating_neg())) }
}
