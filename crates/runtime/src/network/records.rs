//! What is known of each attachment, on disk: written before anything is done for a sandbox, removed after everything
//! was undone.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::cni::Attachment;
use super::ports::PortMapping;

const SUFFIX: &str = ".json";
/// As CNI has it for container ids, and short enough for a file's name.
const MAX_ID: usize = 128;

/// Who gave a sandbox its network, and what is needed to take it away.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Record {
    Bridge { addresses: Vec<IpNet>, ports: Vec<PortMapping> },
    Cni(Box<Attachment>),
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{0:?} is no id of a sandbox: letters, digits, _, . and - are allowed, at most {MAX_ID}, no dot first")]
    Id(String),
    #[error("the sandbox {0} has a network already")]
    Exists(String),
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

#[derive(Debug)]
pub struct Records {
    directory: PathBuf,
}

impl Record {
    /// Without the lengths of their networks.
    pub fn addresses(&self) -> Vec<IpAddr> {
        match self {
            Self::Bridge { addresses, .. } => addresses.iter().map(IpNet::addr).collect(),
            Self::Cni(attachment) => attachment.addresses(),
        }
    }
}

impl Records {
    pub fn open(directory: &Path) -> Result<Self, RecordError> {
        fs::create_dir_all(directory).map_err(|error| failed("cannot make", directory, error))?;
        Ok(Self { directory: directory.to_owned() })
    }

    pub fn create(&self, sandbox: &str, record: &Record) -> Result<(), RecordError> {
        if self.path(sandbox)?.exists() {
            return Err(RecordError::Exists(sandbox.to_owned()));
        }
        self.write(sandbox, record)
    }

    /// Replaces the record in one step, so that a crash leaves the old or the new one.
    pub fn write(&self, sandbox: &str, record: &Record) -> Result<(), RecordError> {
        let path = self.path(sandbox)?;
        let new = path.with_file_name(format!(".{sandbox}"));
        let text = serde_json::to_vec(record).expect("records are plain values");
        fs::write(&new, text).map_err(|error| failed("cannot write", &new, error))?;
        fs::rename(&new, &path).map_err(|error| failed("cannot write", &path, error))
    }

    /// None when there is none, or none that can be read: then only what the id alone tells is known.
    pub fn read(&self, sandbox: &str) -> Result<Option<Record>, RecordError> {
        let path = self.path(sandbox)?;
        match fs::read(&path) {
            Ok(text) => Ok(serde_json::from_slice(&text)
                .inspect_err(|error| tracing::warn!(%sandbox, %error, "the record of a network is unreadable"))
                .ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("cannot read", &path, error)),
        }
    }

    pub fn remove(&self, sandbox: &str) -> Result<(), RecordError> {
        let path = self.path(sandbox)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("cannot remove", &path, error)),
            _ => Ok(()),
        }
    }

    /// The sandboxes that have one. What a crash left half written is removed on the way.
    pub fn sandboxes(&self) -> Result<Vec<String>, RecordError> {
        let unreadable = |error| failed("cannot list", &self.directory, error);
        let mut sandboxes = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match name.strip_suffix(SUFFIX) {
                _ if name.starts_with('.') => {
                    fs::remove_file(entry.path()).map_err(|error| failed("cannot remove", &entry.path(), error))?;
                }
                Some(sandbox) => sandboxes.push(sandbox.to_owned()),
                None => {}
            }
        }
        sandboxes.sort();
        Ok(sandboxes)
    }

    fn path(&self, sandbox: &str) -> Result<PathBuf, RecordError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let first = sandbox.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if first && sandbox.len() <= MAX_ID && sandbox.bytes().all(plain) {
            Ok(self.directory.join(format!("{sandbox}{SUFFIX}")))
        } else {
            Err(RecordError::Id(sandbox.to_owned()))
        }
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> RecordError {
    RecordError::File { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record::Bridge { addresses: vec!["10.0.0.2/24".parse().unwrap()], ports: Vec::new() }
    }

    #[test]
    fn a_record_is_read_back_and_is_not_made_twice() {
        let directory = tempfile::tempdir().unwrap();
        let records = Records::open(directory.path()).unwrap();
        records.create("a", &record()).unwrap();
        assert_eq!(records.read("a").unwrap().unwrap().addresses(), record().addresses());
        assert!(matches!(records.create("a", &record()), Err(RecordError::Exists(_))));
        records.remove("a").unwrap();
        records.remove("a").unwrap();
        assert!(records.read("a").unwrap().is_none());
    }

    #[test]
    fn ids_that_could_leave_the_directory_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let records = Records::open(directory.path()).unwrap();
        for id in ["", ".", "..", "../a", "a/b", ".a", "a\0", &"a".repeat(MAX_ID + 1)] {
            assert!(matches!(records.create(id, &record()), Err(RecordError::Id(_))), "{id:?}");
        }
    }

    #[test]
    fn what_a_crash_left_half_written_is_no_record() {
        let directory = tempfile::tempdir().unwrap();
        let records = Records::open(directory.path()).unwrap();
        fs::write(directory.path().join(".b"), "{").unwrap();
        fs::write(directory.path().join("c.json"), "{\"bridge\"").unwrap();
        assert_eq!(records.sandboxes().unwrap(), ["c"]);
        assert!(records.read("c").unwrap().is_none());
        assert!(!directory.path().join(".b").exists());
    }
}
