//! Going on after the agent was restarted in the middle of an end.
//!
//! The same machine runs on what is observed. By default everything starts anew, with the full grace period, as
//! upstream documents it; with [`Recovery::Resume`] the deadline stays and finished hooks are not repeated.

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::container::{HookOutcome, SkipReason};
use super::input::{Observation, Request};
use super::plan::Plan;
use super::stopping::Stopping;
use super::{Known, Step};
use crate::grace::{self, Grace};
use crate::moment::Moment;
use crate::mutation::{Mutation, broken};

/// What a restart of agent or runtime does to the time that is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Recovery {
    /// The whole grace period begins again.
    #[default]
    Anew,
    /// Only the rest of it is left.
    Resume,
}

/// What an agent keeps on disk while a pod ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub plan: Plan,
    pub causes: Vec<Cause>,
    pub grace: Grace,
    pub started_at: Moment,
    pub deadline: Moment,
    /// Names of the containers whose hooks are over.
    pub hooks_over: Vec<String>,
}

impl Progress {
    pub(super) fn of(known: &Known) -> Progress {
        let over = |slot: &super::Slot| {
            let outcome = known.containers[slot.index()].ledger.hook_outcome.as_ref();
            outcome.is_some_and(|outcome| *outcome != HookOutcome::Skipped(SkipReason::NoTimeLeft))
        };
        Progress {
            hooks_over: known.plan.slots().filter(over).map(|slot| known.plan.container(slot).name.clone()).collect(),
            plan: known.plan.clone(),
            causes: known.causes.clone(),
            grace: known.grace,
            started_at: known.started_at,
            deadline: known.deadline,
        }
    }
}

/// Goes on from what an earlier agent kept: the frozen plan, its deadline, its finished hooks.
///
/// A request that came meanwhile can shorten the time, as always.
pub fn resume(progress: &Progress, request: Request, observed: &[Observation], now: Moment) -> Step {
    let change = grace::of_pod(Some(progress.grace), request.asked);
    let mut known = Known::new(progress.plan.clone(), request, Recovery::Resume, change.grace(), now);
    let fresh = std::mem::replace(&mut known.causes, progress.causes.clone());
    for cause in fresh {
        if !known.causes.contains(&cause) {
            known.causes.push(cause);
        }
    }
    known.started_at = progress.started_at;
    known.deadline = progress.deadline.min(progress.started_at + change.grace().effective());
    if broken(Mutation::ResumeStartsAnew) {
        known.deadline = now + change.grace().effective();
    }
    for name in &progress.hooks_over {
        if let Some(slot) = known.plan.find(name)
            && !broken(Mutation::HookRepeated)
        {
            known.containers[slot.index()].ledger.hook_outcome = Some(HookOutcome::Skipped(SkipReason::FinishedBefore));
        }
    }
    Stopping::begin(known, observed, now)
}

/// Goes on although nothing was kept: the object's own deadline is what is left.
pub fn resume_until(plan: Plan, request: Request, deadline: Moment, observed: &[Observation], now: Moment) -> Step {
    let grace = grace::of_pod(None, request.asked).grace();
    let mut known = Known::new(plan, request, Recovery::Resume, grace, now);
    known.deadline = known.deadline.min(deadline.max(now));
    Stopping::begin(known, observed, now)
}
