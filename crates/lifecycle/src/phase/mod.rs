//! What phase and conditions a pod shows, while it lives, while it ends and afterwards.
//!
//! [`of_pod`] reads container statuses, [`merged`] and [`published`] keep a terminal phase from changing or from
//! showing too early, [`final_pass`] leaves no container undecided once a pod is over. What else the status says is
//! decided by [`conditions`], [`outcome`], [`missing`], `waiting` and [`termination_message`].

pub mod conditions;
mod final_pass;
pub mod missing;
mod outcome;
mod reasons;
mod termination_message;
mod waiting;

use k8s_openapi::api::core::v1::{Container, ContainerState, ContainerStatus, Pod, PodSpec, PodStatus};

use crate::restart::{AfterExit, by_policy};

pub use final_pass::{STATUS_UNKNOWN_REASON, final_pass, has_initialized};
pub use outcome::{Explanation, Outcome, outcome, preserved};
pub use reasons::{CauseStatus, Disruption, ReadyCondition, cause_status, exit_reason, ready_when_over};
pub use termination_message::{
    FILE_BYTES_MAX, LOG_BYTES_MAX, LOG_LINES_MAX, MessagePolicy, MessageSources, termination_message,
};
pub use waiting::{Awaited, WaitingReason};

/// A pod's phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Running => "Running",
            Phase::Succeeded => "Succeeded",
            Phase::Failed => "Failed",
        }
    }

    pub fn named(name: &str) -> Option<Phase> {
        [Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed].into_iter().find(|phase| phase.name() == name)
    }

    pub const fn is_terminal(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed)
    }
}

/// From where the phase is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Containers may run or be started again.
    Ongoing,
    /// All containers were stopped for good; restart policies no longer matter.
    Ended,
    /// Ended, but a static pod: its phase is not forced.
    EndedStatic,
}

/// The phase that container statuses add up to. Sidecars' exit codes never count.
pub fn of_pod(pod: &Pod, view: View) -> Phase {
    let (Some(spec), Some(status)) = (&pod.spec, &pod.status) else { return Phase::Pending };
    let init = InitCount::of(spec, status);
    let main = MainCount::of(spec, status);
    if init.failed_for_good {
        return Phase::Failed;
    }
    let initializing = init.pending || (init.pending_sidecars && !has_initialized(pod));
    if initializing || init.waiting_sidecars + main.waiting > 0 {
        return Phase::Pending;
    }
    let running = init.running_sidecars + main.running;
    let unknown = init.unknown_sidecars + main.unknown;
    if unknown > 0 || (running == 0 && main.stopped == 0) {
        return Phase::Pending;
    }
    if running > 0 {
        return Phase::Running;
    }
    let over = if main.stopped == main.succeeded { Phase::Succeeded } else { Phase::Failed };
    match view {
        View::Ended => over,
        View::Ongoing | View::EndedStatic if main.restartable > 0 => Phase::Running,
        View::Ongoing | View::EndedStatic => over,
    }
}

/// The phase to keep: what the API shows as terminal never changes, and a terminal phase decided earlier (an eviction,
/// a node shutdown) outlives a computed one that is not terminal.
pub fn merged(computed: Phase, decided: Option<Phase>, in_api: Option<Phase>) -> Phase {
    match (in_api, decided) {
        (Some(shown), _) if shown.is_terminal() => shown,
        (_, Some(decided)) if decided.is_terminal() && !computed.is_terminal() => decided,
        (_, Some(_) | None) => computed,
    }
}

/// Whether containers of the pod may still run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containers {
    MayRun,
    AllGone,
}

/// The phase to show: a terminal one is held back while containers may run.
pub fn published(shown: Phase, new: Phase, containers: Containers) -> Phase {
    match containers {
        Containers::MayRun if new.is_terminal() => shown,
        Containers::MayRun | Containers::AllGone => new,
    }
}

#[derive(Default)]
struct InitCount {
    pending: bool,
    failed_for_good: bool,
    pending_sidecars: bool,
    running_sidecars: usize,
    waiting_sidecars: usize,
    unknown_sidecars: usize,
}

