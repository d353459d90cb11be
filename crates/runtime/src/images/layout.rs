//! Where everything lies below the directory of the images, and how files appear there: written aside, then renamed,
//! so that a killed process leaves nothing half-visible.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::{Digest, Hasher};
use super::discard;
use super::error::Error;

/// The directory of the images.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

/// What is noted beside an unpacked layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFacts {
    pub diff_id: Digest,
    pub bytes: u64,
    pub inodes: u64,
}

impl Layout {
    /// Makes the directories.
    pub fn create(root: &Path) -> Result<Layout, Error> {
        let root = std::path::absolute(root).map_err(|error| Error::system("find the images", error))?;
        let layout = Layout { root };
        let directories = [layout.blobs(), layout.layers(), layout.snapshots(), layout.staging(), layout.trash()];
        for directory in directories.into_iter().chain([layout.empty()]) {
            fs::create_dir_all(&directory).map_err(|error| Error::system(format!("make {directory:?}"), error))?;
        }
        // Layers hold programs that run with the rights of their owners; other users of the machine must not start them.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&layout.root, private).map_err(|error| Error::system("guard the images", error))?;
        Ok(layout)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs/sha256")
    }

    pub fn blob(&self, digest: &Digest) -> PathBuf {
        self.blobs().join(digest.hex())
    }

    pub fn layers(&self) -> PathBuf {
        self.root.join("layers")
    }

    pub fn layer(&self, chain: &Digest) -> PathBuf {
        self.layers().join(chain.hex())
    }

    /// The unpacked files of a layer.
    pub fn tree(&self, chain: &Digest) -> PathBuf {
        self.layer(chain).join("diff")
    }

    /// What is known of a layer; nothing if it is not here.
    pub fn layer_facts(&self, chain: &Digest) -> Option<LayerFacts> {
        let bytes = fs::read(self.layer(chain).join("layer.json")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// What is being written; emptied at the start.
    pub fn staging(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// What is being removed; emptied at the start.
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// The lower directory of an image without layers.
    pub fn empty(&self) -> PathBuf {
        self.root.join("empty")
    }

    pub fn index(&self) -> PathBuf {
        self.root.join("index.json")
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// A name in a directory that nothing has.
    pub fn fresh(directory: &Path) -> PathBuf {
        directory.join(uuid::Uuid::new_v4().to_string())
    }

    /// Replaces a file as a whole, and survives a crash as a whole.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut draft = Draft::create(&self.staging())?;
        draft.write(bytes)?;
        draft.file.sync_all()?;
        draft.keep(path)?;
        File::open(path.parent().unwrap_or(&self.root))?.sync_all()
    }

    /// Moves something out of sight at once; it is removed when what is returned is emptied.
    pub fn discard(&self, path: &Path) -> io::Result<Discarded> {
        let directory = Layout::fresh(&self.trash());
        fs::create_dir(&directory)?;
        match fs::rename(path, directory.join("discarded")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                fs::remove_dir(&directory)?;
                Err(error)
            }
            Ok(()) | Err(_) => Ok(Discarded { directory }),
        }
    }

    /// Everything that was written so far survives a crash.
    pub fn sync(&self) -> Result<(), Error> {
        let synced = File::open(&self.root).and_then(|root| Ok(rustix::fs::syncfs(root)?));
        synced.map_err(|error| Error::system("write the images to the disk", error))
    }

    /// The digests that name the entries of a directory; what is not named so is left alone.
    pub fn digests_in(directory: &Path) -> io::Result<Vec<Digest>> {
        let mut digests = Vec::new();
        for entry in fs::read_dir(directory)? {
            digests.extend(entry?.file_name().to_str().and_then(|name| Digest::from_hex(name).ok()));
        }
        Ok(digests)
    }
}

/// Something out of sight that still takes room. Should nobody empty it, the next start does.
#[must_use]
pub struct Discarded {
    directory: PathBuf,
}

impl Discarded {
    pub fn empty(self) -> io::Result<()> {
        discard::empty(&self.directory)?;
        fs::remove_dir(&self.directory)
    }
}

/// A file in the making: gone when dropped, unless it was kept.
pub struct Draft {
    path: PathBuf,
    file: File,
    hasher: Hasher,
    length: u64,
}

impl Draft {
    pub fn create(directory: &Path) -> io::Result<Draft> {
        let path = Layout::fresh(directory);
        let file = File::options().create_new(true).write(true).open(&path)?;
        Ok(Draft { path, file, hasher: Hasher::default(), length: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn digest(&self) -> Digest {
        self.hasher.clone().finish()
    }

    /// Starts over.
    pub fn clear(&mut self) -> io::Result<()> {
        use std::io::Seek as _;
        self.file.set_len(0)?;
        self.file.rewind()?;
        (self.hasher, self.length) = (Hasher::default(), 0);
        Ok(())
    }

    /// Gives the file its name.
    pub fn keep(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Kept files have another name by now.
        let _ = fs::remove_file(&self.path);
    }
}
