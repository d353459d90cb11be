//! Whose a token is: signature, issuer, audience, time, and whether everything it is bound to still exists.
//!
//! The messages are upstream's; clients see them in the answer to a `TokenReview`. A request with a bad token just
//! gets 401.

use jiff::Timestamp;
use model::field::go_quoted;
use thiserror::Error;

use super::claims::{Claims, Reference};
use super::key::VerifyingKey;
use super::{Directory, Record, jws};
use crate::identity::{User, extra};

/// How far clocks may differ, and how long something being deleted still counts as there.
const LEEWAY_SECONDS: i64 = 60;

/// Why a token is worth nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VerifyError {
    #[error("invalid bearer token")]
    TooLong,
    #[error("invalid bearer token")]
    Malformed,
    #[error("invalid bearer token")]
    ForeignIssuer,
    #[error("invalid signature, unexpected algorithm")]
    WrongAlgorithm,
    #[error("invalid signature, no keys found")]
    UnknownKey,
    #[error("invalid signature")]
    BadSignature,
    #[error("token audiences {} is invalid for the target audiences {}", go_list(.token), go_list(.target))]
    WrongAudience { token: Vec<String>, target: Vec<String> },
    #[error("service account token has expired")]
    Expired,
    #[error("service account token is not valid yet")]
    NotYetValid,
    #[error("service account token is issued in the future")]
    IssuedInTheFuture,
    #[error("serviceaccounts {} not found", go_quoted(.0))]
    NoServiceAccount(String),
    #[error("{what} UID ({found}) does not match {claim} ({claimed})")]
    OtherUid { what: &'static str, claim: &'static str, found: String, claimed: String },
    #[error("service account {0} has been deleted")]
    ServiceAccountDeleted(String),
    #[error("service account token has been invalidated")]
    Invalidated,
}

/// A token that is worth something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Already a member of `system:authenticated`.
    pub user: User,
    /// The audiences asked for that the token is good for.
    pub audiences: Vec<String>,
    /// By how much the client has outlived the time at which it should have fetched a newer token.
    pub stale_seconds: Option<i64>,
}

/// Verifies the tokens of one issuer.
#[derive(Clone, Debug)]
pub struct Verifier {
    issuer: String,
    audiences: Vec<String>,
    keys: Vec<VerifyingKey>,
}

impl Verifier {
    /// `audiences` are the API server's own; of `keys` any may have signed, so that keys can be replaced.
    pub const fn new(issuer: String, audiences: Vec<String>, keys: Vec<VerifyingKey>) -> Verifier {
        Verifier { issuer, audiences, keys }
    }

    /// Whose token this is, for a request to the API server itself.
    pub fn verify(&self, token: &[u8], directory: &dyn Directory, now: Timestamp) -> Result<Accepted, VerifyError> {
        self.verify_for(token, &self.audiences, directory, now)
    }

