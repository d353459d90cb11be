//! The tree being written: finds the directory that an entry belongs into, one component at a time, each opened
//! below the one before and never through a symbolic link. Links that the image has on the way are followed inside
//! the image, as the container itself would follow them.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::Timespec;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, Timestamps, Uid, XattrFlags, fchmod, fchown, fsetxattr, fstat, mkdirat,
    openat, readlinkat, statat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::UnpackError;
use super::below::{Below, DIRECTORY, Found, OPAQUE, is_whiteout};

/// Deeper paths are refused: each step holds a file descriptor.
const DEPTH_MAX: usize = 256;
const LINKS_MAX: usize = 40;

/// The tree and what lies below it.
pub struct Tree {
    root: Rc<OwnedFd>,
    below: Below,
    /// Entries come grouped by directory; the last one found is kept.
    last: Option<(Vec<Vec<u8>>, Place)>,
    pub inodes_made: u64,
}

/// A directory of the tree, and its path without links.
#[derive(Clone)]
pub struct Place {
    pub directory: Rc<OwnedFd>,
    pub path: Vec<Vec<u8>>,
}

enum Step {
    Entered(OwnedFd),
    Link(Vec<u8>),
}

impl Tree {
    pub fn open(directory: &Path, below: &[PathBuf]) -> Result<Tree, UnpackError> {
        let root = openat(CWD, directory, DIRECTORY, Mode::empty()).map_err(|error| UnpackError::write(b".", error))?;
        let below = Below::open(below).map_err(UnpackError::Below)?;
        Ok(Tree { root: Rc::new(root), below, last: None, inodes_made: 0 })
    }

    pub fn root(&self) -> Rc<OwnedFd> {
        Rc::clone(&self.root)
    }

    /// Must be called when something was replaced: a directory that was found may no longer be there.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// What lies below at a path.
    pub fn find_below(&self, path: &[Vec<u8>]) -> Result<Found, UnpackError> {
        self.below.find(path).map_err(UnpackError::Below)
    }

    /// The directory at a path; it and those above it are made if they are missing.
    pub fn directory(&mut self, path: &[Vec<u8>]) -> Result<Place, UnpackError> {
        if let Some((_, place)) = self.last.as_ref().filter(|(known, _)| known == path) {
            return Ok(place.clone());
        }
        let place = self.walk(path)?;
        self.last = Some((path.to_vec(), place.clone()));
        Ok(place)
    }

    fn walk(&mut self, path: &[Vec<u8>]) -> Result<Place, UnpackError> {
        let full = path.join(&b'/');
        let mut ahead: VecDeque<Vec<u8>> = path.iter().cloned().collect();
        let mut entered: Vec<(Rc<OwnedFd>, Vec<u8>)> = Vec::new();
        let mut links = 0;
        while let Some(name) = ahead.pop_front() {
            if name == b".." {
                // Only a link can say so; above the root there is the root.
                entered.pop();
                continue;
            }
            let here = entered.last().map_or(&self.root, |(directory, _)| directory);
            let here = Rc::clone(here);
            let mut names: Vec<Vec<u8>> = entered.iter().map(|(_, name)| name.clone()).collect();
            names.push(name.clone());
            match self.step(&here, &names)? {
                Step::Entered(_) if entered.len() == DEPTH_MAX => {
                    return Err(UnpackError::refused(&full, "it lies too deep"));
                }
                Step::Entered(directory) => entered.push((Rc::new(directory), name)),
                Step::Link(_) if links == LINKS_MAX => {
                    return Err(UnpackError::refused(&full, "too many symbolic links lead to it"));
                }
                Step::Link(target) => {
                    links += 1;
                    if target.starts_with(b"/") {
                        entered.clear();
                    }
                    let parts = target.split(|c| *c == b'/').filter(|part| !part.is_empty() && *part != b".");
                    parts.rev().for_each(|part| ahead.push_front(part.to_vec()));
                }
            }
        }
        let directory = entered.last().map_or_else(|| Rc::clone(&self.root), |(directory, _)| Rc::clone(directory));
        Ok(Place { directory, path: entered.into_iter().map(|(_, name)| name).collect() })
    }

