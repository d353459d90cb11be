//! What an ended container says for itself: the runtime's words, then what it wrote into its message file, or else the
//! end of its log.
//!
//! Files and logs are cut at the front, at the beginning of a character, and what is no text is replaced; the result
//! is never longer than the limit.

/// The most that is taken from a message file.
pub const FILE_BYTES_MAX: usize = 4096;

/// The most that is taken from a log.
pub const LOG_BYTES_MAX: usize = 2048;

/// The most lines that are taken from a log.
pub const LOG_LINES_MAX: usize = 80;

/// Where a container's message comes from: `terminationMessagePolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessagePolicy {
    #[default]
    File,
    FallbackToLogsOnError,
}

impl MessagePolicy {
    /// Anything unknown is the default.
    pub fn named(name: &str) -> MessagePolicy {
        if name == "FallbackToLogsOnError" { MessagePolicy::FallbackToLogsOnError } else { MessagePolicy::File }
    }

    /// Whether the log is read if the file is empty or missing.
    pub const fn reads_log(self, exit_code: i32) -> bool {
        match self {
            MessagePolicy::File => false,
            MessagePolicy::FallbackToLogsOnError => exit_code != 0,
        }
    }
}

/// What there is to take a message from.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageSources<'a> {
    /// The runtime's own message.
    pub runtime: &'a str,
    /// The message file, or its last bytes; empty if there is none.
    pub file: &'a [u8],
    /// The log without the runtime's framing, or its last lines.
    pub log: &'a [u8],
}

/// The message of a container that ended with `exit_code`.
pub fn termination_message(policy: MessagePolicy, exit_code: i32, sources: MessageSources<'_>) -> String {
    let own = if sources.file.is_empty() && policy.reads_log(exit_code) {
        last_text(last_lines(sources.log), LOG_BYTES_MAX)
    } else {
        last_text(sources.file, FILE_BYTES_MAX)
    };
    match (sources.runtime, own.as_str()) {
        (runtime, "") => runtime.to_owned(),
        ("", _) => own,
        (runtime, own) => format!("{runtime}: {own}"),
    }
}

fn last_lines(log: &[u8]) -> &[u8] {
    let end = log.len() - usize::from(log.ends_with(b"\n"));
    let mut breaks = log[..end].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let start = breaks.nth(LOG_LINES_MAX - 1).map_or(0, |(at, _)| at + 1);
    &log[start..]
}

/// The last `limit` bytes, as text.
fn last_text(bytes: &[u8], limit: usize) -> String {
    const LONGEST_REST_OF_A_CHARACTER: usize = 3;
    let mut bytes = bytes;
    if bytes.len() > limit {
        bytes = &bytes[bytes.len() - limit..];
        let is_rest = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let rest = bytes.iter().take(LONGEST_REST_OF_A_CHARACTER).take_while(is_rest).count();
        bytes = &bytes[rest..];
    }
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    // A replaced byte takes three.
    if text.len() > limit {
        let start = (text.len() - limit..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        text.drain(..start);
    }
    text
}
