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

/// What a process does with a signal that it neither handles nor blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultAction {
    Terminate,
    Ignore,
    /// The process is suspended and does not end.
    Suspend,
    /// A suspended process goes on; a running one notices nothing.
    Continue,
}

/// A stop signal, one of the 65 names the API knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct Signal(u8);

/// Every name in byte order, which is also the order of upstream's error text.
#[rustfmt::skip]
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

const RTMIN: u8 = 34;
const RTMAX: u8 = 64;

#[rustfmt::skip]
const LINUX_NUMBERS: [(&str, u8); 34] = [
    ("SIGHUP", 1), ("SIGINT", 2), ("SIGQUIT", 3), ("SIGILL", 4), ("SIGTRAP", 5), ("SIGABRT", 6), ("SIGIOT", 6),
    ("SIGBUS", 7), ("SIGFPE", 8), ("SIGKILL", 9), ("SIGUSR1", 10), ("SIGSEGV", 11), ("SIGUSR2", 12), ("SIGPIPE", 13),
    ("SIGALRM", 14), ("SIGTERM", 15), ("SIGSTKFLT", 16), ("SIGCHLD", 17), ("SIGCLD", 17), ("SIGCONT", 18),
    ("SIGSTOP", 19), ("SIGTSTP", 20), ("SIGTTIN", 21), ("SIGTTOU", 22), ("SIGURG", 23), ("SIGXCPU", 24),
    ("SIGXFSZ", 25), ("SIGVTALRM", 26), ("SIGPROF", 27), ("SIGWINCH", 28), ("SIGIO", 29), ("SIGPOLL", 29),
    ("SIGPWR", 30), ("SIGSYS", 31),
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

    /// What the signal does to a process that does not handle it.
    pub fn default_action(self) -> DefaultAction {
        match self.name() {
            "SIGCHLD" | "SIGCLD" | "SIGURG" | "SIGWINCH" => DefaultAction::Ignore,
            "SIGSTOP" | "SIGTSTP" | "SIGTTIN" | "SIGTTOU" => DefaultAction::Suspend,
            "SIGCONT" => DefaultAction::Continue,
            _ => DefaultAction::Terminate,
        }
    }

    /// The number Linux gives the signal on x86 and ARM.
    pub fn linux_number(self) -> u8 {
        let name = self.name();
        let offset = |text: &str| text.get(1..).and_then(|digits| digits.parse::<u8>().ok()).unwrap_or(0);
        if let Some(above) = name.strip_prefix("SIGRTMIN") {
            return RTMIN + offset(above);
        }
        if let Some(below) = name.strip_prefix("SIGRTMAX") {
            return RTMAX - offset(below);
        }
        LINUX_NUMBERS.iter().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number)
    }

    /// Reads an image's `STOPSIGNAL`: a name with or without `SIG`, in any case, or a Linux number.
    pub fn from_image(text: &str) -> Option<Signal> {
        if let Ok(number) = text.parse::<u8>() {
            return Signal::all().find(|signal| signal.linux_number() == number);
        }
        let upper = text.to_ascii_uppercase();
        Signal::named(&upper).or_else(|| Signal::named(&format!("SIG{upper}")))
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
    fn every_signal_has_its_linux_number() {
        assert!(Signal::all().all(|signal| signal.linux_number() > 0));
        let number = |name| Signal::named(name).map(Signal::linux_number);
        let rows = [("SIGTERM", 15), ("SIGRTMIN", 34), ("SIGRTMIN+15", 49), ("SIGRTMAX-14", 50), ("SIGRTMAX", 64)];
        for (name, expected) in rows {
            assert_eq!(number(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn an_image_may_write_its_signal_in_several_ways() {
        for text in ["SIGQUIT", "QUIT", "quit", "sigquit", "3"] {
            assert_eq!(Signal::from_image(text), Signal::named("SIGQUIT"), "{text}");
        }
        assert_eq!(Signal::from_image("RTMIN+3"), Signal::named("SIGRTMIN+3"));
        assert_eq!(Signal::from_image("37"), Signal::named("SIGRTMIN+3"));
        for text in ["", "0", "65", "256", "SIGNOPE", "SIG"] {
            assert_eq!(Signal::from_image(text), None, "{text}");
        }
    }

    #[test]
    fn nine_names_do_not_end_a_process_by_themselves() {
        let harmless = Signal::all().filter(|s| s.default_action() != DefaultAction::Terminate).count();
        assert_eq!(harmless, 9);
    }

    #[test]
    fn windows_knows_only_kill_and_term() {
        let allowed: Vec<&str> = Signal::all().filter(|s| s.allowed_on(Os::Windows)).map(Signal::name).collect();
        assert_eq!(allowed, ["SIGKILL", "SIGTERM"]);
    }
}
