//! Webhooks with match conditions are refused: this server evaluates no expressions, and a webhook that is called more
//! often than its author wanted is worse than one that is refused.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use model::field::{Errors, Path};

use super::{Review, Step};
use crate::api::Api;
use crate::kind::AnyObject;
use crate::status::Status;

/// Said when such a configuration is stored, and when one from elsewhere would have to be obeyed.
pub const NOT_EVALUATED: &str =
    "expressions are not evaluated by this server; narrow the webhook by rules, namespaceSelector or objectSelector";

pub struct MatchConditions;

impl Step for MatchConditions {
    fn validate(
        &self,
        _api: &Api,
        review: &Review<'_>,
        object: Option<&dyn AnyObject>,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        let mut errors = Errors::new();
        if let Some(configuration) = object.downcast_ref::<MutatingWebhookConfiguration>() {
            let hooks = configuration.webhooks.iter().flatten();
            refuse(hooks.map(|hook| hook.match_conditions.as_deref()), &mut errors);
        } else if let Some(configuration) = object.downcast_ref::<ValidatingWebhookConfiguration>() {
            let hooks = configuration.webhooks.iter().flatten();
            refuse(hooks.map(|hook| hook.match_conditions.as_deref()), &mut errors);
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(Status::invalid(review.call.kind.facts().named_kind(), object.name(), &errors))
    }
}

fn refuse<'a>(hooks: impl Iterator<Item = Option<&'a [MatchCondition]>>, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("webhooks");
    for (i, conditions) in hooks.enumerate() {
        if conditions.is_some_and(|conditions| !conditions.is_empty()) {
            errors.forbidden(path.index(i).child("matchConditions"), NOT_EVALUATED);
        }
    }
}
