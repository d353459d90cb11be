//! The namespaces of a sandbox, kept alive by mounts instead of a process.
//!
//! A thread of its own leaves the host's namespaces, prepares the new ones (host name, kernel parameters, loopback) and
//! pins each by a bind mount on a file; then the thread ends and the pins stay. Addresses and links are `network`'s.

mod pins;
mod sysctls;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

pub use pins::{is_pinned, make_private, unpin};
pub use sysctls::SysctlError;

use crate::network::links;

/// The longest host name that the kernel takes.
const MAX_HOSTNAME: usize = 64;

/// A namespace that a sandbox can have to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Network,
    Ipc,
    Uts,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Network, Self::Ipc, Self::Uts];

    /// As in `/proc/<pid>/ns`, and the name of the pin.
    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "net",
            Self::Ipc => "ipc",
            Self::Uts => "uts",
        }
    }

    /// Where a directory of pins has this namespace.
    pub fn pin_in(self, directory: &Path) -> PathBuf {
        directory.join(self.name())
    }

    fn flag(self) -> UnshareFlags {
        match self {
            Self::Network => UnshareFlags::NEWNET,
            Self::Ipc => UnshareFlags::NEWIPC,
            Self::Uts => UnshareFlags::NEWUTS,
        }
    }
}

/// What the new namespaces are to be.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The namespaces to make; the others stay the host's.
    pub kinds: Vec<Kind>,
    /// Needs a UTS namespace.
    pub hostname: Option<String>,
    /// Kernel parameters, each belonging to one of the namespaces to make.
    pub sysctls: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{0} has pins of namespaces already; unpin them first")]
    Exists(PathBuf),
    #[error("a new namespace could not be made: {0} (root with CAP_SYS_ADMIN is needed)")]
    Unshare(io::Error),
    #[error("{path} is no network namespace that can be entered: {source}")]
    Enter { path: PathBuf, source: io::Error },
    #[error("the host name {name:?} cannot be set: {reason}")]
    Hostname { name: String, reason: String },
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    #[error("loopback could not be brought up: {0}")]
    Loopback(links::LinkError),
    #[error("no thread could be started: {0}")]
    Thread(io::Error),
    #[error("the thread in the namespace panicked")]
    Panicked,
}

impl NamespaceError {
    fn file(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::File { action, path: path.to_owned(), source: source.into() }
    }
}

/// Makes the wanted namespaces and pins them in a directory; on failure nothing of them stays.
///
/// The directory must lie below one that was given to [`make_private`].
pub fn pin(directory: &Path, wanted: &Wanted) -> Result<(), NamespaceError> {
    let parameters = sysctls::check(&wanted.sysctls, &wanted.kinds)?;
    check_hostname(wanted)?;
    if Kind::ALL.iter().any(|kind| kind.pin_in(directory).exists()) {
        return Err(NamespaceError::Exists(directory.to_owned()));
    }
    std::fs::create_dir_all(directory).map_err(|error| NamespaceError::file("cannot make", directory, error))?;
    let made = on_a_thread("namespaces", || {
        leave(&wanted.kinds)?;
        if let Some(name) = &wanted.hostname {
            set_hostname(name)?;
        }
        if wanted.kinds.contains(&Kind::Network) {
            links::bring_loopback_up().map_err(NamespaceError::Loopback)?;
        }
        sysctls::apply(&parameters)?;
        wanted.kinds.iter().try_for_each(|kind| pins::make(directory, *kind))
    });
    if made.is_err() {
        // The first error says more than one about cleaning up; what stays is found again by `unpin`.
        let _ = unpin(directory);
    }
    made
}

/// Runs a closure on a thread of its own inside a network namespace.
pub fn enter<T: Send>(netns: &Path, inside: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
    let cannot = |source: io::Error| NamespaceError::Enter { path: netns.to_owned(), source };
    let target = File::open(netns).map_err(cannot)?;
    on_a_thread("in-netns", || {
        move_into_link_name_space(target.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| cannot(error.into()))?;
        Ok(inside())
    })
}

/// A thread that changes namespaces must not serve anything else afterwards.
fn on_a_thread<T: Send>(
    name: &str,
    work: impl FnOnce() -> Result<T, NamespaceError> + Send,
) -> Result<T, NamespaceError> {
    thread::scope(|scope| {
        let started = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
        started.map_err(NamespaceError::Thread)?.join().map_err(|_| NamespaceError::Panicked)?
    })
}

fn leave(kinds: &[Kind]) -> Result<(), NamespaceError> {
    let flags = kinds.iter().map(|kind| kind.flag()).fold(UnshareFlags::empty(), |all, one| all | one);
    // SAFETY: none of the flags is CLONE_FILES: the thread keeps sharing its descriptors with the others.
    #[allow(unsafe_code)]
    let left = unsafe { rustix::thread::unshare_unsafe(flags) };
    left.map_err(|error| NamespaceError::Unshare(error.into()))
}

fn check_hostname(wanted: &Wanted) -> Result<(), NamespaceError> {
    let Some(name) = &wanted.hostname else { return Ok(()) };
    let refuse = |reason: &str| Err(NamespaceError::Hostname { name: name.clone(), reason: reason.to_owned() });
    if !wanted.kinds.contains(&Kind::Uts) {
        return refuse("the sandbox has the host's UTS namespace");
    }
    if name.is_empty() || name.len() > MAX_HOSTNAME {
        return refuse("it must have 1 to 64 bytes");
    }
    Ok(())
}

fn set_hostname(name: &str) -> Result<(), NamespaceError> {
    rustix::system::sethostname(name.as_bytes())
        .map_err(|error: Errno| NamespaceError::Hostname { name: name.to_owned(), reason: error.to_string() })
}
