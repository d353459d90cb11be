//! Reads manifest files, or standard input, without ever reading more than a manifest may hold.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use model::manifest::{self, Document, Limits, ManifestError};
use thiserror::Error;

/// Why a manifest file could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("{file}: {error}")]
    File { file: String, error: io::Error },
    #[error("{file}: is a directory: name the files in it")]
    Directory { file: String },
    #[error("{}", lines(.file, .error))]
    Manifest { file: String, error: ManifestError },
}

/// One line per mistake, each with the file's name.
fn lines(file: &str, error: &ManifestError) -> String {
    error.to_string().lines().map(|line| format!("{file}: {line}")).collect::<Vec<_>>().join("\n")
}

/// What a file is called in messages.
pub fn name(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

/// The objects of one manifest; `-` is standard input.
pub fn read(file: &str) -> Result<Vec<Document>, ReadError> {
    let unreadable = |error| ReadError::File { file: name(file).to_owned(), error };
    let bytes = if file == "-" {
        bounded(io::stdin().lock()).map_err(unreadable)?
    } else {
        if Path::new(file).is_dir() {
            return Err(ReadError::Directory { file: file.to_owned() });
        }
        bounded(File::open(file).map_err(unreadable)?).map_err(unreadable)?
    };
    let read = manifest::read(&bytes, &Limits::DEFAULT);
    read.map_err(|error| ReadError::Manifest { file: name(file).to_owned(), error })
}

/// At most one byte more than is allowed, so that too much is told apart from just enough.
fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(Limits::DEFAULT.max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    source.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
