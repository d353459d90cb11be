//! Whether a change is admitted, and what is added to it: an ordered list of built-in steps, then webhooks.
//!
//! A step is one file below this one and one line in [`STEPS`]. Mutating steps see an object with its defaults, before it
//! is validated; validating steps see what would be stored. Deletes are only validated, with the object as it is.

mod namespace_lifecycle;

use crate::api::Api;
use crate::call::Call;
use crate::kind::{AnyObject, Part};
use crate::options::DryRun;
use crate::status::Status;

/// What a request is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// A change that is being admitted.
#[derive(Clone, Copy)]
pub struct Review<'a> {
    pub call: &'a Call,
    pub operation: Operation,
    pub part: Option<Part>,
    pub options: DryRun,
}

/// One built-in step. Steps read the cache; they do not write.
pub trait Step: Send + Sync {
    /// Changes an object that is about to be created or updated, or refuses it.
    fn mutate(
        &self,
        _api: &Api,
        _review: &Review<'_>,
        _object: &mut dyn AnyObject,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// Refuses what must not happen.
    fn validate(
        &self,
        _api: &Api,
        _review: &Review<'_>,
        _object: Option<&dyn AnyObject>,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        Ok(())
    }
}

/// Every built-in step, in order.
const STEPS: &[&dyn Step] = &[&namespace_lifecycle::NamespaceLifecycle];

/// What every change has to pass.
#[derive(Default)]
pub struct Admission {}

impl Admission {
    /// Lets every mutating step at the object; returns what the client should be told.
    pub async fn mutate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &mut Box<dyn AnyObject>,
        old: Option<&dyn AnyObject>,
    ) -> Result<Vec<String>, Status> {
        for step in STEPS {
            step.mutate(api, review, &mut **object, old)?;
        }
        Ok(Vec::new())
    }

    /// Lets every validating step look at what would be stored; returns what the client should be told.
    pub async fn validate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: Option<&dyn AnyObject>,
        old: Option<&dyn AnyObject>,
    ) -> Result<Vec<String>, Status> {
        for step in STEPS {
            step.validate(api, review, object, old)?;
        }
        Ok(Vec::new())
    }

    /// A binding is reviewed by the built-in steps alone, as the pod that it makes.
    pub fn validate_binding(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &dyn AnyObject,
        old: Option<&dyn AnyObject>,
    ) -> Result<Vec<String>, Status> {
        for step in STEPS {
            step.validate(api, review, Some(object), old)?;
        }
        Ok(Vec::new())
    }
}
