//! Images: fetched or loaded, kept by content, unpacked into snapshots.
//!
//! One process owns a directory of images; everything in it is written aside and renamed, and what a killed process
//! left behind is removed when the directory is opened again. What is in use is what a snapshot is made of: nobody
//! has to tell, and it is never removed.

mod collect;
pub mod compression;
pub mod config;
pub mod digest;
mod discard;
mod error;
pub mod host;
mod layers;
mod layout;
mod leases;
mod load;
pub mod manifest;
pub mod overlay;
mod pull;
mod records;
pub mod reference;
pub mod registry;
mod snapshot;
pub mod unpack;
mod usage;
pub mod user;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub use collect::Collected;
pub use error::{Error, ErrorKind};
pub use load::Loaded;
pub use pull::{Progress, Transfer};
pub use snapshot::{Snapshot, Upper};
pub use usage::Usage;

use self::config::Config;
use self::digest::Digest;
use self::layout::Layout;
use self::leases::Leases;
use self::manifest::Platform;
use self::records::{Names, Record, Records};
use self::reference::Reference;

/// An image is called after the digest of its config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageId(Digest);

impl ImageId {
    pub fn new(config: Digest) -> ImageId {
        ImageId(config)
    }

    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for ImageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What is known of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub id: ImageId,
    pub repo_tags: Vec<String>,
    pub repo_digests: Vec<String>,
    /// Bytes of its files; layers that it shares with others count for each.
    pub size: u64,
    /// Whether it must not be removed to make room.
    pub pinned: bool,
    pub config: Arc<Config>,
}

/// Whether the machine's own root may be used as an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostImage {
    Allowed,
    #[default]
    Refused,
}

/// All images below one directory. Clones share them.
#[derive(Clone)]
pub struct Images {
    shared: Arc<Shared>,
}

struct Shared {
    layout: Layout,
    platform: Platform,
    host_image: HostImage,
    state: Mutex<State>,
    leases: Leases,
    /// Held as long as the directory is used.
    _lock: File,
}

#[derive(Default)]
struct State {
    records: Records,
    configs: HashMap<ImageId, Arc<Config>>,
}

impl Images {
    /// Opens a directory, or makes it; what was left half-done is removed.
    pub fn open(directory: &Path, host_image: HostImage) -> Result<Images, Error> {
        let layout = Layout::create(directory)?;
        let lock = lock(&layout)?;
        let mut state = read_state(&layout)?;
        state.records.retain(|id, record| match complete(&layout, record) {
            Ok(config) => {
                state.configs.insert(*id, Arc::new(config));
                true
            }
            Err(why) => {
                tracing::warn!(image = %id, %why, "an image is no longer complete and is forgotten");
                false
            }
        });
        let (platform, leases) = (Platform::here(), Leases::default());
        let shared = Shared { layout, platform, host_image, state: Mutex::new(state), leases, _lock: lock };
        let images = Images { shared: Arc::new(shared) };
        for left in [images.layout().staging(), images.layout().trash()] {
            discard::empty(&left).map_err(|error| Error::system("remove what was left", error))?;
        }
        images.collect()?;
        Ok(images)
    }

    /// Every image, in the order of their ids.
    pub fn list(&self) -> Vec<Image> {
        let state = self.state();
        let images = state.records.iter().filter_map(|record| state.image(record));
        self.host().into_iter().chain(images).collect()
    }

    /// The image of an id (`sha256:…` or the digits alone) or of a name.
    pub fn find(&self, name_or_id: &str) -> Result<Image, Error> {
        let not_here = || Error::NotHere(name_or_id.to_owned());
        let state = self.state();
        if let Some(id) = as_id(name_or_id) {
            let host = self.host().filter(|host| host.id == id);
            return host.or_else(|| state.image(state.records.get(&id)?)).ok_or_else(not_here);
        }
        let reference: Reference = name_or_id.parse()?;
        let host = self.host().filter(|_| host::is_host(&reference));
        host.or_else(|| state.image(state.records.find(&reference)?)).ok_or_else(not_here)
    }

    /// Removes a name, or with an id the image with all its names. What is not there is removed already. Room is made
    /// by [`Images::collect`], which leaves alone what containers still use.
    pub fn remove(&self, name_or_id: &str) -> Result<(), Error> {
        let mut state = self.state();
        let mut records = state.records.clone();
        let changed = match as_id(name_or_id) {
            Some(id) => records.forget(&id),
            None => records.untag(&name_or_id.parse()?),
        };
        if changed { self.save(&mut state, records) } else { Ok(()) }
    }

    /// Adds a complete image; from here on it is visible, also after a crash.
    fn add(&self, record: Record, config: Config, names: Names) -> Result<(), Error> {
        self.layout().sync()?;
        let mut state = self.state();
        let mut records = state.records.clone();
        state.configs.insert(record.id, Arc::new(config));
        records.add(record, names);
        self.save(&mut state, records)
    }

    /// Memory follows the disk: what could not be written has not happened.
    fn save(&self, state: &mut State, records: Records) -> Result<(), Error> {
        let bytes = serde_json::to_vec(&records).map_err(|error| Error::system("write the index", error.into()))?;
        let replaced = self.layout().replace(&self.layout().index(), &bytes);
        replaced.map_err(|error| Error::system("write the index of images", error))?;
        state.records = records;
        let known: BTreeSet<ImageId> = state.records.iter().map(|record| record.id).collect();
        state.configs.retain(|id, _| known.contains(id));
        Ok(())
    }

    fn host(&self) -> Option<Image> {
        match self.shared.host_image {
            HostImage::Allowed => Some(host::image()),
            HostImage::Refused => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn layout(&self) -> &Layout {
        &self.shared.layout
    }
}

impl State {
    fn image(&self, record: &Record) -> Option<Image> {
        let config = Arc::clone(self.configs.get(&record.id)?);
        let (repo_tags, repo_digests) = (record.tags.clone(), record.digests.clone());
        Some(Image { id: record.id, repo_tags, repo_digests, size: record.size, pinned: false, config })
    }
}

fn as_id(text: &str) -> Option<ImageId> {
    text.parse().or_else(|_| Digest::from_hex(text)).ok().map(ImageId)
}

fn lock(layout: &Layout) -> Result<File, Error> {
    let file = File::options().create(true).truncate(false).write(true).open(layout.lock());
    let file = file.map_err(|error| Error::system("lock the images", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Locked(layout.root().to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(Error::system("lock the images", error)),
    }
}

/// An index that cannot be read is an error: removing what it names would lose images.
fn read_state(layout: &Layout) -> Result<State, Error> {
    let unreadable = |error| Error::system(format!("read {:?}", layout.index()), error);
    let records = match fs::read(layout.index()) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unreadable(error.into()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Records::default(),
        Err(error) => return Err(unreadable(error)),
    };
    Ok(State { records, ..State::default() })
}

/// The config of an image of which everything is here.
fn complete(layout: &Layout, record: &Record) -> Result<Config, String> {
    let bytes = fs::read(layout.blob(record.id.digest())).map_err(|error| format!("its config: {error}"))?;
    if Digest::of(&bytes) != *record.id.digest() {
        return Err("its config was changed".to_owned());
    }
    if let Some(missing) = record.layers.iter().find(|chain| layout.layer_facts(chain).is_none()) {
        return Err(format!("layer {missing} is missing"));
    }
    Config::read(&bytes).map_err(|error| format!("its config {error}"))
}
