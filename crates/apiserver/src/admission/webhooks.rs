//! Webhooks: servers that are asked about changes, over HTTPS, with an `AdmissionReview` of `admission.k8s.io/v1`.
//!
//! Those that may change objects are asked one after the other, in the order of their configurations' names; those that
//! only judge are asked all at once. Configurations are never reviewed themselves, so that a broken one can be removed.
//! Every question costs a connection of its own; keeping them is not worth what stale ones break.

mod ask;
mod client;
mod hook;
mod mutating;
mod subject;
#[cfg(test)]
pub(crate) mod tests;
mod validating;
mod verdict;

use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use store::Revision;

pub use hook::Hook;
pub use mutating::{Redecode, Rounds, announce};
pub use subject::Subject;
pub use validating::validate;
pub use verdict::{Denial, ReviewError, Ruling, Verdict, read_review};

use super::Operation;
use crate::api::Api;

/// The group whose objects no webhook is asked about.
const GROUP: &str = "admissionregistration.k8s.io";

/// The webhooks that are configured, read again only when a configuration changed.
#[derive(Default)]
pub struct Webhooks {
    mutating: Memory,
    validating: Memory,
}

/// Names and versions of the configurations that were read, and the webhooks in them.
type Memory = Mutex<Option<(Vec<(Box<str>, Revision)>, Arc<[Hook]>)>>;

impl Webhooks {
    /// Those that may change objects, in the order in which they are asked.
    pub fn mutating(&self, api: &Api) -> Arc<[Hook]> {
        remembered(&self.mutating, api, "mutatingwebhookconfigurations", || {
            let all = api.cached_all::<MutatingWebhookConfiguration>(GROUP, "mutatingwebhookconfigurations", "");
            all.into_iter().flat_map(|all| all.webhooks.into_iter().flatten()).map(Hook::mutating).collect()
        })
    }

    /// Those that only judge.
    pub fn validating(&self, api: &Api) -> Arc<[Hook]> {
        remembered(&self.validating, api, "validatingwebhookconfigurations", || {
            let all = api.cached_all::<ValidatingWebhookConfiguration>(GROUP, "validatingwebhookconfigurations", "");
            all.into_iter().flat_map(|all| all.webhooks.into_iter().flatten()).map(Hook::validating).collect()
        })
    }

    /// Whether any webhook may have to be asked once the object is final.
    pub fn may_match(&self, api: &Api, subject: &Subject<'_>) -> bool {
        let any = |hooks: &[Hook]| hooks.iter().any(|hook| hook.may_match(api, subject));
        any(&self.validating(api)) || (subject.review.operation == Operation::Delete && any(&self.mutating(api)))
    }
}

fn remembered(memory: &Memory, api: &Api, resource: &str, read: impl FnOnce() -> Vec<Hook>) -> Arc<[Hook]> {
    let Some(kind) = api.kinds.find(GROUP, "v1", resource) else { return Arc::default() };
    let items = api.cache.shelf(kind.facts()).list("", None).items;
    let versions: Vec<_> = items.iter().map(|item| (item.key.clone(), item.revision)).collect();
    let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
    match &*memory {
        Some((known, hooks)) if *known == versions => hooks.clone(),
        Some(_) | None => {
            let hooks: Arc<[Hook]> = read().into();
            *memory = Some((versions, hooks.clone()));
            hooks
        }
    }
}
