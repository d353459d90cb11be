//! How a runtime that runs already is named: `NAME=unix:///SOCKET:DAEMON_PID`.

use std::str::FromStr;

use anyhow::{Context as _, Result, ensure};
use cri::Address;

/// A runtime that somebody else started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The head of its column.
    pub name: String,
    pub address: Address,
    /// Whose memory is told.
    pub pid: u32,
}

impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Target> {
        let usage = || format!("{text:?} is not NAME=unix:///SOCKET:DAEMON_PID");
        let (name, rest) = text.split_once('=').with_context(usage)?;
        let (address, pid) = rest.rsplit_once(':').with_context(usage)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._ ".contains(c);
        ensure!(!name.is_empty() && name.chars().all(plain), "{name:?} cannot be the head of a column: use letters");
        let pid = pid.parse().ok().filter(|pid| *pid > 0).with_context(usage)?;
        Ok(Target { name: name.to_owned(), address: address.parse()?, pid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_a_socket_and_a_process_make_a_target() {
        let target: Target = "containerd 1.6=unix:///run/a:b.sock:17".parse().unwrap();
        assert_eq!(target.name, "containerd 1.6");
        assert_eq!(target.address.to_string(), "unix:///run/a:b.sock");
        assert_eq!(target.pid, 17);
    }

    #[test]
    fn what_is_not_a_target_is_refused_with_its_reason() {
        let rows = [
            ("", "is not NAME="),
            ("a", "is not NAME="),
            ("a=unix:///run/a.sock", "is not NAME="),
            ("a=unix:///run/a.sock:", "is not NAME="),
            ("a=unix:///run/a.sock:0", "is not NAME="),
            ("a=unix:///run/a.sock:-4", "is not NAME="),
            ("a=unix:///run/a.sock:x", "is not NAME="),
            ("a=tcp://127.0.0.1:80:4", "is not that of a Unix socket"),
            ("=unix:///run/a.sock:4", "cannot be the head"),
            ("a|b=unix:///run/a.sock:4", "cannot be the head"),
        ];
        for (text, reason) in rows {
            let told = text.parse::<Target>().unwrap_err().to_string();
            assert!(told.contains(reason), "{text}: {told}");
        }
    }
}
