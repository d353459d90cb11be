//! Failures of images as the codes of gRPC, which callers decide by.

use tonic::{Code, Status};

use crate::images::{Error, ErrorKind};

pub fn of(error: &Error) -> Status {
    Status::new(code(error.kind()), error.to_string())
}

fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::Unauthorized => Code::Unauthenticated,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::Invalid => Code::InvalidArgument,
        ErrorKind::Full => Code::ResourceExhausted,
        ErrorKind::Internal => Code::Internal,
    }
}
