//! Asking one webhook one question, and what becomes of the change when it does not answer.

use std::time::Instant;

use serde_json::Value;
use tracing::Instrument as _;

use super::client::{self, Target};
use super::hook::{DryRuns, FailurePolicy, Form, Hook};
use super::subject::Subject;
use super::verdict::{Ruling, Verdict, read_review};
use crate::admission::match_conditions::NOT_EVALUATED;
use crate::api::Api;
use crate::metrics::Asked;
use crate::options::DryRun;
use crate::status::Status;
use model::field::go_quoted;

/// The webhook's verdict; none if it gave none and that is to be ignored.
pub async fn ask(
    api: &Api,
    hook: &Hook,
    subject: &Subject<'_>,
    form: Form,
    objects: (Option<&Value>, Option<&Value>),
) -> Result<Option<Verdict>, Status> {
    if subject.review.options == DryRun::All && hook.dry_runs == DryRuns::Unsupported {
        let name = go_quoted(&hook.name);
        return Err(Status::bad_request(format!("admission webhook {name} does not support dry run")));
    }
    let (began, asked) =
        (Instant::now(), Asked { name: &hook.name, sort: hook.sort.as_str(), operation: subject.operation() });
    let span = tracing::info_span!("admission.webhook", webhook = asked.name, sort = asked.sort, asked.operation);
    let result = match answer(api, hook, subject, form, objects).instrument(span).await {
        Ok(verdict) => Ok(Some(verdict)),
        Err(why) => unanswered(hook, &why).map(|()| None),
    };
    match &result {
        Err(_) | Ok(Some(Verdict { ruling: Ruling::Denied(_), .. })) => {
            api.metrics.webhooks.refused(asked, began.elapsed());
        }
        Ok(_) => api.metrics.webhooks.passed(asked, began.elapsed()),
    }
    result
}

async fn answer(
    api: &Api,
    hook: &Hook,
    subject: &Subject<'_>,
    form: Form,
    (object, old): (Option<&Value>, Option<&Value>),
) -> Result<Verdict, String> {
    if hook.has_conditions {
        return Err(format!("its matchConditions cannot be evaluated: {NOT_EVALUATED}"));
    }
    if !hook.speaks_v1 {
        return Err("could not create admission objects: webhook does not accept known AdmissionReview versions (v1)"
            .to_owned());
    }
    let trust = hook.trust.clone().map_err(|error| format!("could not get REST client: {error}"))?;
    let target = Target::of(api, &hook.client).map_err(|error| format!("could not get REST client: {error}"))?;
    let uid = uuid::Uuid::new_v4().to_string();
    let question = subject.question(&uid, form, object, old);
    let answered = client::post(&target, trust, question, hook.timeout).await;
    let bytes = answered.map_err(|error| format!("failed to call webhook: Post {:?}: {error}", target.url()))?;
    read_review(&bytes, &uid).map_err(|error| format!("received invalid webhook response: {error}"))
}

/// Whether a change goes on without the verdict of this webhook.
pub fn unanswered(hook: &Hook, why: &str) -> Result<(), Status> {
    let name = &hook.name;
    match hook.failure {
        FailurePolicy::Ignore => {
            tracing::warn!(webhook = name, why, "a webhook failed; its policy lets the change pass");
            Ok(())
        }
        FailurePolicy::Fail => {
            tracing::warn!(webhook = name, why, "a webhook failed; its policy refuses the change");
            Err(Status::internal_error(&format!("failed calling webhook {}: {why}", go_quoted(name))))
        }
    }
}
