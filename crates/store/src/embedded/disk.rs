//! What the engine writes to: a file on a disk that may be full.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::FileBackend;
use redb::{DatabaseError, StorageBackend};

/// How much room is kept aside. The engine needs some to recover from a full disk, so that reads can go on.
const RESERVE_BYTES: usize = 4 * 1024 * 1024;

/// The directory of one store, and the room kept aside in it.
#[derive(Debug)]
pub struct Disk {
    directory: PathBuf,
    /// Tests fill the disk with this.
    full: Arc<AtomicBool>,
    /// Tests make the next sync fail with this.
    failing: Arc<AtomicBool>,
}

impl Disk {
    pub fn new(directory: &Path) -> Disk {
        Disk { directory: directory.to_owned(), full: Arc::default(), failing: Arc::default() }
    }

    pub fn file(&self) -> PathBuf {
        self.directory.join("store.redb")
    }

    /// While this file exists, the store is known to be damaged.
    pub fn damage_note(&self) -> PathBuf {
        self.directory.join("DAMAGED")
    }

    pub fn open(&self) -> Result<DiskFile, DatabaseError> {
        let file = OpenOptions::new().read(true).write(true).open(self.file())?;
        Ok(DiskFile { file: FileBackend::new(file)?, full: self.full.clone(), failing: self.failing.clone() })
    }

    /// A new, empty file that is not the store's file yet.
    pub fn create_unnamed(&self) -> Result<DiskFile, DatabaseError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        // Secrets are stored as they are.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.unnamed_file())?;
        Ok(DiskFile { file: FileBackend::new(file)?, full: self.full.clone(), failing: self.failing.clone() })
    }

    /// Makes the new file the store's file, and makes that last: a name is safe once its directory is.
    pub fn name_file(&self) -> io::Result<()> {
        fs::rename(self.unnamed_file(), self.file())?;
        File::open(&self.directory)?.sync_all()
    }

    fn unnamed_file(&self) -> PathBuf {
        self.directory.join("store.redb.new")
    }

    /// Sets room aside, unless that has been done.
    pub fn reserve(&self) -> io::Result<()> {
        let path = self.reserve_file();
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() == RESERVE_BYTES as u64) {
            return Ok(());
        }
        let written = refuse_if(&self.full).and_then(|()| {
            let mut file = File::create(&path)?;
            file.write_all(&vec![0x5a; RESERVE_BYTES])?;
            file.sync_data()
        });
        written.inspect_err(|_| self.release())
    }

    /// Gives the room that was set aside to the engine.
    pub fn release(&self) {
        let _ = fs::remove_file(self.reserve_file());
    }

    fn reserve_file(&self) -> PathBuf {
        self.directory.join("reserve")
    }

    #[cfg(test)]
    pub fn fail_next_sync(&self) {
        self.failing.store(true, Ordering::SeqCst);
    }

    #[cfg(test)]
    pub fn fill(&self) {
        self.full.store(true, Ordering::SeqCst);
    }

    #[cfg(test)]
    pub fn make_room(&self) {
        self.full.store(false, Ordering::SeqCst);
    }
}

pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn refuse_if(full: &AtomicBool) -> io::Result<()> {
    if full.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

/// The engine's file. It needs no lock of its own: the directory is locked.
pub struct DiskFile {
    file: FileBackend,
    full: Arc<AtomicBool>,
    failing: Arc<AtomicBool>,
}

impl fmt::Debug for DiskFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl StorageBackend for DiskFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len > self.file.len()? {
            refuse_if(&self.full)?;
        }
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.failing.swap(false, Ordering::SeqCst) {
            return Err(io::Error::other("a sync that was made to fail"));
        }
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
