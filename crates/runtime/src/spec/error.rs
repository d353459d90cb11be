//! Why a container cannot be built from what was asked.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::images::overlay::OverlayError;
use crate::images::user::UserError;
use crate::seccomp::ProfileError;

#[derive(Debug, Error)]
pub enum SpecError {
    #[error("{field}: {value:?} {reason}")]
    Invalid { field: &'static str, value: String, reason: String },
    #[error("{field}: {what} is not supported")]
    Unsupported { field: &'static str, what: String },
    #[error("no command is given: neither the container nor its image has one")]
    NoCommand,
    #[error("run_as_group: {0} is given without run_as_user or run_as_username")]
    GroupWithoutUser(i64),
    #[error("stop_signal: {0}")]
    StopSignal(#[from] cri::UnknownSignal),
    #[error(transparent)]
    User(#[from] UserError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("the image's users cannot be read: {0}")]
    Accounts(String),
    #[error("the image's users cannot be read: {0}")]
    Overlay(#[from] OverlayError),
    #[error("cannot {action} {path:?}: {source}")]
    Host { action: &'static str, path: PathBuf, source: io::Error },
}

/// What a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Ask for something else.
    Invalid,
    /// Ask another runtime.
    Unsupported,
    /// Look at the machine.
    Machine,
}

impl SpecError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            SpecError::Invalid { .. }
            | SpecError::NoCommand
            | SpecError::GroupWithoutUser(_)
            | SpecError::StopSignal(_)
            | SpecError::User(_)
            | SpecError::Profile(_) => ErrorKind::Invalid,
            SpecError::Unsupported { .. } => ErrorKind::Unsupported,
            SpecError::Accounts(_) | SpecError::Overlay(_) | SpecError::Host { .. } => ErrorKind::Machine,
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers have numbers and texts alike")]
    pub(super) fn invalid(field: &'static str, value: impl ToString, reason: impl Into<String>) -> SpecError {
        SpecError::Invalid { field, value: value.to_string(), reason: reason.into() }
    }

    pub(super) fn unsupported(field: &'static str, what: impl Into<String>) -> SpecError {
        SpecError::Unsupported { field, what: what.into() }
    }

    pub(super) fn host(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpecError {
        move |source| SpecError::Host { action, path: path.to_owned(), source }
    }
}
