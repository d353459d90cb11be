//! Why a container waits.

use k8s_openapi::api::core::v1::Pod;

/// The reason that a waiting container shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingReason {
    /// It is about to be started for the first time.
    ContainerCreating,
    /// The same, in a pod that has init containers.
    PodInitializing,
    /// It exited, and starts again after a pause.
    CrashLoopBackOff,
    /// It was removed because all containers of the pod start anew.
    RestartingAllContainers,
}

/// What a waiting container waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    FirstStart,
    EndOfPause,
    RestartOfAll,
}

impl WaitingReason {
    pub const ALL: [WaitingReason; 4] = [
        WaitingReason::ContainerCreating,
        WaitingReason::PodInitializing,
        WaitingReason::CrashLoopBackOff,
        WaitingReason::RestartingAllContainers,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            WaitingReason::ContainerCreating => "ContainerCreating",
            WaitingReason::PodInitializing => "PodInitializing",
            WaitingReason::CrashLoopBackOff => "CrashLoopBackOff",
            WaitingReason::RestartingAllContainers => "RestartingAllContainers",
        }
    }

    pub fn named(name: &str) -> Option<WaitingReason> {
        WaitingReason::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// The reason of any container of `pod`, init containers included, that waits for `awaited`.
    pub fn of(pod: &Pod, awaited: Awaited) -> WaitingReason {
        let init = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_ref());
        match awaited {
            Awaited::FirstStart if init.is_some_and(|init| !init.is_empty()) => WaitingReason::PodInitializing,
            Awaited::FirstStart => WaitingReason::ContainerCreating,
            Awaited::EndOfPause => WaitingReason::CrashLoopBackOff,
            Awaited::RestartOfAll => WaitingReason::RestartingAllContainers,
        }
    }
}
