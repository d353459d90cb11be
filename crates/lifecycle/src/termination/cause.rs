//! Why a pod or a container ends, and what each cause brings with it.

use k8s_openapi::api::core::v1::{Container, Probe};
use serde::{Deserialize, Serialize};

use crate::exit_order::stages::Role;
use crate::restart::AfterExit;

/// Why a pod or a container ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// In words, for status, events and records; may be empty.
    pub message: String,
}

impl Cause {
    pub fn new(kind: CauseKind) -> Cause {
        Cause { kind, message: String::new() }
    }
}

/// The kinds of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CauseKind {
    /// The API object was marked for deletion.
    Delete,
    /// The node is short of something.
    Evict,
    /// The pod uses more of the node's disk than it may.
    StorageLimitExceeded,
    /// A critical pod needs the place.
    Preempt,
    NodeShutdown,
    /// `activeDeadlineSeconds` is over.
    DeadlineExceeded,
    /// The regular containers are done; sidecars are left.
    Completed,
    /// A static pod's manifest is gone.
    StaticPodRemoved,
    /// The runtime has the pod, nobody else does.
    Orphaned,
    /// The sandbox is lost; the pod is made anew.
    SandboxChanged,
    LivenessFailed,
    StartupFailed,
    PostStartFailed,
    /// The runtime cannot say whether the container runs; it is stopped before another is started.
    StateUnknown,
    /// The container's definition changed in place.
    DefinitionChanged,
    /// A restart rule asks for all containers to start anew.
    RestartAllContainers,
}

impl CauseKind {
    pub const ALL: [CauseKind; 16] = [
        CauseKind::Delete,
        CauseKind::Evict,
        CauseKind::StorageLimitExceeded,
        CauseKind::Preempt,
        CauseKind::NodeShutdown,
        CauseKind::DeadlineExceeded,
        CauseKind::Completed,
        CauseKind::StaticPodRemoved,
        CauseKind::Orphaned,
        CauseKind::SandboxChanged,
        CauseKind::LivenessFailed,
        CauseKind::StartupFailed,
        CauseKind::PostStartFailed,
        CauseKind::StateUnknown,
        CauseKind::DefinitionChanged,
        CauseKind::RestartAllContainers,
    ];

    /// The grace period that comes with the cause, whoever asks: no time at all, and so no hooks, where everything
    /// starts anew; one second for what nobody knows and for what uses too much disk.
    pub const fn override_seconds(self) -> Option<i64> {
        match self {
            CauseKind::RestartAllContainers => Some(0),
            CauseKind::Orphaned | CauseKind::StorageLimitExceeded => Some(1),
            CauseKind::Delete
            | CauseKind::Evict
            | CauseKind::Preempt
            | CauseKind::NodeShutdown
            | CauseKind::DeadlineExceeded
            | CauseKind::Completed
            | CauseKind::StaticPodRemoved
            | CauseKind::SandboxChanged
            | CauseKind::LivenessFailed
            | CauseKind::StartupFailed
            | CauseKind::PostStartFailed
            | CauseKind::StateUnknown
            | CauseKind::DefinitionChanged => None,
        }
    }

    /// The probe of the container that is the cause.
    pub const fn failed_probe(self, container: &Container) -> Option<&Probe> {
        match self {
            CauseKind::LivenessFailed => container.liveness_probe.as_ref(),
            CauseKind::StartupFailed => container.startup_probe.as_ref(),
            CauseKind::Delete
            | CauseKind::Evict
            | CauseKind::StorageLimitExceeded
            | CauseKind::Preempt
            | CauseKind::NodeShutdown
            | CauseKind::DeadlineExceeded
            | CauseKind::Completed
            | CauseKind::StaticPodRemoved
            | CauseKind::Orphaned
            | CauseKind::SandboxChanged
            | CauseKind::PostStartFailed
            | CauseKind::StateUnknown
            | CauseKind::DefinitionChanged
            | CauseKind::RestartAllContainers => None,
        }
    }

