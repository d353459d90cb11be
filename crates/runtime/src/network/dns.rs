//! The files by which a sandbox resolves names: `resolv.conf`, `hosts` and `hostname`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::Path;

/// No resolver reads more.
const MAX_RESOLV_CONF: u64 = 64 * 1024;
/// Far above what resolvers use; a configuration with more is a mistake.
const MAX_ENTRIES: usize = 64;

/// How names are resolved; all empty means as the host does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DnsConfig {
    pub servers: Vec<String>,
    pub searches: Vec<String>,
    pub options: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum DnsError {
    #[error("a DNS configuration has {0} {1}, more than {MAX_ENTRIES}")]
    TooMany(usize, &'static str),
    #[error("{0:?} cannot be in a resolv.conf: it is empty or has a blank or control character in it")]
    Entry(String),
    #[error("{0:?} is no address of a DNS server")]
    Server(String),
    #[error("the host's {path} cannot be read: {source}")]
    Host { path: String, source: io::Error },
}

/// The text of a sandbox's `resolv.conf`: what was asked for, or the host's own.
pub fn resolv_conf(config: &DnsConfig, host: &Path) -> Result<String, DnsError> {
    if *config == DnsConfig::default() {
        return read_host(host);
    }
    check(config)?;
    let mut text = String::new();
    if !config.searches.is_empty() {
        let _ = writeln!(text, "search {}", config.searches.join(" "));
    }
    for server in &config.servers {
        let _ = writeln!(text, "nameserver {server}");
    }
    if !config.options.is_empty() {
        let _ = writeln!(text, "options {}", config.options.join(" "));
    }
    Ok(text)
}

/// The text of a sandbox's `hosts`: the local names, and its own name at each of its addresses.
pub fn hosts(hostname: &str, addresses: &[IpAddr]) -> String {
    let mut text = String::from("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n");
    text.push_str("fe00::\tip6-localnet\nff00::\tip6-mcastprefix\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n");
    for address in addresses {
        let _ = writeln!(text, "{address}\t{hostname}");
    }
    text
}

/// The text of a sandbox's `hostname`.
pub fn hostname(name: &str) -> String {
    format!("{name}\n")
}

fn check(config: &DnsConfig) -> Result<(), DnsError> {
    for (name, list) in [("servers", &config.servers), ("searches", &config.searches), ("options", &config.options)] {
        if list.len() > MAX_ENTRIES {
            return Err(DnsError::TooMany(list.len(), name));
        }
        let unfit = |entry: &&String| entry.is_empty() || entry.contains(|c: char| c.is_whitespace() || c.is_control());
        if let Some(entry) = list.iter().find(unfit) {
            return Err(DnsError::Entry(entry.clone()));
        }
    }
    // An IPv6 server may name the link it is reached by.
    let address = |server: &str| server.split('%').next().is_some_and(|plain| plain.parse::<IpAddr>().is_ok());
    match config.servers.iter().find(|server| !address(server)) {
        Some(server) => Err(DnsError::Server(server.clone())),
        None => Ok(()),
    }
}

fn read_host(path: &Path) -> Result<String, DnsError> {
    let failed = |source| DnsError::Host { path: path.display().to_string(), source };
    let mut text = String::new();
    match File::open(path) {
        // A host without one resolves by its own loopback, which a sandbox does not have.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        file => drop(file.map_err(failed)?.take(MAX_RESOLV_CONF).read_to_string(&mut text).map_err(failed)?),
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