    /// One component: what is there, here or below; made if it is nowhere.
    fn step(&mut self, here: &OwnedFd, path: &[Vec<u8>]) -> Result<Step, UnpackError> {
        let full = path.join(&b'/');
        let failed = |error: Errno| UnpackError::write(&full, error);
        let Some(name) = path.last() else { return Err(UnpackError::refused(&full, "it has no name")) };
        let stat = match statat(here, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.implied(here, path),
            Err(error) => return Err(failed(error)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                openat(here, name.as_slice(), DIRECTORY, Mode::empty()).map(Step::Entered).map_err(failed)
            }
            FileType::Symlink => {
                let target = readlinkat(here, name.as_slice(), Vec::new()).map_err(failed)?;
                Ok(Step::Link(target.into_bytes()))
            }
            _ if is_whiteout(&stat) => {
                unlinkat(here, name.as_slice(), AtFlags::empty()).map_err(failed)?;
                let made = self.make(here, name, &full)?;
                set_opaque(&made).map_err(failed)?;
                Ok(Step::Entered(made))
            }
            _ => Err(UnpackError::refused(&full, "something lies below it, but it is no directory")),
        }
    }

    /// A directory that the layer does not mention looks as it does below.
    fn implied(&mut self, here: &OwnedFd, path: &[Vec<u8>]) -> Result<Step, UnpackError> {
        let full = path.join(&b'/');
        let name = path.last().map(Vec::as_slice).unwrap_or_default();
        match self.find_below(path)? {
            Found::Symlink(target) => Ok(Step::Link(target)),
            Found::Directory(original) => {
                let made = self.make(here, name, &full)?;
                copy_facts(&original, &made).map_err(|error| UnpackError::write(&full, error))?;
                Ok(Step::Entered(made))
            }
            Found::Nothing | Found::File(_) | Found::Special => Ok(Step::Entered(self.make(here, name, &full)?)),
        }
    }

    /// A new directory with the mode of a directory that nobody described.
    pub fn make(&mut self, here: &OwnedFd, name: &[u8], full: &[u8]) -> Result<OwnedFd, UnpackError> {
        let failed = |error: Errno| UnpackError::write(full, error);
        mkdirat(here, name, Mode::from_raw_mode(0o755)).map_err(failed)?;
        self.inodes_made += 1;
        let made = openat(here, name, DIRECTORY, Mode::empty()).map_err(failed)?;
        fchmod(&made, Mode::from_raw_mode(0o755)).map_err(failed)?;
        Ok(made)
    }
}

pub fn set_opaque(directory: &OwnedFd) -> Result<(), Errno> {
    fsetxattr(directory, OPAQUE, b"y", XattrFlags::empty())
}

/// Owner, mode and times of a file or directory, given to another.
pub fn copy_facts(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let stat = fstat(from)?;
    fchown(to, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
    fchmod(to, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    let time = Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec.cast_signed() };
    rustix::fs::futimens(to, &Timestamps { last_access: time, last_modification: time })
}

/// Sets both times of what lies at a name, even if it is a link.
pub fn set_times(directory: &OwnedFd, name: &[u8], (seconds, nanos): (i64, u32)) -> Result<(), Errno> {
    let time = Timespec { tv_sec: seconds, tv_nsec: i64::from(nanos) };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(directory, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// Removes what lies at a name, with everything in it; nothing in a tree is deeper than it was made.
pub fn remove(directory: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR) => {}
        Err(error) => return Err(error.into()),
    }
    let inside = openat(directory, name, DIRECTORY, Mode::empty())?;
    for entry in Dir::read_from(&inside)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            remove(&inside, name)?;
        }
    }
    Ok(unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}
