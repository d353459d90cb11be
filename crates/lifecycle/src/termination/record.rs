//! What is known of an end once it is over, and the one word that sums it up.

use serde::{Deserialize, Serialize};

use super::Known;
use super::cause::Cause;
use super::container::{HookOutcome, Ledger};
use super::input::Exit;
use super::plan::PlannedContainer;
use crate::grace::Grace;
use crate::moment::Moment;

/// The record of one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub causes: Vec<Cause>,
    pub grace: Grace,
    pub started_at: Moment,
    pub deadline: Moment,
    pub containers: Vec<ContainerRecord>,
    pub verdict: Verdict,
}

/// The part of one container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRecord {
    #[serde(flatten)]
    pub planned: PlannedContainer,
    #[serde(flatten)]
    pub ledger: Ledger,
}

/// How it went, the worst of all containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Every process ended by itself within the time.
    Graceful,
    /// A hook failed or outlived the time; the processes still ended by themselves.
    HookFailed,
    /// SIGKILL was needed at the deadline.
    GraceExceeded,
    /// Somebody else sent SIGKILL before the deadline.
    KilledFromOutside,
    /// The kernel ended a process for want of memory.
    #[serde(rename = "OOMKilled")]
    OomKilled,
    /// The pod was not given any time.
    ForceDeleted,
}

impl Record {
    pub(super) fn of(known: &Known) -> Record {
        let containers: Vec<ContainerRecord> = known
            .plan
            .slots()
            .map(|slot| ContainerRecord {
                planned: known.plan.container(slot).clone(),
                ledger: known.containers[slot.index()].ledger.clone(),
            })
            .collect();
        let worst = containers.iter().map(|container| container_verdict(&container.ledger)).max();
        let verdict = if known.grace.requested_seconds() == 0 {
            Verdict::ForceDeleted
        } else {
            worst.unwrap_or(Verdict::Graceful)
        };
        Record {
            causes: known.causes.clone(),
            grace: known.grace,
            started_at: known.started_at,
            deadline: known.deadline,
            containers,
            verdict,
        }
    }
}

fn container_verdict(ledger: &Ledger) -> Verdict {
    // One that had ended before anybody stopped it says nothing about this end.
    if ledger.stop_asked_at.is_none() && ledger.gone_at.is_none() {
        return Verdict::Graceful;
    }
    let hook_failed = matches!(ledger.hook_outcome, Some(HookOutcome::Failed { .. } | HookOutcome::TimedOut));
    match &ledger.exit {
        Some(exit) if exit.out_of_memory => Verdict::OomKilled,
        Some(exit) if exit.code == Exit::KILLED_CODE => {
            if ledger.kill_at.is_some_and(|kill_at| exit.at >= kill_at) {
                Verdict::GraceExceeded
            } else {
                Verdict::KilledFromOutside
            }
        }
        Some(_) | None if hook_failed => Verdict::HookFailed,
        Some(_) | None => Verdict::Graceful,
    }
}
