//! Those who are connected with a container's own streams. One who does not read is cut off: a container never waits.

use std::io;
use std::os::unix::net::UnixStream;

use super::control::{Channel, Streams, frame, take_frame};

/// What may wait for one who is attached.
const WAITING_BYTES_MAX: usize = 1024 * 1024;

/// One who is attached.
pub struct Attached {
    pub stream: UnixStream,
    which: Streams,
    arrived: Vec<u8>,
    waiting: Vec<u8>,
}

/// What one who is attached sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    Input(Vec<u8>),
    Resize { columns: u16, rows: u16 },
    InputEnds,
}

impl Attached {
    pub fn new(stream: UnixStream, which: Streams, arrived: Vec<u8>) -> Attached {
        Attached { stream, which, arrived, waiting: Vec::new() }
    }

    pub fn sends_input(&self) -> bool {
        self.which.stdin
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Passes on what the container wrote. An error is the end of this one.
    pub fn tell(&mut self, channel: Channel, content: &[u8]) -> io::Result<()> {
        let wanted = match channel {
            Channel::Stdout => self.which.stdout,
            Channel::Stderr => self.which.stderr,
            Channel::Stdin | Channel::Resize | Channel::CloseStdin => false,
        };
        if !wanted {
            return Ok(());
        }
        self.waiting.extend(frame(channel, content));
        if self.waiting.len() > WAITING_BYTES_MAX {
            return Err(io::Error::other("too much waits to be read"));
        }
        self.flush()
    }

    /// Sends what waits, as far as it goes.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match super::control::send(&self.stream, &self.waiting, &[]) {
                Ok(sent) => drop(self.waiting.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What has arrived. An error, and the end, are the end of this one.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Vec<Sent>> {
        match super::control::receive(&self.stream, buffer, &mut Vec::new()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(received) => self.arrived.extend_from_slice(&buffer[..received]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        self.sent()
    }

    /// What has arrived already.
    pub fn sent(&mut self) -> io::Result<Vec<Sent>> {
        let mut all = Vec::new();
        while let Some((channel, content)) = take_frame(&mut self.arrived).map_err(io::Error::other)? {
            all.extend(match channel {
                Channel::Stdin => self.which.stdin.then_some(Sent::Input(content)),
                Channel::CloseStdin => self.which.stdin.then_some(Sent::InputEnds),
                Channel::Resize => size(&content),
                Channel::Stdout | Channel::Stderr => None,
            });
        }
        Ok(all)
    }
}

fn size(content: &[u8]) -> Option<Sent> {
    let [a, b, c, d] = *content else { return None };
    Some(Sent::Resize { columns: u16::from_be_bytes([a, b]), rows: u16::from_be_bytes([c, d]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Streams = Streams { stdin: true, stdout: true, stderr: false };

    fn pair() -> (Attached, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Attached::new(ours, ALL, Vec::new()), theirs)
    }

    #[test]
    fn only_the_streams_that_were_asked_for_are_passed_on() {
        let (mut attached, theirs) = pair();
        attached.tell(Channel::Stderr, b"unseen").unwrap();
        attached.tell(Channel::Stdout, b"seen").unwrap();
        let mut buffer = [0; 64];
        let read = super::super::control::receive(&theirs, &mut buffer, &mut Vec::new()).unwrap();
        assert_eq!(buffer[..read], frame(Channel::Stdout, b"seen"));
    }

    #[test]
    fn one_who_never_reads_is_cut_off_at_a_bound() {
        let (mut attached, _theirs) = pair();
        let chunk = vec![b'x'; 16 * 1024];
        let refused = (0..1024).find(|_| attached.tell(Channel::Stdout, &chunk).is_err());
        assert!(refused.is_some_and(|chunks| chunks < 128), "{refused:?}");
    }

    #[test]
    fn input_sizes_and_the_end_of_input_are_told_apart() {
        let (mut attached, theirs) = pair();
        let mut sent = frame(Channel::Stdin, b"ls\n");
        sent.extend(frame(Channel::Resize, &[0, 80, 0, 24]));
        sent.extend(frame(Channel::CloseStdin, b""));
        super::super::control::send(&theirs, &sent, &[]).unwrap();
        let heard = attached.receive(&mut [0; 256]).unwrap();
        let expected = [Sent::Input(b"ls\n".to_vec()), Sent::Resize { columns: 80, rows: 24 }, Sent::InputEnds];
        assert_eq!(heard, expected);
        drop(theirs);
        assert!(attached.receive(&mut [0; 256]).is_err());
    }
}
