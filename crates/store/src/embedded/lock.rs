//! The lock on the directory: two servers never share one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::StoreError;

const FILE_NAME: &str = "lock";

/// Held as long as this value lives; the kernel lets go when the process dies.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub fn take(directory: &Path) -> Result<DirectoryLock, StoreError> {
        let path = directory.join(FILE_NAME);
        let unavailable = |error| StoreError::Unavailable { reason: format!("{}: {error}", path.display()) };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(unavailable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { directory: directory.to_owned(), pid: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unavailable(error)),
        }
        // The pid only serves the message of whoever comes second: a full disk must not keep the store shut.
        let _ = write_pid(&mut file);
        Ok(DirectoryLock { _file: file })
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_directory_is_refused_with_the_pid_of_its_holder() {
        let directory = tempfile::tempdir().unwrap();
        let first = DirectoryLock::take(directory.path()).unwrap();
        let error = DirectoryLock::take(directory.path()).unwrap_err();
        assert!(error.to_string().contains(&format!("(pid {})", std::process::id())), "{error}");
        drop(first);
        DirectoryLock::take(directory.path()).unwrap();
    }
}
