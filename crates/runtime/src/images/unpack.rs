//! Unpacks one layer into a directory, in the form that overlayfs stacks: whiteouts become devices 0:0 and opaque
//! attributes. A layer is hostile until proven otherwise: every path is walked component by component below the
//! directory, symbolic links are resolved inside it, and nothing outside is ever opened, written or linked.

mod below;
mod entries;
mod pax;
mod place;
mod sparse;
mod tree;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub(super) use below::{DIRECTORY, OPAQUE};
pub use entries::{Entries, Entry, Kind};

use self::place::Placer;
use super::compression;
use super::digest::{Digest, HashingReader};

/// A layer with more entries is refused.
const ENTRIES_MAX: usize = 4_000_000;
/// A layer that unpacks to more is refused; a small bomb would otherwise fill any disk.
const LAYER_BYTES_MAX: u64 = 256 << 30;
/// After the last entry tools pad with zeros, by no more than this.
const PADDING_BYTES_MAX: u64 = 64 << 20;

/// Why a layer cannot be unpacked.
#[derive(Debug, Error)]
pub enum UnpackError {
    #[error("the layer cannot be read: {0}")]
    Read(io::Error),
    #[error("the layer is no archive that can be read: {0}")]
    Format(&'static str),
    #[error("the layer's entry {path:?} is refused: {why}")]
    Refused { path: String, why: &'static str },
    #[error("the layer is too large: {0}")]
    TooLarge(&'static str),
    #[error("cannot write {path:?} of the layer: {source}")]
    Write { path: String, source: io::Error },
    #[error("cannot use the layers below: {0}")]
    Below(io::Error),
}

impl UnpackError {
    /// The system's error, where the machine rather than the layer is at fault.
    pub fn system(&self) -> Option<&io::Error> {
        match self {
            UnpackError::Write { source, .. } | UnpackError::Below(source) => Some(source),
            UnpackError::Read(_) | UnpackError::Format(_) | UnpackError::Refused { .. } | UnpackError::TooLarge(_) => {
                None
            }
        }
    }

    fn refused(path: &[u8], why: &'static str) -> UnpackError {
        UnpackError::Refused { path: shown(path), why }
    }

    fn write(path: &[u8], source: impl Into<io::Error>) -> UnpackError {
        UnpackError::Write { path: shown(path), source: source.into() }
    }
}

fn shown(path: &[u8]) -> String {
    const SHOWN_MAX: usize = 200;
    String::from_utf8_lossy(&path[..path.len().min(SHOWN_MAX)]).into_owned()
}

/// What came out of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The digest of the content without its packing: the layer's diff id.
    pub diff_id: Digest,
    pub bytes: u64,
    pub inodes: u64,
}

/// Unpacks a layer into an empty directory.
///
/// `below` are the unpacked layers under this one, lowest first. Directories that the layer only implies take their
/// owner and mode from there, and hard links to files from there bring them along.
pub fn unpack(packed: impl Read, directory: &Path, below: &[PathBuf]) -> Result<Unpacked, UnpackError> {
    let content = compression::unpacked(packed).map_err(UnpackError::Read)?;
    let mut entries = Entries::new(HashingReader::new(content));
    let mut placer = Placer::open(directory, below)?;
    let mut count = 0;
    while let Some(entry) = entries.next_entry()? {
        count += 1;
        if count > ENTRIES_MAX {
            return Err(UnpackError::TooLarge("it has too many entries"));
        }
        placer.place(&entry, &mut entries)?;
    }
    let (bytes, inodes) = placer.finish()?;
    // What follows the end mark belongs to the digest, too.
    let mut content = entries.into_inner();
    let padding = io::copy(&mut content.by_ref().take(PADDING_BYTES_MAX + 1), &mut io::sink());
    if padding.map_err(UnpackError::Read)? > PADDING_BYTES_MAX {
        return Err(UnpackError::TooLarge("much follows its end"));
    }
    let (diff_id, _) = content.finish();
    Ok(Unpacked { diff_id, bytes, inodes })
}

#[cfg(test)]
mod tests;
