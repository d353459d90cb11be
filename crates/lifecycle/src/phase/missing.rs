//! What is told of a container that ran when it was last seen, and of which the runtime has lost track.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
};

use super::waiting::{Awaited, WaitingReason};
use super::{STATUS_UNKNOWN_REASON, conditions};
use crate::termination::Exit;

/// The message of a container whose end nobody saw.
pub const NOT_LOCATED: &str = "The container could not be located when the pod was terminated";

/// The message of one that is gone without a trace.
pub const USED_TO_RUN: &str =
    "The container could not be located when the pod was deleted.  The container used to be Running";

/// The message of one that was removed so that all can start anew.
pub const REMOVED_TO_RESTART: &str = "The container is removed because RestartAllContainers in place";

/// The condition of a pod whose containers are all being started anew.
const ALL_CONTAINERS_RESTARTING: &str = "AllContainersRestarting";

/// The status of a container of which the runtime has nothing: an end that was seen stays, one that nobody saw becomes
/// the last state, and the container waits to be started.
pub fn without_instance(pod: &Pod, container: &Container, old: Option<&ContainerStatus>) -> ContainerStatus {
    let fresh = |awaited| ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: Some(waits(WaitingReason::of(pod, awaited), None)),
        ..ContainerStatus::default()
    };
    let Some(old) = old else { return fresh(Awaited::FirstStart) };
    let state = old.state.as_ref();
    let has_ended = state.is_some_and(|state| state.terminated.is_some());
    if is_restarting_all(pod) && state.is_none_or(|state| state.waiting.is_none()) {
        let reason = WaitingReason::RestartingAllContainers;
        return ContainerStatus {
            state: Some(waits(reason, Some(REMOVED_TO_RESTART))),
            last_state: Some(unseen_end(reason.name(), REMOVED_TO_RESTART)),
            restart_count: old.restart_count.saturating_add(1),
            ..if has_ended { old.clone() } else { fresh(Awaited::RestartOfAll) }
        };
    }
    if has_ended {
        return old.clone();
    }
    let mut status = ContainerStatus {
        restart_count: old.restart_count,
        last_state: old.last_state.clone(),
        ..fresh(Awaited::FirstStart)
    };
    let ended_before = status.last_state.as_ref().is_some_and(|last| last.terminated.is_some());
    if state.is_some_and(|state| state.running.is_some()) && !ended_before {
        status.last_state = Some(unseen_end(STATUS_UNKNOWN_REASON, USED_TO_RUN));
        if pod.metadata.deletion_timestamp.is_none() {
            status.restart_count = status.restart_count.saturating_add(1);
        }
    }
    status
}

/// The status of a container that the runtime has in the state Unknown; `current` is what else the runtime says. One
/// that ran has ended, because "ran and failed" is not the same as "never ran".
pub fn in_unknown_state(pod: &Pod, current: ContainerStatus, old: Option<&ContainerStatus>) -> ContainerStatus {
    let running = |old: &&ContainerStatus| old.state.as_ref().is_some_and(|state| state.running.is_some());
    let Some(old) = old.filter(running) else {
        let waiting = Some(ContainerStateWaiting::default());
        return ContainerStatus { state: Some(ContainerState { waiting, ..ContainerState::default() }), ..current };
    };
    let reason =
        if is_restarting_all(pod) { WaitingReason::RestartingAllContainers.name() } else { STATUS_UNKNOWN_REASON };
    ContainerStatus {
        state: Some(unseen_end(reason, NOT_LOCATED)),
        restart_count: old.restart_count.saturating_add(1),
        ..current
    }
}

/// The end of a container that nobody saw.
pub(super) fn unseen_end(reason: &str, message: &str) -> ContainerState {
    let terminated = ContainerStateTerminated {
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        exit_code: Exit::KILLED_CODE,
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn waits(reason: WaitingReason, message: Option<&str>) -> ContainerState {
    let (reason, message) = (Some(reason.name().to_owned()), message.map(str::to_owned));
    ContainerState { waiting: Some(ContainerStateWaiting { reason, message }), ..ContainerState::default() }
}

/// Whether all containers of the pod are being started anew.
fn is_restarting_all(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions::is_true(conditions, ALL_CONTAINERS_RESTARTING)
}
