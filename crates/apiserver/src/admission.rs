//! Whether a change is admitted, and what is added to it: an ordered list of built-in steps, then webhooks.
//!
//! A step is one file below this one and one line in [`STEPS`]. Mutating steps see an object with its defaults, before it
//! is validated; validating steps see what would be stored. Deletes are only validated, with the object as it is.
//! There is no step for pod security: no namespace enforces a level, whatever its labels say.

mod cached;
mod match_conditions;
mod namespace_lifecycle;
mod node_restriction;
mod priority;
mod service_account;
#[cfg(test)]
mod tests;
mod toleration_seconds;
pub mod webhooks;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use self::webhooks::{Rounds, Subject, Webhooks};
use crate::api::Api;
use crate::call::Call;
use crate::kind::{AnyObject, Subresource};
use crate::options::{DryRun, FieldValidation};
use crate::status::Status;
use crate::verbs::random_letters;

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
    pub subresource: Option<Subresource>,
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
const STEPS: &[&dyn Step] = &[
    &namespace_lifecycle::NamespaceLifecycle,
    &service_account::Accounts,
    &node_restriction::NodeRestriction,
    &priority::Priority,
    &toleration_seconds::TolerationSeconds,
    &match_conditions::MatchConditions,
];

/// What every change has to pass.
pub struct Admission {
    pub webhooks: Webhooks,
    /// Throws the dice for names that nobody chose: rules take them as values.
    pub letters: fn() -> String,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission { webhooks: Webhooks::default(), letters: random_letters }
    }
}

/// The body of a subresource that is no object of the kind: an eviction, a binding, a scale, the options of an `exec`.
pub struct Body {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub value: Value,
    /// What it replaces, if the subresource is updated.
    pub old: Option<Value>,
}

impl Review<'_> {
    pub fn subresource_name(&self) -> &'static str {
        self.subresource.map_or("", Subresource::name)
    }
}

impl Admission {
    /// Lets every mutating step at the object; returns what the client should be told.
    pub async fn mutate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &mut Box<dyn AnyObject>,
        old: Option<&dyn AnyObject>,
    ) -> Result<Vec<String>, Status> {
        if run_steps(api, review, &mut **object, old).is_err() {
            // What is missing in the cache may just have been stored. Steps do nothing twice.
            api.catch_up().await?;
            run_steps(api, review, &mut **object, old)?;
        }
        let hooks = self.webhooks.mutating(api);
        let subject = Subject::of_object(review, object.meta());
        if !hooks.iter().any(|hook| hook.may_match(api, &subject)) {
            return Ok(Vec::new());
        }
        let again = |value: &Value| redecoded(review.call, value).map(|object| object.to_value());
        let old_value = old.map(AnyObject::to_value);
        let mut rounds = Rounds::new(api, &hooks, subject, old_value.as_ref(), &again);
        let mut value = rounds.first(object.to_value()).await?;
        if rounds.changed() {
            *object = redecoded(review.call, &value)?;
            // Steps see what webhooks made of the object, and webhooks what the steps made of that.
            run_steps(api, review, &mut **object, old)?;
            value = rounds.second(object.to_value(), value).await?;
            *object = redecoded(review.call, &value)?;
        }
        Ok(rounds.into_warnings())
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
        let Some(shown) = object.or(old) else { return Ok(Vec::new()) };
        let subject = Subject::of_object(review, shown.meta());
        if !self.webhooks.may_match(api, &subject) {
            return Ok(Vec::new());
        }
        let (object, old) = (object.map(AnyObject::to_value), old.map(AnyObject::to_value));
        let mut warnings = Vec::new();
        if review.operation == Operation::Delete {
            // Webhooks that change objects hear of deletes too, though there is nothing to change.
            let hooks = self.webhooks.mutating(api);
            warnings.extend(webhooks::announce(api, &hooks, &subject, old.as_ref()).await?);
        }
        let hooks = self.webhooks.validating(api);
        warnings.extend(webhooks::validate(api, &hooks, &subject, object.as_ref(), old.as_ref()).await?);
        Ok(warnings)
    }

    /// Reviews the body of a subresource, as it was sent; returns it as it may be carried out, and what the client should
    /// be told. `again` reads it as its type does and writes it back.
    pub async fn review_body(
        &self,
        api: &Api,
        review: &Review<'_>,
        body: Body,
        again: &webhooks::Redecode<'_>,
    ) -> Result<(Value, Vec<String>), Status> {
        if check_body(api, review, &body).is_err() {
            api.catch_up().await?;
            check_body(api, review, &body)?;
        }
        let subject = Subject::of_body(review, &body);
        let hooks = self.webhooks.mutating(api);
        let old = body.old.as_ref();
        let mut rounds = Rounds::new(api, &hooks, subject.clone(), old, again);
        let mut value = rounds.first(body.value).await?;
        if rounds.changed() {
            value = rounds.second(value.clone(), value).await?;
        }
        let mut warnings = rounds.into_warnings();
        let hooks = self.webhooks.validating(api);
        warnings.extend(webhooks::validate(api, &hooks, &subject, Some(&value), old).await?);
        Ok((value, warnings))
    }
}

fn run_steps(
    api: &Api,
    review: &Review<'_>,
    object: &mut dyn AnyObject,
    old: Option<&dyn AnyObject>,
) -> Result<(), Status> {
    STEPS.iter().try_for_each(|step| step.mutate(api, review, object, old))
}

fn check_body(api: &Api, review: &Review<'_>, body: &Body) -> Result<(), Status> {
    namespace_lifecycle::check(api, review, review.call.name())?;
    node_restriction::check(api, review, Some(&body.value), body.old.as_ref())
}

/// An object that a webhook changed is read and defaulted as if it had been sent so.
fn redecoded(call: &Call, value: &Value) -> Result<Box<dyn AnyObject>, Status> {
    let sent = crate::call::decode(call.kind, value, &[], FieldValidation::Ignore)
        .map_err(|status| Status::internal_error(&format!("a webhook broke the object: {}", status.message)))?;
    let mut object = sent.object;
    call.settle_namespace(&mut *object)?;
    Ok(object)
}

/// What refusals call an object that may not have its name yet.
fn name_of(metadata: &ObjectMeta) -> &str {
    let name = metadata.name.as_deref().filter(|name| !name.is_empty());
    name.or(metadata.generate_name.as_deref()).unwrap_or_default()
}
