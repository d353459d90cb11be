//! The `eviction` subresource: a pod is deleted if its disruption budget can bear it (1.8).
//!
//! `lifecycle::disruption` decides; here the pod and its budgets are read, the budget is charged, the pod is marked and
//! deleted. What is stored may change between these steps: a charge is written only over the budget that was judged, and
//! a delete that rests on the pod's state carries the version of the pod that was judged.

mod budget;
mod request;

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use lifecycle::disruption::{self, Decision, Guard, Refusal};
use rand::RngExt as _;
use serde_json::Value;

use self::request::Eviction;
use crate::admission::{Body, Operation, Review};
use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::kind::{Part, Subresource};
use crate::options::{DeleteRequest, DryRun, WriteVerb, parse_write};
use crate::status::{Outcome as Told, Qualified, Reason, Status};
use crate::verbs::{Attempt, Outcome, Reviewed, encode};

/// How often something is tried again that someone else was quicker to change.
const TRIES: usize = 20;
/// The pause before the next try; up to a tenth is added so that clients do not stay in step.
const PAUSE: Duration = Duration::from_millis(500);

/// What became of a pod that budgets need not be asked about.
enum Unguarded {
    Evicted,
    /// Budgets have to be asked after all, about this version of the pod.
    Guarded(Box<Pod>),
}

impl Api {
    /// Evicts the pod that a request names.
    pub async fn evict(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Create)?;
        let (operation, subresource) = (Operation::Create, Some(Subresource::Eviction));
        let review = Review { call, operation, subresource, options: options.dry_run };
        let sent = Eviction::read(call, &call.value()?.value)?;
        let body = Body { group: "policy", version: "v1", kind: "Eviction", value: sent.value, old: None };
        let again = |value: &Value| Eviction::read(call, value).map(|eviction| eviction.value);
        let (admitted, warnings) = self.admission.review_body(self, &review, body, &again).await?;
        let eviction = Eviction::read(call, &admitted)?;
        let answer = match self.evict_unguarded(call, &eviction.request).await? {
            Unguarded::Evicted => done(),
            Unguarded::Guarded(pod) => self.evict_guarded(call, &pod, &eviction.request).await?,
        };
        Ok(answer.with_warnings(warnings))
    }

    /// Deletes a pod that no budget guards. A pod that has not begun may begin meanwhile; then it is looked at again.
    async fn evict_unguarded(&self, call: &Call, request: &DeleteRequest) -> Result<Unguarded, Status> {
        let version_asked = request.options.preconditions.resource_version.is_some();
        let mut tries = 0;
        loop {
            let pod = self.newest_pod(call).await?;
            let request = match disruption::guard(&pod) {
                Guard::Budgets => return Ok(Unguarded::Guarded(Box::new(pod))),
                Guard::NothingYet if !version_asked => at_version(request, &pod),
                Guard::NothingYet | Guard::Nothing => request.clone(),
            };
            tries += 1;
            match self.mark_and_delete(call, &request).await {
                Ok(()) => return Ok(Unguarded::Evicted),
                Err(conflict) if is_conflict(&conflict) && !version_asked && tries < TRIES => pause().await,
                Err(refusal) => return Err(refusal),
            }
        }
    }

    async fn evict_guarded(&self, call: &Call, pod: &Pod, request: &DeleteRequest) -> Result<Answer, Status> {
        let namespace = call.namespace.as_deref().unwrap_or_default();
        let budgets = self.cached_all("policy", "poddisruptionbudgets", &format!("{namespace}/"));
        match disruption::decide(pod, &budgets) {
            Decision::TooManyBudgets => return Ok(too_many_budgets()),
            Decision::Evict => self.mark_and_delete(call, request).await?,
            Decision::EvictUnhealthy { budget } => {
                let version_asked = request.options.preconditions.resource_version.is_some();
                let deleted = self.mark_and_delete(call, &at_version(request, pod)).await;
                deleted.map_err(|refusal| match is_conflict(&refusal) && !version_asked {
                    // The pod may have become healthy: the client is to ask again.
                    true => budget::refused(&Refusal::Unobserved { budget: budget.to_owned() }),
                    false => refusal,
                })?;
            }
            Decision::Spend { budget } => {
                self.spend(call, budget, request.dry_run).await?;
                self.mark_and_delete(call, request).await?;
            }
        }
        Ok(done())
    }

    /// The pod as it is stored now.
    async fn newest_pod(&self, call: &Call) -> Result<Pod, Status> {
        self.catch_up().await?;
        let facts = call.kind.facts();
        let found = self.cached(facts.group, facts.resource, &call.place());
        found.ok_or_else(|| Status::not_found(facts.named_resource(), call.name()))
    }

    /// Writes into the pod that it is evicted, then deletes it.
    async fn mark_and_delete(&self, call: &Call, request: &DeleteRequest) -> Result<(), Status> {
        let mut request = request.clone();
        if request.dry_run == DryRun::No {
            let version = self.mark(call, &request).await?;
            if let Some(asked) = &mut request.options.preconditions.resource_version {
                *asked = version;
            }
        }
        self.delete_reviewed(call, &request, Reviewed::Already).await.map(|_| ())
    }

    /// Returns the version of the pod with the mark.
    async fn mark(&self, call: &Call, request: &DeleteRequest) -> Result<String, Status> {
        self.catch_up().await?;
        let mut attempt = Attempt::new(self, call.kind, call.place());
        loop {
            let Some(current) = attempt.current().await? else {
                return Err(Status::not_found(call.kind.facts().named_resource(), call.name()));
            };
            let mut object = current.object.boxed_clone();
            let pod = object.downcast_mut::<Pod>().ok_or_else(Status::method_not_allowed)?;
            check_preconditions(pod, request)?;
            let scene = self.scene();
            disruption::mark_evicted(pod.status.get_or_insert_default(), scene.now);
            let part = Some(Part::Status);
            call.kind.prepare_for_update(part, &mut *object, &*current.object, &scene);
            let errors = call.kind.validate_update(part, &*object, &*current.object, &scene);
            if !errors.is_empty() {
                return Err(Status::invalid(call.kind.facts().named_kind(), call.name(), &errors));
            }
            let stored = encode(call.kind, &mut *object);
            if current.item.stored() == stored.as_ref() {
                return Ok(current.item.revision.to_string());
            }
            match attempt.update(stored).await? {
                Outcome::Done(committed) => return Ok(committed.revision.to_string()),
                Outcome::Again => {}
            }
        }
    }
}

