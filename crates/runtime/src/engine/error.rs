//! Why something could not be done, in the terms of those who ask.

use thiserror::Error;

use crate::images;
use crate::namespaces::NamespaceError;
use crate::network::NetworkError;
use crate::shims::ShimsError;
use crate::spec::SpecError;

#[derive(Debug, Error)]
pub enum EngineError {
    #[error("{what} {id:?} is not known")]
    NotFound { what: &'static str, id: String },
    #[error("{what} {id:?} could mean several")]
    Ambiguous { what: &'static str, id: String },
    #[error("the name {name:?} is reserved for {holder:?}")]
    NameTaken { name: String, holder: String },
    #[error("{0}")]
    InvalidArgument(String),
    /// The state of things does not allow it.
    #[error("{0}")]
    FailedPrecondition(String),
    #[error("{0}")]
    Start(String),
    #[error("{0}")]
    DeadlineExceeded(String),
    #[error("{0}")]
    ResourceExhausted(String),
    #[error("{0}")]
    Internal(String),
    #[error(transparent)]
    Image(#[from] images::Error),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Shim(#[from] ShimsError),
    #[error(transparent)]
    Spec(#[from] SpecError),
}

impl EngineError {
    /// Something on this machine failed.
    pub fn io(what: &str) -> impl FnOnce(std::io::Error) -> EngineError {
        move |error| EngineError::Internal(format!("cannot {what}: {error}"))
    }
}
