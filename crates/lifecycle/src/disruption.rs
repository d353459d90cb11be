//! Whether the API may evict a pod: what disruption budgets say, and what an eviction takes from them.
//!
//! The caller reads the pod and the budgets of its namespace, stores the status that is returned, and deletes the pod.
//!
//! | pod | budgets that select it | decision |
//! | --- | --- | --- |
//! | terminal or terminating | any | nothing is disrupted: evict |
//! | pending | any | evict, if the pod is still as it was seen |
//! | other | none | evict |
//! | other | two or more | no answer: [`Decision::TooManyBudgets`] |
//! | unready | one that allows it, or is healthy without the pod | evict, if the pod is still as it was seen |
//! | other | one | spend one disruption of it, or refuse |

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use model::selector::Labels;
use thiserror::Error;

use crate::moment::Moment;

/// More evictions than this may not wait for the budget's controller to notice them.
const DISRUPTED_PODS_MAX: usize = 2000;
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";
const SYNC_FAILED: &str = "SyncFailed";
const INSUFFICIENT_PODS: &str = "InsufficientPods";

/// What guards a pod against eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The pod has ended or is ending.
    Nothing,
    /// The pod has not begun: nothing, as long as it is the version that was seen.
    NothingYet,
    Budgets,
}

/// What to do about an eviction that budgets may guard against.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision<'a> {
    /// No budget selects the pod.
    Evict,
    /// The pod serves nobody; it may go if it is still the version that was seen.
    EvictUnhealthy {
        budget: &'a str,
    },
    /// The pod may go once one disruption of this budget is spent.
    Spend {
        budget: &'a PodDisruptionBudget,
    },
    TooManyBudgets,
}

/// Why a budget does not let a pod go.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// The budget's controller has not seen its newest version.
    #[error("The disruption budget {budget} is still being processed by the server.")]
    Unobserved { budget: String },
    #[error("pdb disruptions allowed is negative")]
    Negative { budget: String },
    #[error("DisruptedPods map too big - too many evictions not confirmed by PDB controller")]
    Unconfirmed { budget: String },
    /// Nothing is left to spend.
    #[error("{why}")]
    Exhausted { why: String },
}

impl Refusal {
    /// What the cause in the answer says.
    pub fn cause(&self) -> String {
        let currently = "does not allow evicting pods currently";
        match self {
            Refusal::Negative { budget } => format!("The disruption budget {budget} {currently}: {self}"),
            Refusal::Unconfirmed { budget } => {
                let why = "too many pending evictions not confirmed by PDB controller";
                format!("The disruption budget {budget} {currently}: {why}")
            }
            Refusal::Unobserved { .. } | Refusal::Exhausted { .. } => self.to_string(),
        }
    }
}

/// What guards this pod.
pub fn guard(pod: &Pod) -> Guard {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    match phase {
        _ if pod.metadata.deletion_timestamp.is_some() => Guard::Nothing,
        Some("Succeeded" | "Failed") => Guard::Nothing,
        Some("Pending") => Guard::NothingYet,
        Some(_) | None => Guard::Budgets,
    }
}

/// Decides about a guarded pod, given the budgets of its namespace.
pub fn decide<'a>(pod: &Pod, budgets: &'a [PodDisruptionBudget]) -> Decision<'a> {
    let mut selecting = budgets.iter().filter(|budget| selects(budget, pod));
    let (Some(budget), None) = (selecting.next(), selecting.next()) else {
        return if budgets.iter().any(|budget| selects(budget, pod)) {
            Decision::TooManyBudgets
        } else {
            Decision::Evict
        };
    };
    if !is_ready(pod) && lets_unhealthy_go(budget) {
        return Decision::EvictUnhealthy { budget: name(budget) };
    }
    Decision::Spend { budget }
}

