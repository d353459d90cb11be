//! Objects are created only in namespaces that exist and are not ending; some namespaces are never deleted.

use k8s_openapi::api::core::v1::Namespace;

use super::cached::Known;
use super::{Operation, Review, Step};
use crate::api::Api;
use crate::kind::{AnyObject, Scope};
use crate::status::{Cause, Qualified, Status};

/// Namespaces that the cluster cannot be without.
pub const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub struct NamespaceLifecycle;

impl Step for NamespaceLifecycle {
    fn mutate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &mut dyn AnyObject,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        check(api, review, object.name())
    }

    fn validate(
        &self,
        _api: &Api,
        review: &Review<'_>,
        _object: Option<&dyn AnyObject>,
        old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let namespace = old.and_then(|old| old.downcast_ref::<Namespace>());
        let (Operation::Delete, Some(namespace)) = (review.operation, namespace) else { return Ok(()) };
        let name = namespace.metadata.name.as_deref().unwrap_or_default();
        if !IMMORTAL.contains(&name) {
            return Ok(());
        }
        Err(Status::forbidden(Qualified::core("namespaces"), name, "this namespace may not be deleted"))
    }
}

/// Whether something may be created in the namespace of the request.
pub fn check(api: &Api, review: &Review<'_>, created: &str) -> Result<(), Status> {
    let facts = review.call.kind.facts();
    if review.operation != Operation::Create || facts.scope == Scope::Cluster {
        return Ok(());
    }
    let name = review.call.namespace.as_deref().unwrap_or_default();
    let Some(namespace) = api.namespace(name) else {
        return Err(Status::not_found(Qualified::core("namespaces"), name));
    };
    if namespace.metadata.deletion_timestamp.is_none() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let mut status = Status::forbidden(facts.named_resource(), created, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: Some("NamespaceTerminating"),
            message: format!("namespace {name} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

impl Api {
    /// The namespace of this name, as the cache knows it.
    pub(crate) fn namespace(&self, name: &str) -> Option<Known<Namespace>> {
        self.known("", "namespaces", name)
    }
}
