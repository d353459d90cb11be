//! Kernel parameters of a sandbox: only those that belong to a namespace of its own, since any other would change the
//! host.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Kind;

/// The most parameters that one sandbox may set.
const MAX_SYSCTLS: usize = 256;
/// The longest value of one; the kernel reads a page at most.
const MAX_VALUE: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum SysctlError {
    #[error("{0} sysctls are more than the {MAX_SYSCTLS} that a sandbox may have")]
    TooMany(usize),
    #[error("{0:?} is no name of a sysctl")]
    Name(String),
    #[error("the value of the sysctl {0} is longer than {MAX_VALUE} bytes or has a NUL in it")]
    Value(String),
    #[error(
        "the sysctl {0} belongs to no namespace: setting it would change the host \
         (allowed: kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*)"
    )]
    OfTheHost(String),
    #[error("the sysctl {name} needs a {namespace} namespace of the sandbox's own, which it does not have")]
    NotOwn { name: String, namespace: &'static str },
    #[error("the sysctl {name} cannot be set to {value:?}: {source}")]
    Write { name: String, value: String, source: io::Error },
}

/// A parameter that may be set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    name: String,
    file: PathBuf,
    value: String,
}

/// Checks every parameter before any is set.
pub(super) fn check(sysctls: &BTreeMap<String, String>, own: &[Kind]) -> Result<Vec<Parameter>, SysctlError> {
    if sysctls.len() > MAX_SYSCTLS {
        return Err(SysctlError::TooMany(sysctls.len()));
    }
    sysctls.iter().map(|(name, value)| check_one(name, value, own)).collect()
}

/// Sets them, in the namespaces of the calling thread.
pub(super) fn apply(parameters: &[Parameter]) -> Result<(), SysctlError> {
    for Parameter { name, file, value } in parameters {
        fs::write(file, value).map_err(|source| SysctlError::Write {
            name: name.clone(),
            value: value.clone(),
            source,
        })?;
    }
    Ok(())
}

fn check_one(name: &str, value: &str, own: &[Kind]) -> Result<Parameter, SysctlError> {
    let parts = split(name).ok_or_else(|| SysctlError::Name(name.to_owned()))?;
    if value.len() > MAX_VALUE || value.contains('\0') {
        return Err(SysctlError::Value(name.to_owned()));
    }
    let kind = namespace_of(&parts).ok_or_else(|| SysctlError::OfTheHost(name.to_owned()))?;
    if !own.contains(&kind) {
        return Err(SysctlError::NotOwn { name: name.to_owned(), namespace: kind.name() });
    }
    let file = parts.iter().fold(Path::new("/proc/sys").to_owned(), |path, part| path.join(part));
    Ok(Parameter { name: name.to_owned(), file, value: value.to_owned() })
}

/// The first separator decides, as sysctl(8) does it: after a slash, dots are part of names, as in
/// `net/ipv4/conf/eth0.1/forwarding`.
fn split(name: &str) -> Option<Vec<String>> {
    let separator = name.find(['.', '/']).map(|at| name.as_bytes()[at])?;
    let parts: Vec<String> = match separator {
        b'/' => name.split('/').map(str::to_owned).collect(),
        _ => name.split('.').map(|part| part.replace('/', ".")).collect(),
    };
    let plain = |part: &String| {
        !part.is_empty()
            && !matches!(part.as_str(), "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:*".contains(&byte))
    };
    parts.iter().all(plain).then_some(parts)
}

fn namespace_of(parts: &[String]) -> Option<Kind> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["kernel", "sem"] => Some(Kind::Ipc),
        ["kernel", name] if name.starts_with("shm") || name.starts_with("msg") => Some(Kind::Ipc),
        ["fs", "mqueue", _] => Some(Kind::Ipc),
        ["net", _, ..] => Some(Kind::Network),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_name(name: &str) -> Result<PathBuf, SysctlError> {
        check_one(name, "1", &Kind::ALL).map(|parameter| parameter.file)
    }

    #[test]
    fn parameters_of_namespaces_are_allowed_in_both_spellings() {
        for (name, file) in [
            ("kernel.shm_rmid_forced", "/proc/sys/kernel/shm_rmid_forced"),
            ("kernel.msgmax", "/proc/sys/kernel/msgmax"),
            ("kernel/sem", "/proc/sys/kernel/sem"),
            ("fs.mqueue.msg_max", "/proc/sys/fs/mqueue/msg_max"),
            ("net.ipv4.conf.eth0/100.forwarding", "/proc/sys/net/ipv4/conf/eth0.100/forwarding"),
            ("net/ipv4/conf/eth0.100/forwarding", "/proc/sys/net/ipv4/conf/eth0.100/forwarding"),
        ] {
            assert_eq!(check_name(name).unwrap(), Path::new(file), "{name}");
        }
    }

    #[test]
    fn parameters_of_the_host_are_refused() {
        for name in ["kernel.panic", "vm.swappiness", "kernel.semantics", "fs.file-max", "kernel.hostname"] {
            assert!(matches!(check_name(name), Err(SysctlError::OfTheHost(_))), "{name}");
        }
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for name in ["", "net", "net/../kernel/panic", "net..core", "net.ipv4/../x", "net.core.\0", "/net/core"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(matches!(check_name("net/../kernel/panic"), Err(SysctlError::Name(_))));
    }

    #[test]
    fn a_parameter_needs_the_namespace_it_belongs_to() {
        let refused = check_one("net.core.somaxconn", "1", &[Kind::Ipc]);
        assert!(matches!(refused, Err(SysctlError::NotOwn { namespace: "net", .. })), "{refused:?}");
    }
}