/// The status of a budget after one of its disruptions is spent on `pod`.
pub fn spend(budget: &PodDisruptionBudget, pod: &str, now: Moment) -> Result<PodDisruptionBudgetStatus, Refusal> {
    let mut status = budget.status.clone().unwrap_or_default();
    let of = || name(budget).to_owned();
    if status.observed_generation.unwrap_or_default() < budget.metadata.generation.unwrap_or_default() {
        return Err(Refusal::Unobserved { budget: of() });
    }
    let allowed = status.disruptions_allowed.unwrap_or_default();
    if allowed < 0 {
        return Err(Refusal::Negative { budget: of() });
    }
    if status.disrupted_pods.as_ref().is_some_and(|pods| pods.len() > DISRUPTED_PODS_MAX) {
        return Err(Refusal::Unconfirmed { budget: of() });
    }
    if allowed == 0 {
        return Err(Refusal::Exhausted { why: why_exhausted(name(budget), &status) });
    }
    status.disruptions_allowed = Some(allowed - 1);
    if allowed == 1 {
        note_exhausted(&mut status, now);
    }
    status.disrupted_pods.get_or_insert_default().insert(pod.to_owned(), now.whole_second());
    Ok(status)
}

/// Writes into a pod's status that the API evicts it.
pub fn mark_evicted(status: &mut PodStatus, now: Moment) {
    let target = PodCondition {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
        reason: Some("EvictionByEvictionAPI".to_owned()),
        message: Some("Eviction API: evicting".to_owned()),
        last_transition_time: Some(now.whole_second()),
        ..PodCondition::default()
    };
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|known| known.type_ == target.type_) {
        Some(known) => {
            let since = if known.status == target.status { known.last_transition_time.take() } else { None };
            *known =
                PodCondition { last_transition_time: since.or_else(|| target.last_transition_time.clone()), ..target };
        }
        None => conditions.push(target),
    }
}

/// A selector that cannot be read selects nothing.
fn selects(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let none = std::collections::BTreeMap::new();
    let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
    budget.metadata.namespace == pod.metadata.namespace
        && Labels::from_object(selector).is_ok_and(|selector| selector.matches(labels))
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn lets_unhealthy_go(budget: &PodDisruptionBudget) -> bool {
    let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    let healthy = budget.status.as_ref().is_some_and(|status| {
        let desired = status.desired_healthy.unwrap_or_default();
        status.current_healthy.unwrap_or_default() >= desired && desired > 0
    });
    policy == Some("AlwaysAllow") || healthy
}

/// A failed sync is told first: after it, the numbers of healthy pods cannot be trusted.
fn why_exhausted(budget: &str, status: &PodDisruptionBudgetStatus) -> String {
    let condition = status.conditions.iter().flatten().find(|condition| condition.type_ == DISRUPTION_ALLOWED);
    let said = condition.filter(|condition| condition.status == "False" && !condition.message.is_empty());
    let desired = status.desired_healthy.unwrap_or_default();
    let current = status.current_healthy.unwrap_or_default();
    let subject = format!("The disruption budget {budget}");
    match said {
        Some(Condition { reason, message, .. }) if reason == SYNC_FAILED => {
            format!("{subject} does not allow evicting pods currently because it failed sync: {message}")
        }
        _ if current <= desired => format!("{subject} needs {desired} healthy pods and has {current} currently"),
        Some(Condition { reason, message, .. }) => {
            format!("{subject} does not allow evicting pods currently ({reason}): {message}")
        }
        None => format!("{subject} does not allow evicting pods currently"),
    }
}

fn note_exhausted(status: &mut PodDisruptionBudgetStatus, now: Moment) {
    let observed_generation = status.observed_generation;
    let exhausted = |since| Condition {
        type_: DISRUPTION_ALLOWED.to_owned(),
        status: "False".to_owned(),
        reason: INSUFFICIENT_PODS.to_owned(),
        message: String::new(),
        last_transition_time: since,
        observed_generation,
    };
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|known| known.type_ == DISRUPTION_ALLOWED) {
        Some(known) if known.status == "False" => *known = exhausted(known.last_transition_time.clone()),
        Some(known) => *known = exhausted(now.whole_second()),
        None => conditions.push(exhausted(now.whole_second())),
    }
}

fn name(budget: &PodDisruptionBudget) -> &str {
    budget.metadata.name.as_deref().unwrap_or_default()
}
