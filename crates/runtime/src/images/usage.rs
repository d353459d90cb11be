//! How much room images and containers take. Trees that a container writes to are walked without following links.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, openat, statat};
use rustix::io::Errno;

use super::Images;
use super::error::Error;
use super::layout::Layout;
use super::snapshot::Upper;
use super::unpack::DIRECTORY;

/// What lies deeper is not counted: each step holds a file descriptor.
const DEPTH_MAX: usize = 256;
const BLOCK_BYTES: u64 = 512;

/// Room on a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub inodes: u64,
}

impl Images {
    /// Where the images lie.
    pub fn directory(&self) -> &Path {
        self.layout().root()
    }

    /// What all images take: unpacked layers and documents.
    pub fn usage(&self) -> Result<Usage, Error> {
        let failed = |error| Error::system("measure the images", error);
        let mut usage = Usage::default();
        for chain in Layout::digests_in(&self.layout().layers()).map_err(failed)? {
            if let Some(facts) = self.layout().layer_facts(&chain) {
                usage.bytes += facts.bytes;
                usage.inodes += facts.inodes;
            }
        }
        let blobs = measured(&self.layout().blobs()).map_err(failed)?;
        Ok(Usage { bytes: usage.bytes + blobs.bytes, inodes: usage.inodes + blobs.inodes })
    }

    /// What a container has written; nothing is known of one that writes to memory.
    pub fn snapshot_usage(&self, container: &str) -> Result<Usage, Error> {
        let snapshot = self.find_snapshot(container)?;
        let snapshot = snapshot.ok_or_else(|| Error::NotHere(format!("snapshot of container {container}")))?;
        match snapshot.upper {
            Upper::Memory => Ok(Usage::default()),
            Upper::Disk { upper, .. } => {
                measured(&upper).map_err(|error| Error::system(format!("measure container {container}"), error))
            }
        }
    }
}

/// Measures a tree; something that vanishes meanwhile is not counted.
fn measured(tree: &Path) -> io::Result<Usage> {
    let mut usage = Usage::default();
    let mut linked = HashSet::new();
    let top = openat(CWD, tree, DIRECTORY, Mode::empty())?;
    let mut open = vec![(Dir::read_from(&top)?, top)];
    while let Some((entries, directory)) = open.last_mut() {
        let Some(entry) = entries.read() else {
            open.pop();
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let Ok(stat) = statat(&*directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        // Another name of a file is no other file.
        if is_directory || stat.st_nlink < 2 || linked.insert((stat.st_dev, stat.st_ino)) {
            usage.inodes += 1;
            usage.bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * BLOCK_BYTES;
        }
        let below = if is_directory { entered(directory, name)? } else { None };
        if let Some(below) = below.filter(|_| open.len() < DEPTH_MAX) {
            open.push((Dir::read_from(&below)?, below));
        }
    }
    Ok(usage)
}

fn entered(directory: &OwnedFd, name: &std::ffi::CStr) -> io::Result<Option<OwnedFd>> {
    match openat(directory, name, DIRECTORY, Mode::empty()) {
        Ok(below) => Ok(Some(below)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
