//! Whether a user may do something.
//!
//! | user | may |
//! | --- | --- |
//! | in `system:masters` | everything |
//! | anonymous | see health and version |
//! | a node | what [`node`] allows, mostly what belongs to pods bound to it |
//! | something that is half a node (the name without the group, or the reverse) | nothing |
//! | everyone else who is authenticated | everything: RBAC is not here yet |
//!
//! Objects are not seen here; what a node may write into them is for [`crate::node_restriction`].

mod node;
mod references;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use model::field::go_quoted;
use model::selector::Fields;

use crate::identity::{MASTERS, NodeIdentity, User};
use crate::path::ResourcePath;
use crate::status::{Qualified, Status};

pub(crate) use references::{MIRROR_ANNOTATION, named_by};
pub use references::{References, references};

/// What an anonymous user may get.
const OPEN_PATHS: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// One request, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    pub user: &'a User,
    /// The verb of a resource, or the HTTP method in lower case.
    pub verb: &'a str,
    pub target: Target<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    Resource(Resource<'a>),
    /// A path to something that is not a resource.
    Path(&'a str),
}

/// Empty text where the request says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resource<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    /// From the path, or from a field selector that picks one name.
    pub name: &'a str,
    /// From a field selector that picks what belongs to one node.
    pub selected_node: &'a str,
}

impl<'a> Resource<'a> {
    /// What a path asks for, with what a list's or watch's field selector narrows it to.
    pub fn of(path: &'a ResourcePath, fields: Option<&'a Fields>) -> Resource<'a> {
        let selected = |field| fields.and_then(|fields| fields.exact(field));
        Resource {
            group: &path.group,
            version: &path.version,
            resource: &path.resource,
            subresource: path.subresource.as_deref().unwrap_or_default(),
            namespace: path.namespace.as_deref().unwrap_or_default(),
            name: path.name.as_deref().or_else(|| selected("metadata.name")).unwrap_or_default(),
            selected_node: selected("spec.nodeName").unwrap_or_default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// The reason may be empty: then nothing more than the refusal is said.
    Deny(String),
}

/// A persistent volume claim by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimKey {
    pub namespace: String,
    pub name: String,
}

/// What connects objects with nodes, as it is now.
pub trait Relations {
    /// The pods bound to a node.
    fn pods_of(&self, node: &str) -> Vec<Arc<Pod>>;
    /// The claim that a persistent volume is bound to.
    fn claim_of_volume(&self, volume: &str) -> Option<ClaimKey>;
    /// The node that a volume attachment is for.
    fn node_of_attachment(&self, attachment: &str) -> Option<String>;
    /// The node that a resource slice describes.
    fn node_of_slice(&self, slice: &str) -> Option<String>;
}

/// Decides on one request.
pub fn authorize(attributes: &Attributes<'_>, relations: &dyn Relations) -> Decision {
    let user = attributes.user;
    if user.is_anonymous() {
        return match attributes.target {
            Target::Path(path) if attributes.verb == "get" && OPEN_PATHS.contains(&path) => Decision::Allow,
            Target::Path(_) | Target::Resource(_) => Decision::Deny(String::new()),
        };
    }
    if user.is_in(MASTERS) {
        return Decision::Allow;
    }
    match user.node() {
        NodeIdentity::NotANode => Decision::Allow,
        NodeIdentity::Node(name) => node::authorize(name, attributes, relations),
        NodeIdentity::Incomplete => Decision::Deny(format!("unknown node for user {}", go_quoted(&user.name))),
    }
}

/// How a refusal is told.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let (what, name) = match attributes.target {
        Target::Resource(resource) => (Qualified::new(resource.group, resource.resource), resource.name),
        Target::Path(_) => (Qualified::core(""), ""),
    };
    let message = message(attributes);
    let why = if reason.is_empty() { message } else { format!("{message}: {reason}") };
    Status::forbidden(what, name, &why)
}

fn message(attributes: &Attributes<'_>) -> String {
    let (user, verb) = (go_quoted(&attributes.user.name), attributes.verb);
    let resource = match attributes.target {
        Target::Path(path) => return format!("User {user} cannot {verb} path {}", go_quoted(path)),
        Target::Resource(resource) => resource,
    };
    let full = match resource.subresource {
        "" => resource.resource.to_owned(),
        subresource => format!("{}/{subresource}", resource.resource),
    };
    let scope = match resource.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", go_quoted(namespace)),
    };
    let (full, group) = (go_quoted(&full), go_quoted(resource.group));
    format!("User {user} cannot {verb} resource {full} in API group {group} {scope}")
}
