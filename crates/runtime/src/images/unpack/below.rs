//! What the layers below hold at a path, as overlayfs would show it. Only read, and never through a symbolic link.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fgetxattr, makedev, openat, readlinkat, statat};
use rustix::io::Errno;

pub const OPAQUE: &str = "trusted.overlay.opaque";
pub const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::CLOEXEC);

/// The layers below, topmost first.
pub struct Below {
    layers: Vec<OwnedFd>,
}

/// What is found at a path.
pub enum Found {
    Nothing,
    Directory(OwnedFd),
    Symlink(Vec<u8>),
    File(OwnedFd),
    /// A device, a pipe or a socket.
    Special,
}

impl Below {
    pub fn open(lowest_first: &[PathBuf]) -> io::Result<Below> {
        let open = |path: &PathBuf| openat(rustix::fs::CWD, path, DIRECTORY, Mode::empty());
        let layers = lowest_first.iter().rev().map(open).collect::<Result<_, Errno>>()?;
        Ok(Below { layers })
    }

    /// Looks a path up; its components are names, no links and no `..`.
    pub fn find(&self, path: &[Vec<u8>]) -> io::Result<Found> {
        for layer in &self.layers {
            match look(layer, path)? {
                Look::Found(found) => return Ok(found),
                Look::Hidden => return Ok(Found::Nothing),
                Look::Deeper => {}
            }
        }
        Ok(Found::Nothing)
    }
}

enum Look {
    Found(Found),
    /// This layer says that nothing is there, whatever lies deeper.
    Hidden,
    Deeper,
}

fn look(layer: &OwnedFd, path: &[Vec<u8>]) -> io::Result<Look> {
    let mut opaque = false;
    let mut entered: Option<OwnedFd> = None;
    for (at, name) in path.iter().enumerate() {
        let directory = entered.as_ref().unwrap_or(layer);
        opaque |= is_opaque(directory)?;
        let stat = match statat(directory, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(if opaque { Look::Hidden } else { Look::Deeper }),
            Err(error) => return Err(error.into()),
        };
        let last = at + 1 == path.len();
        match FileType::from_raw_mode(stat.st_mode) {
            _ if is_whiteout(&stat) => return Ok(Look::Hidden),
            FileType::Directory => {
                entered = Some(openat(directory, name.as_slice(), DIRECTORY, Mode::empty())?);
            }
            _ if !last => return Ok(Look::Hidden),
            FileType::Symlink => {
                let target = readlinkat(directory, name.as_slice(), Vec::new())?;
                return Ok(Look::Found(Found::Symlink(target.into_bytes())));
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(directory, name.as_slice(), flags, Mode::empty())?;
                return Ok(Look::Found(Found::File(file)));
            }
            _ => return Ok(Look::Found(Found::Special)),
        }
    }
    match entered {
        Some(directory) => Ok(Look::Found(Found::Directory(directory))),
        None => Ok(Look::Found(Found::Directory(layer.try_clone()?))),
    }
}

/// A device 0:0 hides what lies deeper.
pub fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == makedev(0, 0)
}

fn is_opaque(directory: &OwnedFd) -> io::Result<bool> {
    let mut value = [0; 4];
    match fgetxattr(directory.as_fd(), OPAQUE, &mut value[..]) {
        Ok(length) => Ok(&value[..length] == b"y"),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::RANGE | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
