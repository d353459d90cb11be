//! What the runtime remembers of sandboxes and containers: a directory each, complete or not there.
//!
//! A directory is filled under a name that begins with a dot and renamed when it is complete; it is renamed back before it
//! is removed. Whatever begins with a dot was left by a runtime that was killed, and goes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::shim::files;

const CONFIG: &str = "config.pb";
const RECORD: &str = "record.json";

/// Directories of one kind.
#[derive(Clone, Debug)]
pub struct Records {
    directory: PathBuf,
}

/// A directory that is being filled.
pub struct Draft {
    unfinished: PathBuf,
    finished: PathBuf,
}

impl Records {
    /// Opens a directory of records, and removes what was left in it half made or half removed.
    pub fn open(directory: &Path) -> io::Result<Records> {
        fs::create_dir_all(directory)?;
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(Records { directory: directory.to_owned() })
    }

    pub fn root(&self) -> &Path {
        &self.directory
    }

    pub fn path(&self, id: &str) -> PathBuf {
        self.directory.join(id)
    }

    /// The ids of all records.
    pub fn ids(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.directory)?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter(|name| !name.starts_with('.')).collect())
    }

    /// Begins a record.
    pub fn draft(&self, id: &str) -> io::Result<Draft> {
        let unfinished = self.directory.join(format!(".new-{id}"));
        fs::create_dir_all(&unfinished)?;
        Ok(Draft { unfinished, finished: self.path(id) })
    }

    /// Takes a record out of sight; one that is not there is gone. What is left of it is removed by [`Records::discard`].
    pub fn forget(&self, id: &str) -> io::Result<()> {
        match fs::rename(self.path(id), self.going(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Where a record is that was forgotten and not yet discarded.
    pub fn going(&self, id: &str) -> PathBuf {
        self.directory.join(format!(".gone-{id}"))
    }

    /// Makes room after a record was forgotten.
    pub fn discard(&self, id: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.going(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Draft {
    pub fn write(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        files::write(&self.unfinished, name, content)
    }

    /// Makes the record visible.
    pub fn finish(self, record: &impl Serialize, config: &impl Message) -> io::Result<()> {
        fs::write(self.unfinished.join(CONFIG), config.encode_to_vec())?;
        files::write(&self.unfinished, RECORD, record)?;
        fs::rename(&self.unfinished, &self.finished)
    }
}

/// Reads a record that is complete.
pub fn read<R: DeserializeOwned, C: Message + Default>(directory: &Path) -> io::Result<(R, C)> {
    let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("{RECORD} is missing"));
    let record = files::read(directory, RECORD)?.ok_or_else(missing)?;
    let config = C::decode(fs::read(directory.join(CONFIG))?.as_slice()).map_err(io::Error::other)?;
    Ok((record, config))
}

/// Writes a record anew.
pub fn update(directory: &Path, record: &impl Serialize) -> io::Result<()> {
    files::write(directory, RECORD, record)
}

#[cfg(test)]
mod tests {
    use cri::v1::PodSandboxMetadata;

    use super::*;

    #[test]
    fn a_record_is_there_when_it_is_complete_and_gone_when_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let records = Records::open(directory.path()).unwrap();
        let draft = records.draft("a").unwrap();
        draft.write("other.json", &1).unwrap();
        assert_eq!(records.ids().unwrap(), Vec::<String>::new());
        let config = PodSandboxMetadata { name: "web".to_owned(), ..PodSandboxMetadata::default() };
        draft.finish(&"record", &config).unwrap();
        assert_eq!(records.ids().unwrap(), ["a"]);
        let read: (String, PodSandboxMetadata) = read(&records.path("a")).unwrap();
        assert_eq!(read, ("record".to_owned(), config));
        for _ in 0..2 {
            records.forget("a").unwrap();
            assert_eq!(records.ids().unwrap(), Vec::<String>::new());
            records.discard("a").unwrap();
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_runtime_left_half_done_goes() {
        let directory = tempfile::tempdir().unwrap();
        let records = Records::open(directory.path()).unwrap();
        drop(records.draft("half").unwrap());
        fs::create_dir(directory.path().join(".gone-old")).unwrap();
        Records::open(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
