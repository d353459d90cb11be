//! Puts entries into the tree: files, directories, links, devices, and whiteouts in the form of overlayfs.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Uid, XattrFlags, chmodat, chownat, fchmod, fchown, fsetxattr, futimens,
    linkat, makedev, mknodat, openat, statat, symlinkat,
};
use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use super::below::{DIRECTORY, Found, is_whiteout};
use super::entries::{Entry, Kind};
use super::sparse::SparseMap;
use super::tree::{Place, Tree, copy_facts, remove, set_opaque, set_times};
use super::{LAYER_BYTES_MAX, UnpackError};

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE_MARK: &[u8] = b".wh..wh..opq";
/// Marks of an old file system about itself.
const AUFS: &[u8] = b".wh..wh.";
const CHUNK_BYTES: usize = 128 * 1024;
/// Holes are left where this many zeros come in a row.
const HOLE_BYTES: usize = 4096;

/// The components of a path.
type Names = Vec<Vec<u8>>;

/// Puts entries into one tree.
pub struct Placer {
    tree: Tree,
    /// Writing into a directory changes its time, so times are set at the end.
    times: Vec<(Names, (i64, u32))>,
    bytes: u64,
    inodes: u64,
    chunk: Vec<u8>,
}

/// Where an entry goes.
struct Target {
    place: Place,
    name: Vec<u8>,
    full: Vec<u8>,
}

impl Target {
    fn directory(&self) -> &OwnedFd {
        &self.place.directory
    }

    fn path(&self) -> Vec<Vec<u8>> {
        let mut path = self.place.path.clone();
        path.push(self.name.clone());
        path
    }

    fn failed(&self, error: impl Into<io::Error>) -> UnpackError {
        UnpackError::write(&self.full, error)
    }
}

impl Placer {
    pub fn open(directory: &Path, below: &[PathBuf]) -> Result<Placer, UnpackError> {
        let (times, chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
        Ok(Placer { tree: Tree::open(directory, below)?, times, bytes: 0, inodes: 1, chunk })
    }

    /// Puts one entry, whose content follows.
    pub fn place(&mut self, entry: &Entry, content: &mut impl Read) -> Result<(), UnpackError> {
        let Some(target) = self.target(&entry.path)? else { return self.root(entry) };
        if target.name.starts_with(WHITEOUT) {
            return self.whiteout(&target);
        }
        if let Kind::Directory = entry.kind {
            return self.directory(&target, entry);
        }
        self.clear(&target)?;
        match &entry.kind {
            Kind::File(map) => self.file(&target, entry, map.as_ref(), content)?,
            Kind::HardLink(original) => return self.hard_link(&target, original),
            Kind::Symlink(points_to) => {
                if points_to.is_empty() || points_to.contains(&0) {
                    return Err(UnpackError::refused(&entry.path, "it points nowhere"));
                }
                let made = symlinkat(points_to.as_slice(), target.directory(), target.name.as_slice());
                made.map_err(|error| target.failed(error))?;
                self.tree.forget();
            }
            Kind::CharacterDevice(major, minor) => node(&target, FileType::CharacterDevice, (*major, *minor))?,
            Kind::BlockDevice(major, minor) => node(&target, FileType::BlockDevice, (*major, *minor))?,
            Kind::Fifo => node(&target, FileType::Fifo, (0, 0))?,
            Kind::Directory => {}
        }
        self.inodes += 1;
        if let Kind::File(_) = entry.kind { Ok(()) } else { describe(&target, entry) }
    }

    /// Sets the times of directories; says how much was written.
    pub fn finish(mut self) -> Result<(u64, u64), UnpackError> {
        self.tree.forget();
        for (path, time) in std::mem::take(&mut self.times) {
            let set = |directory: &OwnedFd| set_times(directory, b".", time);
            if let Some(directory) = existing(&self.tree.root(), &path) {
                set(&directory).map_err(|error| UnpackError::write(&path.join(&b'/'), error))?;
            }
        }
        Ok((self.bytes, self.inodes + self.tree.inodes_made))
    }

    /// The place of an entry; nothing for the root itself.
    fn target(&mut self, path: &[u8]) -> Result<Option<Target>, UnpackError> {
        let mut components = components(path)?;
        let Some(name) = components.pop() else { return Ok(None) };
        let place = self.tree.directory(&components)?;
        Ok(Some(Target { place, name, full: path.to_vec() }))
    }

    fn root(&mut self, entry: &Entry) -> Result<(), UnpackError> {
        if entry.kind != Kind::Directory {
            return Err(UnpackError::refused(&entry.path, "only a directory can be the root"));
        }
        let root = self.tree.root();
        describe_open(&root, entry).map_err(|error| UnpackError::write(&entry.path, error))?;
        self.times.push((Vec::new(), entry.modified));
        Ok(())
    }

    /// Makes a directory, or describes the one that is there.
    fn directory(&mut self, target: &Target, entry: &Entry) -> Result<(), UnpackError> {
        let found = statat(target.directory(), target.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
        let kind = found.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode)).ok();
        let directory = if kind == Some(FileType::Directory) {
            let open = openat(target.directory(), target.name.as_slice(), DIRECTORY, Mode::empty());
            open.map_err(|error| target.failed(error))?
        } else {
            self.clear(target)?;
            let made = self.tree.make(target.directory(), &target.name, &target.full)?;
            // It was removed below and made anew: nothing of the old one shows through.
            if found.is_ok_and(|stat| is_whiteout(&stat)) {
                set_opaque(&made).map_err(|error| target.failed(error))?;
            }
            made
        };
        describe_open(&directory, entry).map_err(|error| target.failed(error))?;
        self.times.push((target.path(), entry.modified));
        Ok(())
    }

