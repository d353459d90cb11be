//! Which gRPC code an error is.

use tonic::{Code, Status};

use crate::engine::EngineError;
use crate::images;
use crate::spec::{self, SpecError};

pub fn status(error: &EngineError) -> Status {
    Status::new(code(error), error.to_string())
}

fn code(error: &EngineError) -> Code {
    match error {
        EngineError::NotFound { .. } => Code::NotFound,
        EngineError::Ambiguous { .. } | EngineError::InvalidArgument(_) => Code::InvalidArgument,
        EngineError::Spec(error) => of_spec(error),
        EngineError::NameTaken { .. } => Code::AlreadyExists,
        EngineError::FailedPrecondition(_) => Code::FailedPrecondition,
        // As containerd answers a program that is missing.
        EngineError::Start(_) => Code::Unknown,
        EngineError::DeadlineExceeded(_) => Code::DeadlineExceeded,
        EngineError::ResourceExhausted(_) => Code::ResourceExhausted,
        EngineError::Image(error) => of_image(error),
        EngineError::Internal(_) | EngineError::Network(_) | EngineError::Namespace(_) | EngineError::Shim(_) => {
            Code::Internal
        }
    }
}

fn of_spec(error: &SpecError) -> Code {
    match error.kind() {
        spec::ErrorKind::Invalid => Code::InvalidArgument,
        spec::ErrorKind::Unsupported => Code::Unimplemented,
        spec::ErrorKind::Machine => Code::Internal,
    }
}

fn of_image(error: &images::Error) -> Code {
    match error.kind() {
        images::ErrorKind::NotFound => Code::NotFound,
        images::ErrorKind::Unauthorized => Code::PermissionDenied,
        images::ErrorKind::Unavailable => Code::Unavailable,
        images::ErrorKind::Invalid => Code::InvalidArgument,
        images::ErrorKind::Full => Code::ResourceExhausted,
        images::ErrorKind::Internal => Code::Internal,
    }
}
