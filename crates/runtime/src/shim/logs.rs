//! The log of a container, in the format of the CRI: time, stream, whether the line is complete, and the text.
//!
//! A line longer than [`LINE_BYTES`] is cut into parts; output that ends without a line break is kept as a part when the
//! container ends. What cannot be written, because the disk is full, is lost and counted: a container never waits for
//! its log.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// The longest text of one record.
pub const LINE_BYTES: usize = 16 * 1024;
const MODE: u32 = 0o640;

/// Which of its outputs a container wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    const fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// Writes one container's log.
pub struct Log {
    path: PathBuf,
    file: File,
    /// What has no line break yet, by stream.
    unfinished: [Vec<u8>; 2],
    records: Vec<u8>,
    lost_bytes: u64,
}

impl Log {
    pub fn open(path: &Path) -> io::Result<Log> {
        let file = open(path)?;
        Ok(Log {
            path: path.to_owned(),
            file,
            unfinished: [Vec::new(), Vec::new()],
            records: Vec::new(),
            lost_bytes: 0,
        })
    }

    /// Goes on in a new file at the same path: the old one was moved away.
    pub fn reopen(&mut self) -> io::Result<()> {
        self.file = open(&self.path)?;
        Ok(())
    }

    /// How much could not be written so far.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Takes what the container wrote.
    pub fn write(&mut self, stream: Stream, mut text: &[u8], now: Timestamp) {
        self.records.clear();
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&text[..end], &text[end + 1..]);
            self.extend(stream, line, now);
            let tail = std::mem::take(&mut self.unfinished[stream as usize]);
            self.record(stream, "F", &tail, now);
            // The allocation serves the next line.
            self.unfinished[stream as usize] = tail;
            self.unfinished[stream as usize].clear();
            text = rest;
        }
        self.extend(stream, text, now);
        self.flush();
    }

    /// The container has ended: what it did not finish is written as it is.
    pub fn finish(&mut self, now: Timestamp) {
        self.records.clear();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let tail = std::mem::take(&mut self.unfinished[stream as usize]);
            if !tail.is_empty() {
                self.record(stream, "P", &tail, now);
            }
        }
        self.flush();
    }

    /// Adds to the unfinished line; what would make it too long is recorded.
    fn extend(&mut self, stream: Stream, mut text: &[u8], now: Timestamp) {
        loop {
            let room = LINE_BYTES - self.unfinished[stream as usize].len();
            if text.len() <= room {
                return self.unfinished[stream as usize].extend_from_slice(text);
            }
            let (fits, rest) = text.split_at(room);
            self.unfinished[stream as usize].extend_from_slice(fits);
            let full = std::mem::take(&mut self.unfinished[stream as usize]);
            self.record(stream, "P", &full, now);
            text = rest;
        }
    }

    fn record(&mut self, stream: Stream, tag: &str, text: &[u8], now: Timestamp) {
        let _ = write!(self.records, "{now:.9} {} {tag} ", stream.name());
        self.records.extend_from_slice(text);
        self.records.push(b'\n');
    }

    fn flush(&mut self) {
        let mut left = self.records.as_slice();
        while !left.is_empty() {
            match self.file.write(left) {
                Ok(written) if written > 0 => left = &left[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => {
                    self.lost_bytes += u64::try_from(left.len()).unwrap_or(u64::MAX);
                    return;
                }
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(MODE).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn written(act: impl FnOnce(&mut Log)) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0.log");
        let mut log = Log::open(&path).unwrap();
        act(&mut log);
        std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_carry_time_stream_and_tag() {
        let lines = written(|log| {
            log.write(Stream::Stdout, b"one\ntw", NOW);
            log.write(Stream::Stderr, b"oops\n", NOW);
            log.write(Stream::Stdout, b"o\n\n", NOW);
        });
        let time = "1970-01-01T00:00:00.000000000Z";
        let expected = ["stdout F one", "stderr F oops", "stdout F two", "stdout F "];
        assert_eq!(lines, expected.map(|line| format!("{time} {line}")));
    }

    #[test]
    fn long_lines_are_cut_and_an_unfinished_one_is_kept() {
        let lines = written(|log| {
            log.write(Stream::Stdout, &vec![b'x'; LINE_BYTES], NOW);
            log.write(Stream::Stdout, b"\n", NOW);
            log.write(Stream::Stdout, &vec![b'y'; 2 * LINE_BYTES + 1], NOW);
            log.finish(NOW);
        });
        let shape: Vec<(&str, usize)> =
            lines.iter().map(|line| line[38..].split_once(' ').unwrap()).map(|(tag, text)| (tag, text.len())).collect();
        assert_eq!(shape, [("F", LINE_BYTES), ("P", LINE_BYTES), ("P", LINE_BYTES), ("P", 1)]);
    }

    #[test]
    fn after_a_rotation_the_log_goes_on_at_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let (path, moved) = (directory.path().join("0.log"), directory.path().join("0.log.1"));
        let mut log = Log::open(&path).unwrap();
        log.write(Stream::Stdout, b"old\n", NOW);
        std::fs::rename(&path, &moved).unwrap();
        log.write(Stream::Stdout, b"still old\n", NOW);
        log.reopen().unwrap();
        log.write(Stream::Stdout, b"new\n", NOW);
        assert_eq!(std::fs::read_to_string(&moved).unwrap().lines().count(), 2);
        assert!(std::fs::read_to_string(&path).unwrap().ends_with(" stdout F new\n"));
    }

    #[test]
    fn what_does_not_fit_on_the_disk_is_counted_and_nothing_waits() {
        let mut log = Log::open(Path::new("/dev/full")).unwrap();
        log.write(Stream::Stdout, b"lost\n", NOW);
        assert!(log.lost_bytes() > 0);
    }
}
