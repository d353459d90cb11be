//! What a termination wants done: imperatives, each carried out once.

use std::fmt;

use super::plan::Slot;
use crate::hook::Hook;
use crate::moment::Moment;
use crate::stop::StopSignal;

/// Names one call, so that its answer is known from the answer to an earlier one. Later calls have larger ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u32);

impl CallId {
    pub(super) const fn new(id: u32) -> CallId {
        CallId(id)
    }

    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Make [`Termination::progress`](super::Termination::progress) durable before anything after it.
    SaveProgress,
    StopProbes(Probes),
    /// Run a hook; nobody waits for it after `give_up_at`.
    RunHook {
        call: CallId,
        slot: Slot,
        hook: Hook,
        give_up_at: Moment,
    },
    /// Ask the runtime to stop the container, with SIGKILL at `kill_at`. Replaces an earlier call for it.
    StopContainer {
        call: CallId,
        slot: Slot,
        signal: StopSignal,
        kill_at: Moment,
    },
    /// Ask the runtime what it has of the pod.
    ListContainers {
        call: CallId,
    },
    StopSandbox {
        call: CallId,
    },
    /// Publish the final status: phase, exit codes, conditions.
    PublishStatus {
        call: CallId,
    },
    TearDownVolumes {
        call: CallId,
    },
    /// Delete the API object: grace 0, UID as precondition. Gone or replaced already counts as vanished.
    DeleteObject {
        call: CallId,
    },
    Emit(Event),
}

/// Which probes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probes {
    /// Liveness and startup probes of regular containers: nothing is restarted any more.
    LivenessAndStartup,
    All,
}

/// What people are told as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Killing {
        slot: Slot,
    },
    PreStopHookFailed {
        slot: Slot,
        message: String,
    },
    KillPodFailed {
        message: String,
    },
    /// A ranked container waits for others: how many, and the first of them.
    ExitGateWaiting {
        slot: Slot,
        waits_for: Vec<Slot>,
        and_more: usize,
    },
    ExitGateOpened {
        slot: Slot,
        waited_millis: u64,
    },
    /// Let go although earlier ones still run.
    ExitGateTimedOut {
        slot: Slot,
        waited_millis: u64,
    },
}

/// The whole seconds a runtime is given until `kill_at`: rounded up, so that nothing is killed early.
pub fn timeout_seconds(kill_at: Moment, now: Moment) -> u64 {
    let left = kill_at.since(now);
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}
