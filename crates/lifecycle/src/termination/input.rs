//! The facts a termination is told: all past tense, none of them a wish.

use k8s_openapi::api::core::v1::{Container, Pod};
use serde::{Deserialize, Serialize};

use super::cause::{Cause, CauseKind};
use super::effect::CallId;
use super::plan::Slot;
use crate::grace::{self, Asked};
use crate::moment::Moment;

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Somebody asked (again) for the end, perhaps with less time.
    Requested(Request),
    HookFinished {
        slot: Slot,
        call: CallId,
        outcome: Result<(), String>,
    },
    /// The runtime told that an instance of a container ended.
    ContainerExited {
        slot: Slot,
        attempt: u32,
        exit: Exit,
    },
    StopSucceeded {
        slot: Slot,
        call: CallId,
    },
    StopFailed {
        slot: Slot,
        call: CallId,
        error: String,
    },
    /// A list of the pod's containers; the answer to a call names every container that exists.
    ContainersObserved {
        call: Option<CallId>,
        observations: Vec<Observation>,
    },
    ListFailed {
        call: CallId,
        error: String,
    },
    SandboxStopped {
        call: CallId,
    },
    SandboxStopFailed {
        call: CallId,
        error: String,
    },
    StatusPublished {
        call: CallId,
    },
    StatusPublishFailed {
        call: CallId,
        error: String,
    },
    VolumesTornDown {
        call: CallId,
    },
    VolumeTeardownFailed {
        call: CallId,
        error: String,
    },
    ObjectDeleted {
        call: CallId,
    },
    ObjectDeleteFailed {
        call: CallId,
        error: String,
    },
    /// The API object is gone, or another object has its name.
    ObjectVanished,
    /// The runtime was restarted; epochs count up.
    RuntimeRestarted {
        epoch: u64,
    },
    TimePassed,
}

/// A wish for the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub cause: Cause,
    pub asked: Asked,
    pub object: ObjectIntent,
}

impl Request {
    /// A request that leaves the object, if there is one, alone. A cause that has a grace period of its own imposes it.
    pub fn new(kind: CauseKind, asked: Asked) -> Request {
        let override_seconds = kind.override_seconds().or(asked.override_seconds);
        let object = if kind == CauseKind::Orphaned { ObjectIntent::Absent } else { ObjectIntent::Keep };
        Request { cause: Cause::new(kind), asked: Asked { override_seconds, ..asked }, object }
    }

    /// A request to stop one container of a pod: the delete's grace period, else that of the probe that failed, else
    /// the pod's.
    pub fn stop_container(kind: CauseKind, pod: &Pod, container: &Container) -> Request {
        let probe_seconds = kind.failed_probe(container).and_then(|probe| probe.termination_grace_period_seconds);
        let spec_seconds = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        let grace = grace::of_container(pod.metadata.deletion_grace_period_seconds, spec_seconds, probe_seconds);
        let override_seconds = Some(i64::try_from(grace.requested_seconds()).unwrap_or(i64::MAX));
        Request::new(kind, Asked { override_seconds, ..Asked::default() })
    }

    /// A request by way of the object's deletion.
    pub fn delete(asked: Asked) -> Request {
        Request { object: ObjectIntent::Delete, ..Request::new(CauseKind::Delete, asked) }
    }
}

/// What the one who asks wants of the API object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectIntent {
    Keep,
    Delete,
    /// There is none: nothing is published or deleted.
    Absent,
}

/// What the runtime shows of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    pub slot: Slot,
    /// Which start of the container this is, from 0.
    pub attempt: u32,
    pub state: Observed,
}

/// The state of one observed instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    Running,
    /// Running, but its stop is under way already (a stop of this one container came first).
    AlreadyStopping {
        since: Moment,
        kill_at: Moment,
    },
    Exited(Exit),
    Absent,
}

/// How an instance ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    pub code: i32,
    pub out_of_memory: bool,
    pub at: Moment,
}

impl Exit {
    /// The exit code of a process that SIGKILL ended.
    pub const KILLED_CODE: i32 = 137;

    pub const fn with_code(code: i32, at: Moment) -> Exit {
        Exit { code, out_of_memory: false, at }
    }
}
