//! How a pod will end under given assumptions: the termination machine itself, driven by invented behaviour.
//!
//! Times are counted from the moment the end begins. Calls to the runtime and the API are taken to cost nothing, so a
//! forecast shows what the rules allow, not what a machine needs.

mod assumptions;
mod run;

use serde::Serialize;

use crate::exit_order::stages::{Role, StageKind};
use crate::grace::Grace;
use crate::moment::Moment;
use crate::termination::{HookOutcome, Plan, PlannedContainer, Slot, Termination, TurnReason};

pub use assumptions::{Assumptions, AssumptionsError, Behaviour, MAX_ASSUMPTIONS_BYTES};

/// A pod's end, foretold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    pub grace_seconds: u64,
    /// When the grace period is over.
    pub deadline_millis: i64,
    /// When the last container is gone.
    pub end_millis: i64,
    /// In the order in which they are let go.
    pub stages: Vec<StageLine>,
    /// In the order in which things happen.
    pub containers: Vec<Line>,
}

/// Containers that are let go together, and whom they wait for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StageLine {
    pub kind: StageKind,
    pub containers: Vec<String>,
    /// The containers of the nearest earlier stage that holds anybody up; those before it hold that one up.
    pub waits_for: Vec<String>,
}

/// One container's part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    #[serde(flatten)]
    pub container: PlannedContainer,
    /// The stage in which it is let go, counted from 0.
    pub stage: usize,
    /// When its turn came, and why.
    pub turn_millis: i64,
    pub turn_reason: TurnReason,
    pub hook: Option<HookLine>,
    pub stop_millis: i64,
    pub kill_millis: i64,
    pub gone_millis: i64,
    pub killed: bool,
    /// What is left between its stop signal and SIGKILL if everything before that takes as long as it may.
    pub least_time_millis: i64,
}

/// One hook's part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookLine {
    pub start_millis: i64,
    pub end_millis: i64,
    pub outcome: HookOutcome,
}

/// Foretells the end of a pod all of whose long-running containers run: regular ones, sidecars and ephemeral ones.
pub fn forecast(plan: &Plan, grace: Grace, assumptions: &Assumptions) -> Forecast {
    let end = run::to_the_end(plan, grace, assumptions);
    let worst = run::to_the_end(plan, grace, &Assumptions::everything_hangs());
    let mut containers: Vec<Line> = run::running_slots(plan).map(|slot| line(slot, plan, &end, &worst)).collect();
    containers.sort_by_key(|line| (line.stage, line.stop_millis, line.gone_millis));
    Forecast {
        grace_seconds: grace.requested_seconds(),
        deadline_millis: end.known().deadline.millis(),
        end_millis: containers.iter().map(|line| line.gone_millis).max().unwrap_or(0),
        stages: stage_lines(plan),
        containers,
    }
}

fn line(slot: Slot, plan: &Plan, end: &Termination, worst: &Termination) -> Line {
    let ledger = &end.known().containers[slot.index()].ledger;
    let stage = plan.stage_of(slot);
    let millis = |moment: Option<Moment>| moment.map_or(0, Moment::millis);
    let hook = ledger.hook_outcome.clone().map(|outcome| HookLine {
        start_millis: millis(ledger.hook_started_at.or(ledger.stop_asked_at)),
        end_millis: millis(ledger.hook_ended_at.or(ledger.stop_asked_at)),
        outcome,
    });
    let gone_millis = millis(ledger.gone_at);
    let stop_millis = ledger.stop_asked_at.map_or(gone_millis, Moment::millis);
    let kill_millis = ledger.kill_at.map_or(gone_millis, Moment::millis);
    let worst = &worst.known().containers[slot.index()].ledger;
    Line {
        container: plan.container(slot).clone(),
        stage,
        turn_millis: ledger.turn.map_or(0, |turn| turn.at.millis()),
        turn_reason: ledger.turn.map_or(TurnReason::First, |turn| turn.reason),
        hook,
        stop_millis,
        kill_millis,
        gone_millis,
        killed: run::was_killed(end, slot),
        least_time_millis: millis(worst.kill_at).saturating_sub(millis(worst.stop_asked_at)),
    }
}

fn stage_lines(plan: &Plan) -> Vec<StageLine> {
    let mut nearest: Vec<String> = vec![];
    let mut lines = Vec::with_capacity(plan.stages().len());
    for stage in plan.stages() {
        let members = || stage.members.iter().map(|member| plan.container(Slot::new(*member)));
        let holders: Vec<String> =
            members().filter(|container| container.role.holds_later_stages()).map(|c| c.name.clone()).collect();
        let waits_for = if holders.is_empty() { nearest.clone() } else { std::mem::replace(&mut nearest, holders) };
        let containers = members().filter(|c| c.role != Role::Init).map(|c| c.name.clone()).collect();
        lines.push(StageLine { kind: stage.kind, containers, waits_for });
    }
    lines
}

#[cfg(test)]
mod tests;
