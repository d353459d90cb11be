//! What etcd, or the way to it, says instead of an answer.

use std::error::Error as _;

use tonic::{Code, Status};

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the revision has been compacted")]
    Compacted,
    #[error("the revision has not happened yet")]
    Future,
    #[error("etcd's space quota is used up")]
    NoSpace,
    #[error("the request is larger than etcd accepts")]
    RequestTooLarge,
    #[error("the answer is larger than this client accepts")]
    AnswerTooLarge,
    /// Certainly nothing happened: it may be tried again.
    #[error("{0}")]
    NotSent(String),
    /// Whether anything happened is unknown.
    #[error("{0}")]
    Broken(String),
    /// Asking again, or asking another member, would not help.
    #[error("{0}")]
    Other(String),
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> StoreError {
        match refusal {
            Refusal::NoSpace => StoreError::NoSpace,
            Refusal::Compacted
            | Refusal::Future
            | Refusal::RequestTooLarge
            | Refusal::AnswerTooLarge
            | Refusal::NotSent(_)
            | Refusal::Broken(_)
            | Refusal::Other(_) => StoreError::Unavailable { reason: refusal.to_string() },
        }
    }
}

impl From<Status> for Refusal {
    /// etcd's own errors are told apart by their text, which is part of its API; codes are shared by several.
    fn from(status: Status) -> Refusal {
        let text = status.message();
        match status.code() {
            Code::OutOfRange if text.contains("has been compacted") => Refusal::Compacted,
            Code::OutOfRange if text.contains("is a future revision") => Refusal::Future,
            Code::OutOfRange if text.contains("length too large") => Refusal::AnswerTooLarge,
            Code::ResourceExhausted if text.contains("database space exceeded") => Refusal::NoSpace,
            Code::ResourceExhausted if text.contains("send message larger than max") => Refusal::AnswerTooLarge,
            Code::ResourceExhausted if text.contains("received message larger than max") => Refusal::RequestTooLarge,
            Code::ResourceExhausted if text.contains("too many requests") => Refusal::NotSent(text.to_owned()),
            Code::InvalidArgument if text.contains("request is too large") => Refusal::RequestTooLarge,
            _ if was_not_sent(&status) => Refusal::NotSent(whole_text(&status)),
            Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded => {
                Refusal::Broken(whole_text(&status))
            }
            _ => Refusal::Other(format!("{:?}: {text}", status.code())),
        }
    }
}

/// Whether the connection could not even be made.
fn was_not_sent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn whole_text(status: &Status) -> String {
    let causes = status.source().map(|cause| format!(": {}", chain(cause))).unwrap_or_default();
    format!("{}{causes}", status.message())
}

/// An error with its causes.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_one_code_are_told_apart_by_their_text() {
        let rows = [
            (Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted", Refusal::Compacted),
            (Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision", Refusal::Future),
            (Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded", Refusal::NoSpace),
            (
                Code::ResourceExhausted,
                "grpc: received message larger than max (3145800 vs. 2097152)",
                Refusal::RequestTooLarge,
            ),
            (Code::ResourceExhausted, "grpc: trying to send message larger than max", Refusal::AnswerTooLarge),
            (Code::InvalidArgument, "etcdserver: request is too large", Refusal::RequestTooLarge),
            (Code::Unavailable, "etcdserver: no leader", Refusal::Broken("etcdserver: no leader".to_owned())),
            (Code::PermissionDenied, "no", Refusal::Other("PermissionDenied: no".to_owned())),
        ];
        for (code, text, expected) in rows {
            assert_eq!(Refusal::from(Status::new(code, text)), expected);
        }
    }
}
