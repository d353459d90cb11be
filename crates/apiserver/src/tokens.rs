//! Service account tokens: JWTs bound to a service account and, mostly, to a pod, secret or node.
//!
//! [`Issuer`] answers a `TokenRequest`, [`Verifier`] says whose a token is, [`discovery`] publishes what others need to
//! verify one. A token is worth something only while what it is bound to exists: both sides ask a [`Directory`].
//! Only ES256 is written and only ES256 is read; what a token says about its algorithm is compared, never obeyed.

mod claims;
pub mod discovery;
mod issue;
mod jws;
mod key;
#[cfg(test)]
mod tests;
mod verify;

use jiff::Timestamp;

pub use claims::{BoundTo, Claims, Reference};
pub use issue::{Account, Granted, IssueError, Issuer};
pub use jws::{MAX_TOKEN_BYTES, Unverified, read_unverified};
pub use key::{KeyError, SigningKey, VerifyingKey};
pub use verify::{Accepted, Verifier, VerifyError};

/// What a token needs to know of an object that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub uid: String,
    /// When it is, or was, to be gone, if it is being deleted.
    pub deletion: Option<Timestamp>,
}

/// What a token needs to know of a pod that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRecord {
    pub record: Record,
    pub service_account_name: String,
    /// Empty while the pod is not bound to a node.
    pub node_name: String,
}

/// The objects that tokens are bound to, as they are now.
pub trait Directory {
    fn service_account(&self, namespace: &str, name: &str) -> Option<Record>;
    fn secret(&self, namespace: &str, name: &str) -> Option<Record>;
    fn pod(&self, namespace: &str, name: &str) -> Option<PodRecord>;
    fn node(&self, name: &str) -> Option<Record>;
}
