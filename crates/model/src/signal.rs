//! The signals a pod may name as a container's stop signal, and where each is allowed.
//!
//! Names are exact: upper case, `SIG` prefix, real-time offsets as `SIGRTMIN+3` and `SIGRTMAX-3`. Numbers of the
//! operating system and of CRI are for the crates that talk to them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The operating system a pod says it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Os {
    Linux,
    Windows,
}

impl Os {
    pub const fn name(self) -> &'static str {
        match self {
            Os::Linux => "linux",
            Os::Windows => "windows",
        }
    }

    pub fn named(name: &str) -> Option<Os> {
        match name {
            "linux" => Some(Os::Linux),
            "windows" => Some(Os::Windows),
            _ => None,
        }
    }
}

/// A stop signal, one of the 65 names the API knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct Signal(u8);

/// Every name in byte order, which is also the order of upstream's error text.
const NAMES: [&str; 65] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

const WINDOWS_NAMES: [&str; 2] = ["SIGKILL", "SIGTERM"];

impl Signal {
    pub const TERM: Signal = Signal::known("SIGTERM");
    pub const KILL: Signal = Signal::known("SIGKILL");

    /// The names accepted for `os`, in byte order.
    pub const fn names(os: Os) -> &'static [&'static str] {
        match os {
            Os::Linux => &NAMES,
            Os::Windows => &WINDOWS_NAMES,
        }
    }

    /// The signal of that exact name.
    pub fn named(name: &str) -> Option<Signal> {
        NAMES.binary_search(&name).ok().and_then(|at| u8::try_from(at).ok()).map(Signal)
    }

    pub const fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }

    /// Whether pods for `os` may name it.
    pub fn allowed_on(self, os: Os) -> bool {
        Signal::names(os).binary_search(&self.name()).is_ok()
    }

    pub fn all() -> impl Iterator<Item = Signal> {
        (0..NAMES.len()).filter_map(|at| u8::try_from(at).ok()).map(Signal)
    }

    /// Looks a name up while compiling, so that a typing mistake in a constant does not build.
    pub const fn known(name: &str) -> Signal {
        let mut at = 0;
        while at < NAMES.len() {
            if same(NAMES[at], name) {
                return Signal(at as u8);
            }
            at += 1;
        }
        panic!("no such signal")
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Signal> for &'static str {
    fn from(signal: Signal) -> Self {
        signal.name()
    }
}

impl TryFrom<String> for Signal {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Signal::named(&name).ok_or_else(|| format!("unknown signal {name:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_stand_in_byte_order_and_each_is_found() {
        assert!(NAMES.is_sorted() && WINDOWS_NAMES.is_sorted());
        assert!(Signal::all().all(|signal| Signal::named(signal.name()) == Some(signal)));
        assert_eq!(Signal::all().count(), 65);
    }

    #[test]
    fn names_are_exact() {
        for name in ["", "TERM", "sigterm", "15", "SIGRTMIN+0", "SIGRTMIN+16", "SIGRTMAX-15", "SIGRTMAX-0", " SIGTERM"]
        {
            assert_eq!(Signal::named(name), None, "{name:?}");
        }
    }

    #[test]
    fn windows_knows_only_kill_and_term() {
        let allowed: Vec<&str> = Signal::all().filter(|s| s.allowed_on(Os::Windows)).map(Signal::name).collect();
        assert_eq!(allowed, ["SIGKILL", "SIGTERM"]);
    }
}
