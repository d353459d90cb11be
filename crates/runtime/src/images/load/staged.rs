//! The files of an archive, put aside: where each lies and what its digest is. Nothing is written under a name that
//! the archive chose.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use crate::images::compression;
use crate::images::digest::Digest;
use crate::images::error::Error;
use crate::images::layout::{Draft, Layout};
use crate::images::manifest::{DOCUMENT_BYTES_MAX, Descriptor};
use crate::images::unpack::{DIRECTORY, Entries, Kind, UnpackError};

const FILES_MAX: usize = 20_000;
const COPY_BYTES: usize = 128 * 1024;
/// `docker save` links a layer that two images share.
const LINKS_MAX: usize = 8;
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar";

/// What was put aside; gone when dropped.
pub struct Staged {
    directory: PathBuf,
    files: HashMap<String, StagedFile>,
    links: HashMap<String, String>,
}

#[derive(Clone)]
struct StagedFile {
    path: PathBuf,
    digest: Digest,
    size: u64,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, "what was put aside of an archive is removed at the next start");
        }
    }
}

impl Staged {
    fn new(layout: &Layout) -> Result<Staged, Error> {
        let directory = Layout::fresh(&layout.staging());
        fs::create_dir(&directory).map_err(|error| Error::system("load an archive", error))?;
        Ok(Staged { directory, files: HashMap::new(), links: HashMap::new() })
    }

    pub fn from_archive(layout: &Layout, archive: impl Read) -> Result<Staged, Error> {
        let unreadable = |error: UnpackError| Error::Archive(error.to_string());
        let content = compression::unpacked(archive).map_err(|error| Error::Archive(error.to_string()))?;
        let mut staged = Staged::new(layout)?;
        let mut entries = Entries::new(content);
        while let Some(entry) = entries.next_entry().map_err(unreadable)? {
            let path = cleaned(&String::from_utf8_lossy(&entry.path));
            match entry.kind {
                Kind::File(None) => staged.put(path, &mut entries)?,
                Kind::File(Some(_)) => return Err(Error::Archive(format!("{path:?} is a sparse file"))),
                Kind::Symlink(target) => {
                    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                    let target = cleaned(&format!("{parent}/{}", String::from_utf8_lossy(&target)));
                    staged.link(path, target)?;
                }
                Kind::HardLink(target) => staged.link(path, cleaned(&String::from_utf8_lossy(&target)))?,
                Kind::Directory | Kind::CharacterDevice(..) | Kind::BlockDevice(..) | Kind::Fifo => {}
            }
        }
        Ok(staged)
    }

    /// Reads only what belongs to a layout, and nothing outside the directory.
    pub fn from_directory(layout: &Layout, directory: &Path) -> Result<Staged, Error> {
        let failed = |error: io::Error| Error::system(format!("read {directory:?}"), error);
        let root = openat(CWD, directory, DIRECTORY, Mode::empty()).map_err(|error| failed(error.into()))?;
        let mut staged = Staged::new(layout)?;
        let mut paths = vec!["index.json".to_owned(), "manifest.json".to_owned()];
        let blobs = Layout::digests_in(&directory.join("blobs/sha256")).map_err(failed)?;
        paths.extend(blobs.iter().map(|digest| format!("blobs/sha256/{}", digest.hex())));
        for path in paths {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            match openat2(&root, path.as_str(), flags, Mode::empty(), ResolveFlags::BENEATH) {
                Ok(file) => staged.put(path, &mut File::from(file))?,
                Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(staged)
    }

    /// A small file by its path in the archive.
    pub fn document(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        self.find(path).map(|file| read_small(&file)).transpose()
    }

    /// A small file by its digest.
    pub fn small_blob(&self, digest: &Digest) -> Result<Vec<u8>, Error> {
        read_small(self.blob(digest)?)
    }

    /// Refuses content that is not as long as its descriptor says.
    pub fn check_size(&self, descriptor: &Descriptor) -> Result<(), Error> {
        let (found, wanted) = (self.blob(&descriptor.digest)?.size, descriptor.size);
        let what = || format!("content {}", descriptor.digest);
        if found == wanted { Ok(()) } else { Err(Error::Size { what: what(), wanted, found }) }
    }

    /// A file by its digest.
    pub fn open(&self, digest: &Digest) -> Result<File, Error> {
        let path = &self.blob(digest)?.path;
        File::open(path).map_err(|error| Error::system(format!("open {digest}"), error))
    }

    /// A file of `docker save`, described as a manifest would.
    pub fn descriptor(&self, path: &str) -> Result<Descriptor, Error> {
        let missing = || Error::Archive(format!("{path:?} is missing"));
        let file = self.find(path).ok_or_else(missing)?;
        let (media_type, digest, size) = (LAYER_TYPE.to_owned(), file.digest, file.size);
        Ok(Descriptor { media_type, digest, size, platform: None, annotations: Default::default() })
    }

    /// Digests are those of the bytes, so a file under a wrong name is simply not found.
    fn blob(&self, digest: &Digest) -> Result<&StagedFile, Error> {
        let found = self.files.values().find(|file| file.digest == *digest);
        found.ok_or_else(|| Error::Archive(format!("content {digest} is missing or was changed")))
    }

    fn find(&self, path: &str) -> Option<StagedFile> {
        let mut path = cleaned(path);
        for _ in 0..LINKS_MAX {
            if let Some(file) = self.files.get(&path) {
                return Some(file.clone());
            }
            path = self.links.get(&path)?.clone();
        }
        None
    }

    fn link(&mut self, path: String, target: String) -> Result<(), Error> {
        self.count()?;
        self.links.insert(path, target);
        Ok(())
    }

    fn put(&mut self, path: String, content: &mut impl Read) -> Result<(), Error> {
        self.count()?;
        let failed = |error| Error::system("put an archive aside", error);
        let mut draft = Draft::create(&self.directory).map_err(failed)?;
        let mut chunk = vec![0; COPY_BYTES];
        loop {
            let count = content.read(&mut chunk).map_err(|error| Error::Archive(error.to_string()))?;
            if count == 0 {
                break;
            }
            draft.write(&chunk[..count]).map_err(failed)?;
        }
        let (digest, size) = (draft.digest(), draft.length());
        let kept = self.directory.join(self.files.len().to_string());
        draft.keep(&kept).map_err(failed)?;
        self.files.insert(path, StagedFile { path: kept, digest, size });
        Ok(())
    }

    fn count(&self) -> Result<(), Error> {
        let many = self.files.len() + self.links.len() >= FILES_MAX;
        if many { Err(Error::Archive(format!("it has more than {FILES_MAX} files"))) } else { Ok(()) }
    }
}

fn read_small(file: &StagedFile) -> Result<Vec<u8>, Error> {
    if file.size > DOCUMENT_BYTES_MAX as u64 {
        return Err(Error::Archive(format!("document {} is longer than {DOCUMENT_BYTES_MAX} bytes", file.digest)));
    }
    fs::read(&file.path).map_err(|error| Error::system("read an archive", error))
}

/// A path as a key: without `.`, `..` and doubled slashes.
fn cleaned(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}
