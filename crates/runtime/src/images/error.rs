//! Why something with an image failed, and which kind of failure that is to a caller.

use std::io;

use thiserror::Error;

use super::config::ConfigError;
use super::digest::Digest;
use super::manifest::ManifestError;
use super::reference::ReferenceError;
use super::registry::RegistryError;
use super::unpack::UnpackError;

/// What a caller can do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is no such image.
    NotFound,
    /// The registry wants other credentials.
    Unauthorized,
    /// Trying again later may help.
    Unavailable,
    /// The name, the image or the archive is wrong.
    Invalid,
    /// The disk is full.
    Full,
    /// The machine refused something.
    Internal,
}

/// Why something with an image failed.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("image {0:?} is not here")]
    NotHere(String),
    #[error("the manifest of {name} {error}")]
    Manifest { name: String, error: ManifestError },
    #[error("the config of {name} {error}")]
    Config { name: String, error: ConfigError },
    #[error("layer {digest}: {error}")]
    Layer { digest: Digest, error: UnpackError },
    #[error("{what} is not what it should be: it has digest {found} instead of {wanted}")]
    Mismatch { what: String, wanted: Digest, found: Digest },
    #[error("{what} has {found} bytes instead of {wanted}")]
    Size { what: String, wanted: u64, found: u64 },
    #[error("{name}: {error}")]
    Registry { name: String, error: RegistryError },
    #[error("the archive cannot be loaded: {0}")]
    Archive(String),
    #[error("container id {0:?} is no file name: use at most 128 letters, digits, '-', '_' and '.'")]
    ContainerId(String),
    #[error("there is a snapshot for container {0} already")]
    SnapshotExists(String),
    #[error("images in {0:?} are in use by another process")]
    Locked(std::path::PathBuf),
    #[error("cannot {what}: the disk is full")]
    Full { what: String },
    #[error("cannot {what}: {source}")]
    System { what: String, source: io::Error },
}

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NotHere(_) | Error::Manifest { error: ManifestError::Platform { .. }, .. } => ErrorKind::NotFound,
            Error::Registry { error, .. } => error.kind(),
            Error::Full { .. } => ErrorKind::Full,
            Error::Layer { error, .. } if error.system().is_some() => ErrorKind::Internal,
            Error::Reference(_)
            | Error::Manifest { .. }
            | Error::Config { .. }
            | Error::Layer { .. }
            | Error::Mismatch { .. }
            | Error::Size { .. }
            | Error::Archive(_)
            | Error::ContainerId(_) => ErrorKind::Invalid,
            Error::SnapshotExists(_) | Error::Locked(_) | Error::System { .. } => ErrorKind::Internal,
        }
    }

    /// A failure of the machine; a full disk is told apart.
    pub fn system(what: impl Into<String>, source: io::Error) -> Error {
        let what = what.into();
        if is_full(&source) { Error::Full { what } } else { Error::System { what, source } }
    }

    /// A layer that could not be unpacked; a full disk is told apart.
    pub fn layer(digest: Digest, error: UnpackError) -> Error {
        match error.system() {
            Some(source) if is_full(source) => Error::Full { what: format!("unpack layer {digest}") },
            Some(_) | None => Error::Layer { digest, error },
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
