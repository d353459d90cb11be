//! The file system of one container: the layers of its image, and a directory of its own on top.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::lgetxattr;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::error::Error;
use super::layout::{Discarded, Layout};
use super::unpack::OPAQUE;
use super::{HostImage, ImageId, Images, host};

const CONTAINER_ID_LENGTH_MAX: usize = 128;

/// What is mounted for a container; everything a mounter needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub container: String,
    pub image: ImageId,
    /// Topmost first.
    pub lower: Vec<PathBuf>,
    pub upper: Upper,
}

/// Where a container's changes go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Upper {
    Disk {
        upper: PathBuf,
        work: PathBuf,
    },
    /// On a tmpfs that the mounter makes: an overlay refuses an upper directory that lies inside its lower one.
    Memory,
}

/// What is noted on disk.
#[derive(Serialize, Deserialize)]
struct Note {
    image: ImageId,
    /// Chain ids, lowest first.
    layers: Vec<Digest>,
}

/// The notes of all snapshots, by container.
#[derive(Default)]
struct Notes {
    readable: Vec<(String, Note)>,
    damaged: Vec<String>,
}

impl Images {
    /// Makes a snapshot of an image (an id or a name) for a container.
    pub fn snapshot(&self, name_or_id: &str, container: &str) -> Result<Snapshot, Error> {
        let directory = self.snapshot_directory(container)?;
        let image = self.find(name_or_id)?.id;
        // Nothing is collected between the look at the image and the note that it is in use.
        let state = self.state();
        let layers = match state.records.get(&image) {
            Some(record) => record.layers.clone(),
            None if image == host::id() && self.shared.host_image == HostImage::Allowed => Vec::new(),
            None => return Err(Error::NotHere(name_or_id.to_owned())),
        };
        let note = Note { image, layers };
        let failed = |error| Error::system(format!("make the snapshot of container {container}"), error);
        if directory.exists() {
            return Err(Error::SnapshotExists(container.to_owned()));
        }
        let draft = Layout::fresh(&self.layout().staging());
        if let Err(error) = write_snapshot(&draft, &note).and_then(|()| fs::rename(&draft, &directory)) {
            let _ = self.layout().discard(&draft).and_then(Discarded::empty);
            return Err(failed(error));
        }
        Ok(self.described(container, &note))
    }

    /// The snapshot of a container, if it has one.
    pub fn find_snapshot(&self, container: &str) -> Result<Option<Snapshot>, Error> {
        let directory = self.snapshot_directory(container)?;
        Ok(read_note(&directory)?.map(|note| self.described(container, &note)))
    }

    /// Every snapshot, whoever made it; for whoever compares them with the containers there are. One whose note is
    /// damaged is left out, but can be removed.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, Error> {
        let notes = self.notes()?.readable;
        Ok(notes.iter().map(|(container, note)| self.described(container, note)).collect())
    }

    /// Removes a container's snapshot with everything the container wrote. What is not there is removed already.
    pub fn remove_snapshot(&self, container: &str) -> Result<(), Error> {
        let directory = self.snapshot_directory(container)?;
        let failed = |error| Error::system(format!("remove the snapshot of container {container}"), error);
        self.layout().discard(&directory).and_then(Discarded::empty).map_err(failed)
    }

    pub(super) fn snapshot_directory(&self, container: &str) -> Result<PathBuf, Error> {
        let word = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
        let valid = (1..=CONTAINER_ID_LENGTH_MAX).contains(&container.len())
            && container.bytes().all(word)
            && !container.starts_with('.');
        if !valid {
            return Err(Error::ContainerId(container.to_owned()));
        }
        Ok(self.layout().snapshots().join(container))
    }

    /// The layers that containers use; nothing if that is not known of all of them.
    pub(super) fn layers_of_snapshots(&self) -> Result<Option<Vec<Digest>>, Error> {
        let notes = self.notes()?;
        if let Some(container) = notes.damaged.first() {
            tracing::warn!(container, "the note of a snapshot is damaged; no layers are removed until it is");
            return Ok(None);
        }
        Ok(Some(notes.readable.into_iter().flat_map(|(_, note)| note.layers).collect()))
    }

    fn notes(&self) -> Result<Notes, Error> {
        let failed = |error| Error::system("read the snapshots", error);
        let mut notes = Notes::default();
        for entry in fs::read_dir(self.layout().snapshots()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(container) = entry.file_name().into_string() else { continue };
            match read_note(&entry.path()) {
                Ok(note) => notes.readable.extend(note.map(|note| (container, note))),
                Err(_) => notes.damaged.push(container),
            }
        }
        notes.readable.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(notes)
    }

    fn described(&self, container: &str, note: &Note) -> Snapshot {
        let (container, image) = (container.to_owned(), note.image);
        if image == host::id() {
            return Snapshot { container, image, lower: vec![PathBuf::from("/")], upper: Upper::Memory };
        }
        let directory = self.layout().snapshots().join(&container);
        let (upper, work) = (directory.join("upper"), directory.join("work"));
        let mut lower = Vec::new();
        for chain in note.layers.iter().rev() {
            let tree = self.layout().tree(chain);
            // overlayfs does not look for the mark at the root itself.
            let covers_all = is_opaque(&tree);
            lower.push(tree);
            if covers_all {
                break;
            }
        }
        if lower.is_empty() {
            lower.push(self.layout().empty());
        }
        Snapshot { container, image, lower, upper: Upper::Disk { upper, work } }
    }
}

fn write_snapshot(draft: &Path, note: &Note) -> io::Result<()> {
    fs::create_dir(draft)?;
    for name in ["upper", "work"] {
        fs::create_dir(draft.join(name))?;
    }
    // The root of the container looks like the root of an ordinary machine, whatever our umask is.
    fs::set_permissions(draft.join("upper"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // A snapshot without its note would not say which layers are in use.
    let mut file = fs::File::create_new(draft.join("snapshot.json"))?;
    file.write_all(&serde_json::to_vec(note)?)?;
    file.sync_all()
}

fn read_note(directory: &Path) -> Result<Option<Note>, Error> {
    let failed = |error| Error::system(format!("read the snapshot {directory:?}"), error);
    match fs::read(directory.join("snapshot.json")) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn is_opaque(tree: &Path) -> bool {
    let mut value = [0; 4];
    lgetxattr(tree, OPAQUE, &mut value[..]).is_ok_and(|length| &value[..length] == b"y")
}
