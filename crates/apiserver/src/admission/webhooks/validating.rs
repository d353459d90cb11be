//! Webhooks that only judge: all at once, and every one of them must allow the change.

use futures_util::future::join_all;
use serde_json::Value;

use super::ask::{ask, unanswered};
use super::hook::{Form, Hook};
use super::subject::Subject;
use super::verdict::{Ruling, Verdict};
use crate::api::Api;
use crate::status::Status;

/// Asks every webhook that the change concerns. Of several refusals, the first in order is told.
pub async fn validate(
    api: &Api,
    hooks: &[Hook],
    subject: &Subject<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Vec<String>, Status> {
    let mut concerned = Vec::new();
    for hook in hooks {
        if let Some(form) = hook.matches(api, subject, object, old)? {
            concerned.push((hook, form));
        }
    }
    let asked = concerned.into_iter().map(|(hook, form)| judge(api, hook, subject, form, (object, old)));
    let mut warnings = Vec::new();
    for verdict in join_all(asked).await {
        warnings.extend(verdict?);
    }
    Ok(warnings)
}

async fn judge(
    api: &Api,
    hook: &Hook,
    subject: &Subject<'_>,
    form: Form,
    objects: (Option<&Value>, Option<&Value>),
) -> Result<Vec<String>, Status> {
    let Some(Verdict { ruling, warnings }) = ask(api, hook, subject, form, objects).await? else {
        return Ok(Vec::new());
    };
    match ruling {
        Ruling::Allowed => Ok(warnings),
        Ruling::Denied(denial) => Err(denial.status(&hook.name)),
        Ruling::AllowedWithPatch(_) => {
            let why = "received invalid webhook response: validating webhook may not return response.patch";
            unanswered(hook, why).map(|()| warnings)
        }
    }
}
