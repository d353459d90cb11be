//! The last look at a pod that is over: no container stays undecided, and the phase is terminal.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

use super::missing::{NOT_LOCATED, unseen_end};
use super::{Phase, View, is_sidecar};

/// The reason of a container whose end nobody saw.
pub const STATUS_UNKNOWN_REASON: &str = "ContainerStatusUnknown";

/// Decides what is still open in the status of a pod that is over. Static pods keep their phase.
pub fn final_pass(pod: &mut Pod, view: View) {
    let initialized = has_initialized(pod);
    let Some(status) = &mut pod.status else { return };
    if initialized {
        status.container_statuses.iter_mut().flatten().for_each(end_unseen);
    }
    let init = status.init_container_statuses.as_deref_mut().unwrap_or_default();
    let started = init.iter().rposition(has_started).unwrap_or(0);
    init.iter_mut().take(started + 1).for_each(end_unseen);
    let terminal = status.phase.as_deref().and_then(Phase::named).is_some_and(Phase::is_terminal);
    if view != View::EndedStatic && !terminal {
        status.phase = Some(Phase::Failed.name().to_owned());
    }
}

/// Whether the pod got past its init containers at some time.
pub fn has_initialized(pod: &Pod) -> bool {
    let init = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    let status = pod.status.as_ref();
    let mains = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    if init.is_empty() || mains.iter().any(has_started) {
        return true;
    }
    let statuses = status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default();
    let Some(last) = statuses.last() else { return false };
    let Some(container) = init.iter().find(|container| container.name == last.name) else { return false };
    if is_sidecar(container) {
        return last.started == Some(true) && last.state.as_ref().is_some_and(|state| state.running.is_some());
    }
    let succeeded = |state: &Option<ContainerState>| {
        state.as_ref().and_then(|state| state.terminated.as_ref()).is_some_and(|over| over.exit_code == 0)
    };
    succeeded(&last.state) || succeeded(&last.last_state)
}

fn has_started(status: &ContainerStatus) -> bool {
    let waiting = status.state.as_ref().is_some_and(|state| state.waiting.is_some());
    !waiting || status.last_state.as_ref().is_some_and(|state| state.terminated.is_some())
}

fn end_unseen(status: &mut ContainerStatus) {
    if status.state.as_ref().is_some_and(|state| state.terminated.is_some()) {
        return;
    }
    status.state = Some(unseen_end(STATUS_UNKNOWN_REASON, NOT_LOCATED));
}
