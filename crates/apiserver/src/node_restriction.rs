//! What a node may write, once the object is known: its own pods, its own Node, lease and the like.
//!
//! Users who are not nodes pass. [`crate::authorize`] has been asked before; here only the content of objects is
//! judged. Audiences of tokens are allowed when a projected volume of the pod names them; those that only a CSI driver
//! asks for are refused.

mod node;
mod pod;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::Pod;
use model::field::go_quoted;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::identity::{NodeIdentity, User, node_user};
use crate::status::{Qualified, Status};

const LEASE_NAMESPACE: &str = "kube-node-lease";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    const fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }
}

/// A write, with what is written and what was there.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    pub user: &'a User,
    pub operation: Operation,
    pub group: &'a str,
    pub resource: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
    pub namespace: &'a str,
    /// May be empty when something is created.
    pub name: &'a str,
    pub object: Option<&'a Value>,
    pub old: Option<&'a Value>,
}

/// The objects that a write is compared with, as they are now.
pub trait Existing {
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>>;
    fn node_uid(&self, name: &str) -> Option<String>;
}

/// Why a node may not write this.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    #[error("{0}")]
    Forbidden(String),
    #[error("{} {} not found", resource, go_quoted(name))]
    NotFound { resource: &'static str, name: String },
}

impl Refusal {
    /// How the refusal of this write is told.
    pub fn status(&self, write: &Write<'_>) -> Status {
        match self {
            Refusal::Forbidden(why) => {
                Status::forbidden(Qualified::new(write.group, write.resource), write.object_name(), why)
            }
            Refusal::NotFound { resource, name } => Status::not_found(Qualified::core(resource), name),
        }
    }
}

/// Judges a write by a node; writes by others pass.
pub fn admit(write: &Write<'_>, existing: &dyn Existing) -> Result<(), Refusal> {
    let node = match write.user.node() {
        NodeIdentity::NotANode => return Ok(()),
        NodeIdentity::Node(node) => node,
        NodeIdentity::Incomplete => {
            return forbid(format!("could not determine node from user {}", go_quoted(&write.user.name)));
        }
    };
    match (write.group, write.resource, write.subresource) {
        ("", "pods", "") => pod::object(node, write, existing),
        ("", "pods", "status") => pod::status(node, write),
        ("", "pods", "eviction") => pod::eviction(node, write, existing),
        ("", "pods", other) => {
            forbid(format!("unexpected pod subresource {}, only 'status' and 'eviction' are allowed", go_quoted(other)))
        }
        ("", "nodes", _) => node::object(node, write),
        ("", "persistentvolumeclaims", "status") => node::claim_status(node, write),
        ("", "persistentvolumeclaims", _) => forbid("may only update PVC status"),
        ("", "serviceaccounts", "token") if write.operation == Operation::Create => token(node, write, existing),
        ("coordination.k8s.io", "leases", _) => lease(node, write),
        ("storage.k8s.io", "csinodes", _) => {
            own_name(node, write, "can only access CSINode with the same name as the requesting node")
        }
        ("resource.k8s.io", "resourceslices", _) => node::slice(node, write),
        ("certificates.k8s.io", "certificatesigningrequests", _) => node::signing_request(node, write),
        (_, _, _) => Ok(()),
    }
}

fn lease(node: &str, write: &Write<'_>) -> Result<(), Refusal> {
    if write.namespace != LEASE_NAMESPACE {
        let namespace = go_quoted(LEASE_NAMESPACE);
        return forbid(format!("can only access leases in the {namespace} system namespace"));
    }
    own_name(node, write, "can only access node lease with the same name as the requesting node")
}

/// The object is called like the node. When something is created, only the object knows its name.
fn own_name(node: &str, write: &Write<'_>, why: &str) -> Result<(), Refusal> {
    let name = match write.operation {
        Operation::Create => write.name_in_object(),
        Operation::Update | Operation::Delete => write.name,
    };
    if name == node { Ok(()) } else { forbid(why) }
}

/// A token must be bound to a pod that runs on this node.
fn token(node: &str, write: &Write<'_>, existing: &dyn Existing) -> Result<(), Refusal> {
    let spec = write.new_object::<TokenRequest>()?.spec.unwrap_or_default();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let bound = spec.bound_object_ref.unwrap_or_default();
    let (name, uid) = (text(&bound.name), text(&bound.uid));
    if text(&bound.api_version) != "v1" || text(&bound.kind) != "Pod" || name.is_empty() {
        return forbid("node requested token not bound to a pod");
    }
    if uid.is_empty() {
        return forbid("node requested token with a pod binding without a uid");
    }
    let pod = existing.pod(write.namespace, &name).ok_or(Refusal::NotFound { resource: "pods", name })?;
    if pod.metadata.uid.as_deref() != Some(uid.as_str()) {
        return forbid(format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        ));
    }
    if pod::node_of(&pod) != node {
        return forbid("node requested token bound to a pod scheduled on a different node");
    }
    audience(node, &spec.audiences.unwrap_or_default(), &pod)
}

fn audience(node: &str, audiences: &[String], pod: &Pod) -> Result<(), Refusal> {
    let wanted = match audiences {
        [] => "",
        [one] => one.as_str(),
        [_, _, ..] => return forbid("node may only request 0 or 1 audiences"),
    };
    let volumes = pod.spec.iter().filter_map(|spec| spec.volumes.as_ref()).flatten();
    let sources = volumes.filter_map(|volume| volume.projected.as_ref()?.sources.as_ref()).flatten();
    let mut tokens = sources.filter_map(|source| source.service_account_token.as_ref());
    if tokens.any(|token| token.audience.as_deref().unwrap_or_default() == wanted) {
        return Ok(());
    }
    let (user, wanted) = (node_user(node), go_quoted(wanted));
    forbid(format!("{user} is not authorized to request tokens for audience {wanted}"))
}

impl Write<'_> {
    fn new_object<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        decoded(self.object)
    }

    fn old_object<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        decoded(self.old)
    }

    fn name_in_object(&self) -> &str {
        self.object.and_then(|object| object.pointer("/metadata/name")?.as_str()).unwrap_or_default()
    }

    fn object_name(&self) -> &str {
        if self.name.is_empty() { self.name_in_object() } else { self.name }
    }

    fn unexpected(&self) -> Result<(), Refusal> {
        forbid(format!("unexpected operation {}", go_quoted(self.operation.as_str())))
    }
}

fn decoded<T: DeserializeOwned>(object: Option<&Value>) -> Result<T, Refusal> {
    let object = object.ok_or_else(|| Refusal::Forbidden("unexpected type <nil>".to_owned()))?;
    T::deserialize(object).map_err(|error| Refusal::Forbidden(format!("the object cannot be read: {error}")))
}

fn forbid<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Forbidden(why.into()))
}
