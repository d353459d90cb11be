//! Stop signals: the numbers of the interface, the names that manifests use, and the numbers of Linux.
//!
//! The interface counts signals in the order of their names, so its numbers mean nothing to the kernel. Three signals have
//! two names, each with a number of its own: a [`StopSignal`] keeps the one that it came with.

use std::fmt;

/// A signal that a container can be stopped with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StopSignal {
    row: u8,
}

/// A number that the interface does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stop signal {number} is not one of the interface: its numbers are 0 to {}", SIGNALS.len())]
pub struct UnknownSignal {
    pub number: i32,
}

/// Name and Linux number; the number of the interface is the place in this list, from 1.
const SIGNALS: [(&str, u8); 65] = [
    ("SIGABRT", 6),
    ("SIGALRM", 14),
    ("SIGBUS", 7),
    ("SIGCHLD", 17),
    ("SIGCLD", 17),
    ("SIGCONT", 18),
    ("SIGFPE", 8),
    ("SIGHUP", 1),
    ("SIGILL", 4),
    ("SIGINT", 2),
    ("SIGIO", 29),
    ("SIGIOT", 6),
    ("SIGKILL", 9),
    ("SIGPIPE", 13),
    ("SIGPOLL", 29),
    ("SIGPROF", 27),
    ("SIGPWR", 30),
    ("SIGQUIT", 3),
    ("SIGSEGV", 11),
    ("SIGSTKFLT", 16),
    ("SIGSTOP", 19),
    ("SIGSYS", 31),
    ("SIGTERM", 15),
    ("SIGTRAP", 5),
    ("SIGTSTP", 20),
    ("SIGTTIN", 21),
    ("SIGTTOU", 22),
    ("SIGURG", 23),
    ("SIGUSR1", 10),
    ("SIGUSR2", 12),
    ("SIGVTALRM", 26),
    ("SIGWINCH", 28),
    ("SIGXCPU", 24),
    ("SIGXFSZ", 25),
    ("SIGRTMIN", 34),
    ("SIGRTMIN+1", 35),
    ("SIGRTMIN+2", 36),
    ("SIGRTMIN+3", 37),
    ("SIGRTMIN+4", 38),
    ("SIGRTMIN+5", 39),
    ("SIGRTMIN+6", 40),
    ("SIGRTMIN+7", 41),
    ("SIGRTMIN+8", 42),
    ("SIGRTMIN+9", 43),
    ("SIGRTMIN+10", 44),
    ("SIGRTMIN+11", 45),
    ("SIGRTMIN+12", 46),
    ("SIGRTMIN+13", 47),
    ("SIGRTMIN+14", 48),
    ("SIGRTMIN+15", 49),
    ("SIGRTMAX-14", 50),
    ("SIGRTMAX-13", 51),
    ("SIGRTMAX-12", 52),
    ("SIGRTMAX-11", 53),
    ("SIGRTMAX-10", 54),
    ("SIGRTMAX-9", 55),
    ("SIGRTMAX-8", 56),
    ("SIGRTMAX-7", 57),
    ("SIGRTMAX-6", 58),
    ("SIGRTMAX-5", 59),
    ("SIGRTMAX-4", 60),
    ("SIGRTMAX-3", 61),
    ("SIGRTMAX-2", 62),
    ("SIGRTMAX-1", 63),
    ("SIGRTMAX", 64),
];

impl StopSignal {
    /// The signal of a wire number; nothing for 0, which leaves the choice to the image and the runtime.
    pub fn from_cri(number: i32) -> Result<Option<StopSignal>, UnknownSignal> {
        match u8::try_from(number) {
            Ok(0) => Ok(None),
            Ok(place) if usize::from(place) <= SIGNALS.len() => Ok(Some(StopSignal { row: place - 1 })),
            _ => Err(UnknownSignal { number }),
        }
    }

    /// The signal of a name such as `SIGTERM`, `SIGPOLL` or `SIGRTMIN+3`, spelt exactly so.
    pub fn named(name: &str) -> Option<StopSignal> {
        StopSignal::all().find(|signal| signal.name() == name)
    }

    /// The signal of a Linux number, by the more usual of two names.
    pub fn from_linux(number: u8) -> Option<StopSignal> {
        StopSignal::all().find(|signal| signal.linux_number() == number)
    }

    /// Every signal, in the order of the interface.
    pub fn all() -> impl Iterator<Item = StopSignal> {
        (0u8..).take(SIGNALS.len()).map(|row| StopSignal { row })
    }

    pub fn name(self) -> &'static str {
        SIGNALS[usize::from(self.row)].0
    }

    /// The number on the wire.
    pub fn to_cri(self) -> i32 {
        i32::from(self.row) + 1
    }

    /// The number that the kernel knows, as on x86-64 and arm64.
    pub fn linux_number(self) -> u8 {
        SIGNALS[usize::from(self.row)].1
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
