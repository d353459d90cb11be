//! How a pod ended in the end: exit codes and causes put together.

use k8s_openapi::api::core::v1::{Pod, PodStatus};

use super::{CauseStatus, Disruption, Phase, View, cause_status, merged, of_pod};
use crate::termination::{Cause, CauseKind};

/// A status's reason and message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    pub reason: String,
    pub message: String,
}

impl Explanation {
    /// What a status says.
    pub fn shown(status: &PodStatus) -> Explanation {
        Explanation {
            reason: status.reason.clone().unwrap_or_default(),
            message: status.message.clone().unwrap_or_default(),
        }
    }
}

/// The end of a pod as its status tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub phase: Phase,
    pub explanation: Explanation,
    pub disruption: Option<Disruption>,
}

/// The outcome of a pod with these container statuses that ended for `causes`; its own phase, reason and message are
/// those that the API shows.
///
/// A cause only proposes: if all regular containers exited with zero the pod succeeded, and nothing explains why it
/// failed. Only a passed deadline fails a pod whatever its exit codes. Of several causes that propose something the
/// last one counts; that the pod was disrupted stays true. What the API shows as terminal stays.
pub fn outcome(pod: &Pod, view: View, causes: &[Cause]) -> Outcome {
    let no_status = PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&no_status);
    let shown = status.phase.as_deref().and_then(Phase::named);
    let proposed = causes.iter().rev().find_map(cause_status);
    let phase = merged(of_pod(pod, view), proposed.as_ref().map(|proposed| proposed.phase), shown);
    if shown.is_some_and(Phase::is_terminal) {
        return Outcome { phase, explanation: Explanation::shown(status), disruption: None };
    }
    let disruption = causes.iter().rev().find_map(|cause| cause_status(cause)?.disruption);
    let deadline = causes.iter().find(|cause| cause.kind == CauseKind::DeadlineExceeded).and_then(cause_status);
    if let Some(deadline) = deadline {
        return Outcome { phase: deadline.phase, explanation: deadline.into(), disruption };
    }
    let explanation = match proposed {
        Some(proposed) => preserved(Some(proposed.phase), phase, &proposed.into()),
        None => preserved(shown, phase, &Explanation::shown(status)),
    };
    Outcome { phase, explanation, disruption }
}

/// Reason and message belong to a phase: they are kept as long as it does not change.
pub fn preserved(before: Option<Phase>, after: Phase, explanation: &Explanation) -> Explanation {
    if before == Some(after) { explanation.clone() } else { Explanation::default() }
}

impl From<CauseStatus> for Explanation {
    fn from(proposed: CauseStatus) -> Explanation {
        Explanation { reason: proposed.reason.to_owned(), message: proposed.message }
    }
}