    /// The message of the `Killing` event of a container; `after` is what follows its stop.
    pub fn killing_message(self, container: &str, role: Role, after: AfterExit) -> String {
        let subject = match role {
            Role::Regular | Role::Ephemeral => "Container",
            Role::Sidecar | Role::Init => "Init container",
        };
        let what = match self {
            CauseKind::LivenessFailed => "failed liveness probe",
            CauseKind::StartupFailed => "failed startup probe",
            CauseKind::DefinitionChanged => "definition changed",
            CauseKind::StateUnknown => {
                return format!("{subject} is in \"unknown\" state, try killing it before restart");
            }
            CauseKind::PostStartFailed => return "FailedPostStartHook".to_owned(),
            CauseKind::RestartAllContainers => return "killing".to_owned(),
            CauseKind::Delete
            | CauseKind::Evict
            | CauseKind::StorageLimitExceeded
            | CauseKind::Preempt
            | CauseKind::NodeShutdown
            | CauseKind::DeadlineExceeded
            | CauseKind::Completed
            | CauseKind::StaticPodRemoved
            | CauseKind::Orphaned
            | CauseKind::SandboxChanged => return format!("Stopping container {container}"),
        };
        let restart = match (role, after) {
            (Role::Regular, AfterExit::Restart | AfterExit::RestartAll) => ", will be restarted",
            (Role::Regular, AfterExit::StayDown) | (Role::Sidecar | Role::Init | Role::Ephemeral, _) => "",
        };
        format!("{subject} {container} {what}{restart}")
    }
}

/// An event's message with the container's id replaced by its name, so that repeated events look alike.
pub fn without_container_id(message: &str, container_id: &str, container: &str) -> String {
    if container_id.is_empty() { message.to_owned() } else { message.replace(container_id, container) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grace::Asked;
    use crate::termination::Request;

    /// 3.7.1
    #[test]
    fn the_killing_event_of_a_single_container_says_why_and_whether_it_restarts() {
        let rows = [
            (CauseKind::LivenessFailed, "c failed liveness probe"),
            (CauseKind::StartupFailed, "c failed startup probe"),
            (CauseKind::DefinitionChanged, "c definition changed"),
        ];
        for (kind, text) in rows {
            let told = |role, after| kind.killing_message("c", role, after);
            assert_eq!(told(Role::Regular, AfterExit::StayDown), format!("Container {text}"));
            assert_eq!(told(Role::Regular, AfterExit::Restart), format!("Container {text}, will be restarted"));
            assert_eq!(told(Role::Sidecar, AfterExit::Restart), format!("Init container {text}"));
            assert_eq!(told(Role::Init, AfterExit::Restart), format!("Init container {text}"));
        }
    }

    /// 3.7.1
    #[test]
    fn some_causes_have_words_of_their_own_and_all_others_stop_the_container_by_name() {
        for kind in CauseKind::ALL {
            let told = kind.killing_message("c", Role::Regular, AfterExit::Restart);
            let expected = match kind {
                CauseKind::LivenessFailed | CauseKind::StartupFailed | CauseKind::DefinitionChanged => continue,
                CauseKind::StateUnknown => "Container is in \"unknown\" state, try killing it before restart",
                CauseKind::PostStartFailed => "FailedPostStartHook",
                CauseKind::RestartAllContainers => "killing",
                CauseKind::Delete
                | CauseKind::Evict
                | CauseKind::StorageLimitExceeded
                | CauseKind::Preempt
                | CauseKind::NodeShutdown
                | CauseKind::DeadlineExceeded
                | CauseKind::Completed
                | CauseKind::StaticPodRemoved
                | CauseKind::Orphaned
                | CauseKind::SandboxChanged => "Stopping container c",
            };
            assert_eq!(told, expected, "{kind:?}");
        }
        let sidecar = CauseKind::StateUnknown.killing_message("c", Role::Sidecar, AfterExit::Restart);
        assert_eq!(sidecar, "Init container is in \"unknown\" state, try killing it before restart");
    }

    /// 3.5.9
    #[test]
    fn event_messages_name_the_container_instead_of_its_id() {
        let message = without_container_id("stop abc12: abc12 is busy", "abc12", "web");
        assert_eq!(message, "stop web: web is busy");
        assert_eq!(without_container_id("stop it", "", "web"), "stop it");
    }

    /// 3.7.5, 3.1.11, 3.13.2
    #[test]
    fn a_cause_with_a_grace_period_of_its_own_imposes_it() {
        let asked = Asked { override_seconds: Some(9), spec_seconds: Some(30), ..Asked::default() };
        let seconds = |kind| Request::new(kind, asked).asked.override_seconds;
        assert_eq!(seconds(CauseKind::RestartAllContainers), Some(0));
        assert_eq!(seconds(CauseKind::Orphaned), Some(1));
        assert_eq!(seconds(CauseKind::StorageLimitExceeded), Some(1));
        assert_eq!(seconds(CauseKind::Evict), Some(9));
        assert_eq!(Request::new(CauseKind::SandboxChanged, Asked::default()).asked, Asked::default());
    }
}