/// The same request, for this version of the pod only.
fn at_version(request: &DeleteRequest, pod: &Pod) -> DeleteRequest {
    let mut request = request.clone();
    request.options.preconditions.resource_version.clone_from(&pod.metadata.resource_version);
    request
}

/// What the delete will check is checked before the pod is marked, too.
fn check_preconditions(pod: &Pod, request: &DeleteRequest) -> Result<(), Status> {
    let asked = &request.options.preconditions;
    let stored = &pod.metadata;
    let checks = [
        ("UID", &asked.uid, &stored.uid, "The object might have been deleted and then recreated"),
        ("ResourceVersion", &asked.resource_version, &stored.resource_version, "The object might have been modified"),
    ];
    for (what, asked, stored, why) in checks {
        let (asked, stored) = (asked.as_deref().unwrap_or_default(), stored.as_deref().unwrap_or_default());
        if !asked.is_empty() && asked != stored {
            let why = format!(
                "the {what} in the precondition ({asked}) does not match the {what} in record ({stored}). {why}"
            );
            return Err(Status::conflict(
                Qualified::core("Pod"),
                pod.metadata.name.as_deref().unwrap_or_default(),
                &why,
            ));
        }
    }
    Ok(())
}

fn is_conflict(status: &Status) -> bool {
    status.reason == Some(Reason::Conflict)
}

async fn pause() {
    let more = rand::rng().random_range(0.0..0.1);
    tokio::time::sleep(PAUSE.mul_f64(1.0 + more)).await;
}

fn done() -> Answer {
    Answer::from(Status { code: 201, ..Status::success(None) })
}

/// Upstream returns this failure as the result of a request that succeeded; clients know to look at the body.
fn too_many_budgets() -> Answer {
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    let failure = Status { outcome: Told::Failure, message: message.to_owned(), code: 500, ..Status::success(None) };
    Answer::json(201, failure.to_json())
}

#[cfg(test)]
mod tests;
