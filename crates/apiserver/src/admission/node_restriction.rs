//! What a node may write, asked for every change that a node sends.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::Value;

use super::{Operation, Review, Step};
use crate::api::Api;
use crate::identity::NodeIdentity;
use crate::kind::AnyObject;
use crate::node_restriction::{self, Existing, Write};
use crate::status::Status;

pub struct NodeRestriction;

impl Step for NodeRestriction {
    fn mutate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &mut dyn AnyObject,
        old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        check_object(api, review, Some(object), old)
    }

    fn validate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: Option<&dyn AnyObject>,
        old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        match review.operation {
            Operation::Delete => check_object(api, review, object, old),
            // What was sent has been judged before it was prepared for the store.
            Operation::Create | Operation::Update | Operation::Connect => Ok(()),
        }
    }
}

fn check_object(
    api: &Api,
    review: &Review<'_>,
    object: Option<&dyn AnyObject>,
    old: Option<&dyn AnyObject>,
) -> Result<(), Status> {
    if review.call.user.node() == NodeIdentity::NotANode {
        return Ok(());
    }
    let (object, old) = (object.map(AnyObject::to_value), old.map(AnyObject::to_value));
    check(api, review, object.as_ref(), old.as_ref())
}

/// Judges what a request brings, be it an object or the body of a subresource.
pub fn check(api: &Api, review: &Review<'_>, object: Option<&Value>, old: Option<&Value>) -> Result<(), Status> {
    let operation = match review.operation {
        Operation::Create => node_restriction::Operation::Create,
        Operation::Update => node_restriction::Operation::Update,
        Operation::Delete => node_restriction::Operation::Delete,
        // Nodes connect to nothing; authorization has said so.
        Operation::Connect => return Ok(()),
    };
    let (call, facts) = (review.call, review.call.kind.facts());
    let write = Write {
        user: &call.user,
        operation,
        group: facts.group,
        resource: facts.resource,
        subresource: review.subresource_name(),
        namespace: call.namespace.as_deref().unwrap_or_default(),
        name: call.name(),
        object,
        old,
    };
    node_restriction::admit(&write, api).map_err(|refusal| refusal.status(&write))
}

impl Existing for Api {
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        self.cached("", "pods", &format!("{namespace}/{name}")).map(Arc::new)
    }

    fn node_uid(&self, name: &str) -> Option<String> {
        self.cached::<Node>("", "nodes", name)?.metadata.uid
    }
}
