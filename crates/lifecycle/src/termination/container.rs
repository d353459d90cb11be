//! One container inside a termination: how far its stop is, and what happened to it.

use serde::{Deserialize, Serialize};

use super::effect::CallId;
use super::input::Exit;
use crate::moment::Moment;

/// One container.
#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    pub state: ContainerState,
    /// The newest instance seen, if any was.
    pub attempt: Option<u32>,
    pub ledger: Ledger,
}

/// How far its stop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Running; its stage has not been let go, or its hook is over and the stage has not.
    AwaitingTurn { hook: HookProgress },
    /// Its hook runs; a sleep ends by itself at `ends_at`.
    HookRunning { hook: HookRun },
    /// The runtime was asked to stop it.
    Stopping { call: CallId, since: Moment, kill_at: Moment, failures: u32 },
    /// The runtime could not; the next try is at `retry_at`.
    StopFailed { retry_at: Moment, failures: u32 },
    /// The runtime says it is stopped; only lists asked for from `listed_from` on can show it.
    Unconfirmed { listed_from: CallId, failures: u32 },
    /// Observed not to run.
    Gone,
}

/// Whether the hook still has to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookProgress {
    Pending,
    /// Finished, failed, skipped, or there is none.
    Over,
}

/// A running hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRun {
    /// The driver runs it.
    Called(CallId),
    /// A sleep, which the machine waits for itself.
    SleepsUntil(Moment),
}

/// What happened to a container, for the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ledger {
    pub hook_started_at: Option<Moment>,
    pub hook_ended_at: Option<Moment>,
    pub hook_outcome: Option<HookOutcome>,
    pub turn: Option<Turn>,
    /// When the runtime was first asked to stop it.
    pub stop_asked_at: Option<Moment>,
    pub kill_at: Option<Moment>,
    /// Stop calls made, the repeated ones included.
    pub stop_calls: u32,
    pub exit: Option<Exit>,
    /// When it was known to be gone.
    pub gone_at: Option<Moment>,
}

/// How a hook ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HookOutcome {
    Succeeded,
    Failed {
        message: String,
    },
    /// The time was up first; it was left running.
    TimedOut,
    /// The container ended, or a zero grace period came, before the hook did.
    CutShort,
    Skipped(SkipReason),
}

/// Why a hook was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkipReason {
    ZeroGrace,
    NoTimeLeft,
    /// It had finished before the agent was restarted.
    FinishedBefore,
}

/// When and why a container was let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    pub at: Moment,
    pub reason: TurnReason,
}

/// Why a stage was let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnReason {
    /// Nobody comes before it.
    First,
    /// Everyone it waits for is gone.
    EarlierGone,
    /// Earlier ranks still run, but this is the time kept back for it.
    Reserve,
    /// The grace period is over.
    Deadline,
}

impl Container {
    pub(super) fn absent() -> Container {
        Container { state: ContainerState::Gone, attempt: None, ledger: Ledger::default() }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.state == ContainerState::Gone
    }

    /// When the container needs attention although nothing happens.
    pub(super) const fn timer(&self) -> Option<Moment> {
        match self.state {
            ContainerState::HookRunning { hook: HookRun::SleepsUntil(at) } => Some(at),
            ContainerState::StopFailed { retry_at, .. } => Some(retry_at),
            ContainerState::HookRunning { hook: HookRun::Called(_) }
            | ContainerState::AwaitingTurn { .. }
            | ContainerState::Stopping { .. }
            | ContainerState::Unconfirmed { .. }
            | ContainerState::Gone => None,
        }
    }

    /// Stop calls in a row that did not work.
    pub(super) const fn failures(&self) -> u32 {
        match self.state {
            ContainerState::Stopping { failures, .. }
            | ContainerState::StopFailed { failures, .. }
            | ContainerState::Unconfirmed { failures, .. } => failures,
            ContainerState::AwaitingTurn { .. } | ContainerState::HookRunning { .. } | ContainerState::Gone => 0,
        }
    }

    pub(super) fn end_hook(&mut self, outcome: HookOutcome, now: Moment) {
        self.ledger.hook_ended_at = Some(now);
        self.ledger.hook_outcome = Some(outcome);
    }
}