impl InitCount {
    fn of(spec: &PodSpec, status: &PodStatus) -> InitCount {
        let mut count = InitCount::default();
        let statuses = status.init_container_statuses.as_deref().unwrap_or_default();
        for container in spec.init_containers.as_deref().unwrap_or_default() {
            let status = statuses.iter().find(|status| status.name == container.name);
            if is_sidecar(container) {
                count.add_sidecar(status);
            } else {
                count.add_plain(container, spec, status);
            }
        }
        count
    }

    fn add_plain(&mut self, container: &Container, spec: &PodSpec, status: Option<&ContainerStatus>) {
        match Seen::of(status) {
            Seen::Stopped { exit_code, reason } => {
                if exit_code != 0 && !will_restart(container, spec, exit_code, reason) {
                    self.failed_for_good = true;
                }
            }
            Seen::Unknown | Seen::Running | Seen::Waiting => self.pending = true,
        }
    }

    fn add_sidecar(&mut self, status: Option<&ContainerStatus>) {
        match Seen::of(status) {
            Seen::Running => {
                self.running_sidecars += 1;
                self.pending_sidecars |= status.and_then(|status| status.started) != Some(true);
            }
            Seen::Stopped { .. } => {}
            Seen::Waiting => {
                self.waiting_sidecars += 1;
                self.pending_sidecars = true;
            }
            Seen::Unknown => {
                self.unknown_sidecars += 1;
                self.pending_sidecars |= status.is_some();
            }
        }
    }
}

#[derive(Default)]
struct MainCount {
    unknown: usize,
    running: usize,
    waiting: usize,
    stopped: usize,
    succeeded: usize,
    restartable: usize,
}

impl MainCount {
    fn of(spec: &PodSpec, status: &PodStatus) -> MainCount {
        let mut count = MainCount::default();
        let statuses: std::collections::HashMap<&str, &ContainerStatus> =
            status.container_statuses.iter().flatten().map(|status| (status.name.as_str(), status)).collect();
        for container in &spec.containers {
            let status = statuses.get(container.name.as_str()).copied();
            match Seen::of(status) {
                Seen::Unknown => count.unknown += 1,
                Seen::Running => count.running += 1,
                Seen::Waiting => count.waiting += 1,
                Seen::Stopped { exit_code, reason } => {
                    count.stopped += 1;
                    let now = status.and_then(|status| status.state.as_ref()).and_then(|s| s.terminated.as_ref());
                    count.succeeded += usize::from(now.is_some_and(|terminated| terminated.exit_code == 0));
                    count.restartable += usize::from(will_restart(container, spec, exit_code, reason));
                }
            }
        }
        count
    }
}

/// What a status says in the only terms that matter here.
pub(crate) enum Seen<'a> {
    Unknown,
    Running,
    /// Never started so far.
    Waiting,
    /// Stopped, or waiting to be started again.
    Stopped {
        exit_code: i32,
        reason: Option<&'a str>,
    },
}

impl Seen<'_> {
    pub(crate) fn of(status: Option<&ContainerStatus>) -> Seen<'_> {
        let Some(status) = status else { return Seen::Unknown };
        let Some(state) = &status.state else { return Seen::Unknown };
        if state.running.is_some() {
            return Seen::Running;
        }
        let last = status.last_state.as_ref();
        let ended = |state: &Option<&'_ ContainerState>| state.is_some_and(|state| state.terminated.is_some());
        let from = if state.terminated.is_some() { Some(state) } else { last.filter(|last| ended(&Some(last))) };
        match from.and_then(|state| state.terminated.as_ref()) {
            Some(over) => Seen::Stopped { exit_code: over.exit_code, reason: over.reason.as_deref() },
            None if state.waiting.is_some() => Seen::Waiting,
            None => Seen::Unknown,
        }
    }
}

/// Whether an init container is a native sidecar.
pub(crate) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

pub(crate) fn will_restart(container: &Container, spec: &PodSpec, exit_code: i32, reason: Option<&str>) -> bool {
    reason == Some(WaitingReason::RestartingAllContainers.name())
        || by_policy(container, spec, exit_code) != AfterExit::StayDown
}

#[cfg(test)]
mod tests;
