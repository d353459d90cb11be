//! The reasons, messages and conditions that a pod's end leaves in its status.

use super::Phase;
use crate::termination::{Cause, CauseKind, Exit};

/// The condition that a pod was ended from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    pub reason: &'static str,
    pub message: String,
}

/// What a cause decides about the status, published when no container can run any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseStatus {
    pub phase: Phase,
    pub reason: &'static str,
    pub message: String,
    pub disruption: Option<Disruption>,
}

const BY_KUBELET: &str = "TerminationByKubelet";
const SHUTDOWN: &str = "Pod was terminated in response to imminent node shutdown.";
const PREEMPTED: &str = "Preempted in order to admit critical pod";
const PREEMPTED_CONDITION: &str = "Pod was preempted by Kubelet to accommodate a critical pod.";
const DEADLINE: &str = "Pod was active on the node longer than the specified deadline";

/// What a cause decides; most causes decide nothing and leave the exit codes to speak.
pub fn cause_status(cause: &Cause) -> Option<CauseStatus> {
    let failed = |reason, message: &str, condition: Option<&str>| {
        let disruption = condition.map(|message| Disruption { reason: BY_KUBELET, message: message.to_owned() });
        Some(CauseStatus { phase: Phase::Failed, reason, message: message.to_owned(), disruption })
    };
    match cause.kind {
        CauseKind::Evict => failed("Evicted", &cause.message, Some(&cause.message)),
        CauseKind::StorageLimitExceeded => failed("Evicted", &cause.message, None),
        CauseKind::Preempt => failed("Preempting", PREEMPTED, Some(PREEMPTED_CONDITION)),
        CauseKind::NodeShutdown => failed("Terminated", SHUTDOWN, Some(SHUTDOWN)),
        CauseKind::DeadlineExceeded => failed("DeadlineExceeded", DEADLINE, None),
        CauseKind::Delete
        | CauseKind::Completed
        | CauseKind::StaticPodRemoved
        | CauseKind::Orphaned
        | CauseKind::SandboxChanged
        | CauseKind::LivenessFailed
        | CauseKind::StartupFailed
        | CauseKind::PostStartFailed
        | CauseKind::StateUnknown
        | CauseKind::DefinitionChanged
        | CauseKind::RestartAllContainers => None,
    }
}

/// The reason a runtime gives for an exit.
pub const fn exit_reason(exit: &Exit) -> &'static str {
    if exit.out_of_memory {
        "OOMKilled"
    } else if exit.code == 0 {
        "Completed"
    } else {
        "Error"
    }
}

/// What `Ready` and `ContainersReady` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyCondition {
    pub ready: bool,
    pub reason: &'static str,
}

/// `Ready` of a pod in a terminal phase: never true.
pub const fn ready_when_over(phase: Phase) -> Option<ReadyCondition> {
    match phase {
        Phase::Succeeded => Some(ReadyCondition { ready: false, reason: "PodCompleted" }),
        Phase::Failed => Some(ReadyCondition { ready: false, reason: "PodFailed" }),
        Phase::Pending | Phase::Running => None,
    }
}