    /// Removes what an earlier entry put there.
    fn clear(&mut self, target: &Target) -> Result<(), UnpackError> {
        match statat(target.directory(), target.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(target.failed(error)),
            Ok(_) => {
                self.tree.forget();
                remove(target.directory(), &target.name).map_err(|error| target.failed(error))
            }
        }
    }

    fn whiteout(&mut self, target: &Target) -> Result<(), UnpackError> {
        if target.name == OPAQUE_MARK {
            return set_opaque(target.directory()).map_err(|error| target.failed(error));
        }
        if target.name.starts_with(AUFS) {
            return Ok(());
        }
        let name = &target.name[WHITEOUT.len()..];
        if name.is_empty() || name == b"." || name == b".." {
            return Err(UnpackError::refused(&target.full, "it is a whiteout of nothing"));
        }
        let hidden = Target { place: target.place.clone(), name: name.to_vec(), full: target.full.clone() };
        // A whiteout is about the layers below only: what this layer itself has stays.
        match statat(hidden.directory(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                let inside = openat(hidden.directory(), name, DIRECTORY, Mode::empty());
                inside.and_then(|directory| set_opaque(&directory)).map_err(|error| hidden.failed(error))
            }
            Ok(_) => Ok(()),
            Err(Errno::NOENT) => match self.tree.find_below(&hidden.path())? {
                // In a directory of one layer only, overlayfs would show the mark itself.
                Found::Nothing => Ok(()),
                Found::Directory(_) | Found::File(_) | Found::Symlink(_) | Found::Special => {
                    self.inodes += 1;
                    node(&hidden, FileType::CharacterDevice, (0, 0))
                }
            },
            Err(error) => Err(hidden.failed(error)),
        }
    }

    fn hard_link(&mut self, target: &Target, original: &[u8]) -> Result<(), UnpackError> {
        let outside = || UnpackError::refused(&target.full, "it is a hard link to something that is not in the image");
        let Some(source) = self.target(original)? else { return Err(outside()) };
        let found = statat(source.directory(), source.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
        if found.is_err_and(|error| error == Errno::NOENT) {
            match self.tree.find_below(&source.path())? {
                Found::File(file) => self.bring_up(&source, file)?,
                Found::Nothing | Found::Directory(_) | Found::Symlink(_) | Found::Special => return Err(outside()),
            }
        }
        let (from, to) = (source.directory(), target.directory());
        match linkat(from, source.name.as_slice(), to, target.name.as_slice(), AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::PERM | Errno::NOENT) => Err(outside()),
            Err(error) => Err(target.failed(error)),
        }
    }

    /// Copies a file from below, so that it can be linked in this layer.
    fn bring_up(&mut self, target: &Target, original: OwnedFd) -> Result<(), UnpackError> {
        let mut copy = create(target)?;
        let mut original = File::from(original);
        let copied = io::copy(&mut original, &mut copy).map_err(|error| target.failed(error))?;
        self.count(copied)?;
        self.inodes += 1;
        let (original, copy) = (OwnedFd::from(original), OwnedFd::from(copy));
        copy_facts(&original, &copy).map_err(|error| target.failed(error))?;
        copy_capabilities(&original, &copy).map_err(|error| target.failed(error))
    }

    fn file(
        &mut self,
        target: &Target,
        entry: &Entry,
        map: Option<&SparseMap>,
        content: &mut impl Read,
    ) -> Result<(), UnpackError> {
        let mut file = create(target)?;
        match map {
            None => self.copy(target, &mut file, content, entry.size)?,
            Some(map) => {
                for (offset, length) in &map.pieces {
                    file.seek(SeekFrom::Start(*offset)).map_err(|error| target.failed(error))?;
                    self.copy(target, &mut file, content, *length)?;
                }
                file.set_len(map.real_size).map_err(|error| target.failed(error))?;
            }
        }
        let file = OwnedFd::from(file);
        describe_open(&file, entry).map_err(|error| target.failed(error))?;
        let time = Timespec { tv_sec: entry.modified.0, tv_nsec: i64::from(entry.modified.1) };
        futimens(&file, &Timestamps { last_access: time, last_modification: time })
            .map_err(|error| target.failed(error))
    }

