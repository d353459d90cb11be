//! Where a runtime listens: the path of a Unix socket, in the spellings that kubelet and crictl accept.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The longest path that fits into the kernel's socket address, without its final zero.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// An absolute path to a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("a runtime's address is empty: give one such as unix:///run/containerd/containerd.sock")]
    Empty,
    #[error("a runtime's address {0:?} has a relative path: write unix:// and the whole path, from the first /")]
    Relative(String),
    #[error("a runtime's address {0:?} is not that of a Unix socket: only unix:// is supported")]
    Scheme(String),
    #[error("a runtime's address {0:?} names a path that cannot be a socket: {1}")]
    Path(String, &'static str),
}

impl Address {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let path = match text.split_once(':') {
            _ if text.is_empty() => return Err(AddressError::Empty),
            _ if text.starts_with('/') => text,
            Some(("unix", rest)) => rest.strip_prefix("//").unwrap_or(rest),
            Some((scheme, _)) if !scheme.contains('/') => return Err(AddressError::Scheme(text.to_owned())),
            _ => return Err(AddressError::Relative(text.to_owned())),
        };
        let unusable = |why| Err(AddressError::Path(text.to_owned(), why));
        match path {
            "" => Err(AddressError::Empty),
            path if !path.starts_with('/') => Err(AddressError::Relative(text.to_owned())),
            path if path.ends_with('/') => unusable("it is a directory"),
            path if path.contains('\0') => unusable("it contains a zero byte"),
            path if path.len() > MAX_SOCKET_PATH_BYTES => unusable("it is longer than 107 bytes"),
            path => Ok(Address { path: PathBuf::from(path) }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix://{}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_spellings_name_one_socket() {
        for text in ["unix:///run/a.sock", "unix:/run/a.sock", "/run/a.sock"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.path(), Path::new("/run/a.sock"));
            assert_eq!(address.to_string(), "unix:///run/a.sock");
        }
        assert_eq!("/run/a:b".parse::<Address>().unwrap().path(), Path::new("/run/a:b"));
    }

    #[test]
    fn what_is_not_the_path_of_a_socket_is_refused_with_its_reason() {
        let text = |text: &str| text.to_owned();
        let long = format!("/{}", "x".repeat(MAX_SOCKET_PATH_BYTES));
        let rows = [
            ("", AddressError::Empty),
            ("unix://", AddressError::Empty),
            ("unix:", AddressError::Empty),
            ("run/a.sock", AddressError::Relative(text("run/a.sock"))),
            ("run/a:b", AddressError::Relative(text("run/a:b"))),
            ("unix://run/a.sock", AddressError::Relative(text("unix://run/a.sock"))),
            ("unix:a.sock", AddressError::Relative(text("unix:a.sock"))),
            ("tcp://127.0.0.1:1", AddressError::Scheme(text("tcp://127.0.0.1:1"))),
            ("npipe://./pipe/a", AddressError::Scheme(text("npipe://./pipe/a"))),
            ("/run/", AddressError::Path(text("/run/"), "it is a directory")),
            ("/run/\0", AddressError::Path(text("/run/\0"), "it contains a zero byte")),
            (&long, AddressError::Path(long.clone(), "it is longer than 107 bytes")),
        ];
        for (given, error) in rows {
            assert_eq!(given.parse::<Address>(), Err(error));
        }
        assert!(long[..MAX_SOCKET_PATH_BYTES].parse::<Address>().is_ok());
    }
}
