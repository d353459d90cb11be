//! The files that keep namespaces alive: bind mounts of `/proc/thread-self/ns/*`, on a mount that nobody else sees.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, statfs};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_bind, mount_change, unmount};

use super::{Kind, NamespaceError};

/// The magic number of the file system that namespaces are files of.
const NSFS_MAGIC: i64 = 0x6e73_6673;

/// More mounts than anyone puts on one file.
const MAX_STACKED: usize = 64;

/// Makes a directory a private mount, so that pins below it appear in no other mount namespace, where they would keep
/// namespaces alive that were unpinned here. Does nothing when it is one already.
pub fn make_private(directory: &Path) -> Result<(), NamespaceError> {
    fs::create_dir_all(directory).map_err(|error| NamespaceError::file("cannot make", directory, error))?;
    let directory = directory.canonicalize().map_err(|error| NamespaceError::file("cannot find", directory, error))?;
    if !is_mount_point(&directory)? {
        mount_bind(&directory, &directory)
            .map_err(|error| NamespaceError::file("cannot make a mount of", &directory, error))?;
    }
    mount_change(&directory, MountPropagationFlags::PRIVATE)
        .map_err(|error| NamespaceError::file("cannot make private", &directory, error))
}

/// Whether a path is a pinned namespace; a file that lost its mount, as after a reboot, is none.
pub fn is_pinned(path: &Path) -> bool {
    // The width of the type field depends on the platform.
    #[allow(clippy::unnecessary_cast)]
    statfs(path).is_ok_and(|filesystem| filesystem.f_type as i64 == NSFS_MAGIC)
}

/// Removes the pins of a directory, and the directory when nothing else is in it. What is already gone is no error.
pub fn unpin(directory: &Path) -> Result<(), NamespaceError> {
    for kind in Kind::ALL {
        remove(&kind.pin_in(directory))?;
    }
    match fs::remove_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        other => gone(other).map_err(|error| NamespaceError::file("cannot remove", directory, error)),
    }
}

/// Pins the namespace that the calling thread is in.
pub(super) fn make(directory: &Path, kind: Kind) -> Result<(), NamespaceError> {
    let pin = kind.pin_in(directory);
    File::create(&pin).map_err(|error| NamespaceError::file("cannot make", &pin, error))?;
    let own = PathBuf::from("/proc/thread-self/ns").join(kind.name());
    mount_bind(&own, &pin).map_err(|error| NamespaceError::file("cannot pin a namespace at", &pin, error))
}

/// A pin may be several mounts on top of each other; as long as one is left, the file is busy.
fn remove(pin: &Path) -> Result<(), NamespaceError> {
    for _ in 0..MAX_STACKED {
        match unmount(pin, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(error) => return Err(NamespaceError::file("cannot unmount", pin, error)),
        }
        match fs::remove_file(pin) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            other => return gone(other).map_err(|error| NamespaceError::file("cannot remove", pin, error)),
        }
    }
    Err(NamespaceError::file("too much is mounted on", pin, Errno::BUSY))
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Compares mounts rather than devices: a bind mount of a directory on itself has the same device.
fn is_mount_point(directory: &Path) -> Result<bool, NamespaceError> {
    let mount_of = |path: &Path| {
        rustix::fs::statx(CWD, path, rustix::fs::AtFlags::empty(), rustix::fs::StatxFlags::MNT_ID)
            .map(|status| status.stx_mnt_id)
            .map_err(|error| NamespaceError::file("cannot examine", path, error))
    };
    let Some(parent) = directory.parent() else { return Ok(true) };
    Ok(mount_of(directory)? != mount_of(parent)?)
}