    /// Copies content; long runs of zeros become holes.
    fn copy(
        &mut self,
        target: &Target,
        file: &mut File,
        content: &mut impl Read,
        length: u64,
    ) -> Result<(), UnpackError> {
        self.count(length)?;
        let mut left = length;
        let mut ends_in_hole = false;
        while left > 0 {
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            content.read_exact(&mut self.chunk[..want]).map_err(UnpackError::Read)?;
            for piece in self.chunk[..want].chunks(HOLE_BYTES) {
                ends_in_hole = piece.len() == HOLE_BYTES && piece.iter().all(|byte| *byte == 0);
                let put = if ends_in_hole {
                    file.seek(SeekFrom::Current(HOLE_BYTES as i64)).map(|_| ())
                } else {
                    file.write_all(piece)
                };
                put.map_err(|error| target.failed(error))?;
            }
            left -= want as u64;
        }
        if ends_in_hole {
            let end = file.stream_position().map_err(|error| target.failed(error))?;
            file.set_len(end).map_err(|error| target.failed(error))?;
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), UnpackError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > LAYER_BYTES_MAX { Err(UnpackError::TooLarge("its files are too long")) } else { Ok(()) }
    }
}

/// The names along a path; `..` has no business in a layer.
fn components(path: &[u8]) -> Result<Vec<Vec<u8>>, UnpackError> {
    if path.contains(&0) {
        return Err(UnpackError::refused(path, "its name has a zero byte"));
    }
    let parts: Vec<&[u8]> = path.split(|c| *c == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    if parts.contains(&&b".."[..]) {
        return Err(UnpackError::refused(path, "its name leads upwards (..)"));
    }
    Ok(parts.into_iter().map(<[u8]>::to_vec).collect())
}

/// The directory at a path without links, if it is still there.
fn existing(root: &Rc<OwnedFd>, path: &[Vec<u8>]) -> Option<OwnedFd> {
    let mut here = root.try_clone().ok()?;
    for name in path {
        here = openat(&here, name.as_slice(), DIRECTORY, Mode::empty()).ok()?;
    }
    Some(here)
}

/// A new file; nothing that exists is ever opened for writing.
fn create(target: &Target) -> Result<File, UnpackError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(target.directory(), target.name.as_slice(), flags, Mode::from_raw_mode(0o600));
    opened.map(File::from).map_err(|error| target.failed(error))
}

fn node(target: &Target, kind: FileType, (major, minor): (u32, u32)) -> Result<(), UnpackError> {
    let device = makedev(major, minor);
    let made = mknodat(target.directory(), target.name.as_slice(), kind, Mode::from_raw_mode(0o600), device);
    made.map_err(|error| target.failed(error))
}

/// Owner, mode and times of what is not opened: links, devices, pipes.
fn describe(target: &Target, entry: &Entry) -> Result<(), UnpackError> {
    let (directory, name) = (target.directory(), target.name.as_slice());
    let (uid, gid) = (Some(Uid::from_raw(entry.uid)), Some(Gid::from_raw(entry.gid)));
    let described = chownat(directory, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW).and_then(|()| match entry.kind {
        Kind::Symlink(_) => Ok(()),
        _ => chmodat(directory, name, Mode::from_raw_mode(entry.mode), AtFlags::empty()),
    });
    let described = described.and_then(|()| set_times(directory, name, entry.modified));
    described.map_err(|error| target.failed(error))
}

/// Owner, mode and attributes of a file or directory. The owner comes first: changing it drops the other two.
fn describe_open(file: &OwnedFd, entry: &Entry) -> Result<(), Errno> {
    fchown(file, Some(Uid::from_raw(entry.uid)), Some(Gid::from_raw(entry.gid)))?;
    fchmod(file, Mode::from_raw_mode(entry.mode))?;
    for (name, value) in entry.xattrs.iter().filter(|(name, _)| is_allowed(name)) {
        match fsetxattr(file, name.as_slice(), value, XattrFlags::empty()) {
            // Not every file system has them; the program works without.
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Attributes that belong to content. Those of overlayfs itself would let a layer redirect lookups.
fn is_allowed(name: &[u8]) -> bool {
    const CAPABILITIES: &[u8] = b"security.capability";
    let access_list = [&b"system.posix_acl_access"[..], b"system.posix_acl_default"].contains(&name);
    name == CAPABILITIES || access_list || (name.starts_with(b"user.") && !name.starts_with(b"user.overlay."))
}

fn copy_capabilities(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    const NAME: &str = "security.capability";
    let mut value = [0; 64];
    match rustix::fs::fgetxattr(from, NAME, &mut value[..]) {
        Ok(length) => fsetxattr(to, NAME, &value[..length], XattrFlags::empty()),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error),
    }
}