    /// Whose token this is, for someone who answers to `audiences`.
    pub fn verify_for(
        &self,
        token: &[u8],
        audiences: &[String],
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<Accepted, VerifyError> {
        let claims = jws::open(token, &self.issuer, &self.keys)?;
        let audiences = shared_audiences(&claims, audiences)?;
        check_time(&claims, now.as_second())?;
        check_objects(&claims, directory, now)?;
        let now = now.as_second();
        let stale_seconds = claims.kubernetes.warnafter.filter(|after| now > *after).map(|after| now - after);
        Ok(Accepted { user: user_of(&claims), audiences, stale_seconds })
    }
}

fn shared_audiences(claims: &Claims, target: &[String]) -> Result<Vec<String>, VerifyError> {
    let shared: Vec<String> = claims.aud.iter().filter(|audience| target.contains(audience)).cloned().collect();
    if shared.is_empty() {
        return Err(VerifyError::WrongAudience { token: claims.aud.clone(), target: target.to_vec() });
    }
    Ok(shared)
}

fn check_time(claims: &Claims, now: i64) -> Result<(), VerifyError> {
    let (latest, earliest) = (now.saturating_add(LEEWAY_SECONDS), now.saturating_sub(LEEWAY_SECONDS));
    if latest < claims.nbf {
        Err(VerifyError::NotYetValid)
    } else if earliest > claims.exp {
        Err(VerifyError::Expired)
    } else if latest < claims.iat {
        Err(VerifyError::IssuedInTheFuture)
    } else {
        Ok(())
    }
}

fn check_objects(claims: &Claims, directory: &dyn Directory, now: Timestamp) -> Result<(), VerifyError> {
    let bonds = &claims.kubernetes;
    let (namespace, account) = (bonds.namespace.as_str(), &bonds.serviceaccount);
    let found = directory.service_account(namespace, &account.name);
    let found = found.ok_or_else(|| VerifyError::NoServiceAccount(account.name.clone()))?;
    same_uid(("service account", "claim"), &found, account)?;
    if is_gone(&found, now) {
        return Err(VerifyError::ServiceAccountDeleted(format!("{namespace}/{}", account.name)));
    }
    if let Some(secret) = &bonds.secret {
        let words = ("secret", "service account secret ref claim");
        still_there(words, directory.secret(namespace, &secret.name), secret, now)?;
    }
    match (&bonds.pod, &bonds.node) {
        (Some(pod), _) => {
            let found = directory.pod(namespace, &pod.name).map(|pod| pod.record);
            still_there(("pod", "service account pod ref claim"), found, pod, now)
        }
        (None, Some(node)) => {
            let found = directory.node(&node.name);
            still_there(("node", "service account node ref claim"), found, node, now)
        }
        (None, None) => Ok(()),
    }
}

fn still_there(
    words: (&'static str, &'static str),
    found: Option<Record>,
    claimed: &Reference,
    now: Timestamp,
) -> Result<(), VerifyError> {
    let found = found.ok_or(VerifyError::Invalidated)?;
    same_uid(words, &found, claimed)?;
    if is_gone(&found, now) { Err(VerifyError::Invalidated) } else { Ok(()) }
}

fn same_uid(
    (what, claim): (&'static str, &'static str),
    found: &Record,
    claimed: &Reference,
) -> Result<(), VerifyError> {
    if found.uid == claimed.uid {
        return Ok(());
    }
    Err(VerifyError::OtherUid { what, claim, found: found.uid.clone(), claimed: claimed.uid.clone() })
}

/// The end of something being deleted has passed, with some patience.
fn is_gone(record: &Record, now: Timestamp) -> bool {
    record
        .deletion
        .is_some_and(|deletion| now.duration_since(deletion) > jiff::SignedDuration::from_secs(LEEWAY_SECONDS))
}

fn user_of(claims: &Claims) -> User {
    let bonds = &claims.kubernetes;
    let account = &bonds.serviceaccount;
    let mut user = User::service_account(&bonds.namespace, &account.name, &account.uid).authenticated();
    if let Some(pod) = bonds.pod.as_ref().filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
        user = user.with_extra(extra::POD_NAME, &pod.name).with_extra(extra::POD_UID, &pod.uid);
    }
    if let Some(node) = bonds.node.as_ref().filter(|node| !node.name.is_empty()) {
        user = user.with_extra(extra::NODE_NAME, &node.name);
        if !node.uid.is_empty() {
            user = user.with_extra(extra::NODE_UID, &node.uid);
        }
    }
    if claims.jti.is_empty() { user } else { user.with_extra(extra::CREDENTIAL_ID, &credential_id(&claims.jti)) }
}

/// How the rest of the system calls a token without holding it.
pub(super) fn credential_id(jti: &str) -> String {
    format!("JTI={jti}")
}

/// A list as Go prints one with `%q`.
fn go_list(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| go_quoted(item)).collect();
    format!("[{}]", quoted.join(" "))
}
