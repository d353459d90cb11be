//! How a whole pod ends, whatever the cause: a pure state machine.
//!
//! [`begin`] is called once somebody wants the pod (or one of its containers) gone; from then on [`step`] takes one
//! fact at a time and returns the next state, what to do now, and when to come back if nothing happens. The driver
//! carries effects out in the order given and reports what came of each under its [`CallId`]; it decides nothing.
//!
//! # States and inputs
//!
//! | input | [`Stopping`] | [`Closing`] | [`Finished`] |
//! | --- | --- | --- | --- |
//! | `Requested` | grace may shrink, at once; zero ends hooks | notes that the object is to be deleted | kept object: `Closing` |
//! | `HookFinished` | the container's stop follows, on its turn | – | – |
//! | `ContainerExited` | gone; later stages may go; last one: `Closing` | keeps the exit for the record | – |
//! | `StopSucceeded` | the exit is looked for, never assumed | – | – |
//! | `StopFailed` | tried again after a pause | – | – |
//! | `ContainersObserved` | exits that no event told; new instances are stopped too | one runs: `Stopping` | – |
//! | `ListFailed` | tried again after a pause | tried again after a pause | – |
//! | `SandboxStopped` … `ObjectDeleted` | – | next closing step | – |
//! | `SandboxStopFailed` … `ObjectDeleteFailed` | – | tried again after a pause | – |
//! | `ObjectVanished` | nothing will be published or deleted | likewise | likewise |
//! | `RuntimeRestarted` | the full grace anew, or the rest of it, as set | – | – |
//! | `TimePassed` | sleeps end, stages open, the deadline falls, retries | retries | – |
//!
//! # One container inside `Stopping`
//!
//! `AwaitingTurn → HookRunning → Stopping → (Unconfirmed) → Gone`, with `StopFailed` as the pause before another try.
//! A ranked container runs its hook on its turn; a native sidecar runs its hook at once and then awaits its turn.
//!
//! # Guarantees
//!
//! The deadline never moves later, except that a restart of the agent or the runtime begins a new attempt where
//! that is set. Nothing is killed before the deadline. Each container has at least [`STOP_FLOOR`] between its stop
//! signal and SIGKILL. A later stage is let go only when every earlier container that holds it is gone, or at the
//! reserve point, or at the deadline. The object is let go only after every container was observed gone. Taking the
//! same input twice is the same as taking it once. A pod whose sandbox is made anew lives on: its containers and its
//! sandbox are stopped, and nothing else is done, unless a further cause comes.
//!
//! # Assumptions
//!
//! Every call is answered once, or the driver itself dies; `now` never goes back.
//!
//! [`STOP_FLOOR`]: crate::grace::STOP_FLOOR

mod cause;
mod closing;
mod container;
mod effect;
mod input;
mod plan;
mod record;
mod recovery;
mod stopping;

use crate::moment::Moment;

pub use cause::{Cause, CauseKind, without_container_id};
pub use closing::{Closing, ClosingStep};
pub use container::{
    Container, ContainerState, HookOutcome, HookProgress, HookRun, Ledger, SkipReason, Turn, TurnReason,
};
pub use effect::{CallId, Effect, Event, Probes, timeout_seconds};
pub use input::{Exit, Input, ObjectIntent, Observation, Observed, Request};
pub use plan::{Plan, PlanSettings, PlannedContainer, Scope, Slot};
pub use record::{Record, Verdict};
pub use recovery::{Progress, Recovery, resume, resume_until};
pub use stopping::Stopping;

/// How many causes of one end are remembered; the first is the reason, the rest is company.
const MOST_CAUSES: usize = 16;

/// The end of a pod, as far as it has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Termination {
    /// Containers may be running.
    Stopping(Box<Stopping>),
    /// None runs: sandbox, status, volumes and object are dealt with, in that order.
    Closing(Box<Closing>),
    /// Nothing is left to do.
    Finished(Box<Finished>),
}

/// An ended pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    pub known: Known,
}

/// What every state knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub plan: Plan,
    /// Why the pod ends; the first is the reason, later ones came while it was ending.
    pub causes: Vec<Cause>,
    pub object: ObjectFate,
    pub grace: crate::grace::Grace,
    pub started_at: Moment,
    pub deadline: Moment,
    pub recovery: Recovery,
    pub containers: Vec<Container>,
    next_call: u32,
    runtime_epoch: u64,
}

/// What becomes of the pod's API object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFate {
    /// Nobody asked for its deletion: it stays, with its final status.
    Keep,
    /// It is deleted when everything else is done.
    Delete,
    /// It was deleted by this machine.
    Released,
    /// It is gone without our doing.
    Vanished,
}

/// The outcome of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub state: Termination,
    /// To be carried out in this order.
    pub effects: Vec<Effect>,
    /// When to come back with [`Input::TimePassed`] if nothing else happens before.
    pub wake_at: Option<Moment>,
}

/// Begins the end: `observed` is what the runtime showed last.
pub fn begin(plan: Plan, request: Request, observed: &[Observation], recovery: Recovery, now: Moment) -> Step {
    let grace = crate::grace::of_pod(None, request.asked).grace();
    let known = Known::new(plan, request, recovery, grace, now);
    Stopping::begin(known, observed, now)
}

/// Takes one fact.
pub fn step(state: Termination, input: Input, now: Moment) -> Step {
    match state {
        Termination::Stopping(stopping) => stopping.step(input, now),
        Termination::Closing(closing) => closing.step(input, now),
        Termination::Finished(finished) => finished.step(&input),
    }
}

impl Termination {
    pub const fn known(&self) -> &Known {
        match self {
            Termination::Stopping(stopping) => stopping.known(),
            Termination::Closing(closing) => closing.known(),
            Termination::Finished(finished) => &finished.known,
        }
    }

    /// The record of the end so far.
    pub fn record(&self) -> Record {
        Record::of(self.known())
    }

    /// What to keep so that another agent can go on from here.
    pub fn progress(&self) -> Progress {
        Progress::of(self.known())
    }

    pub const fn is_finished(&self) -> bool {
        matches!(self, Termination::Finished(_))
    }
}

impl Known {
    fn new(plan: Plan, request: Request, recovery: Recovery, grace: crate::grace::Grace, now: Moment) -> Known {
        let containers = vec![Container::absent(); plan.len()];
        Known {
            containers,
            causes: vec![request.cause],
            object: ObjectFate::asked(request.object, plan.scope()),
            grace,
            started_at: now,
            deadline: now + grace.effective(),
            recovery,
            next_call: 0,
            runtime_epoch: 0,
            plan,
        }
    }

    fn call(&mut self) -> CallId {
        self.next_call += 1;
        CallId::new(self.next_call)
    }

    /// The id that the next call will have.
    const fn upcoming_call(&self) -> CallId {
        CallId::new(self.next_call + 1)
    }

    /// Notes a further request: its cause, and that the object is to go.
    fn note_request(&mut self, request: &Request) {
        if self.causes.len() < MOST_CAUSES && !self.causes.contains(&request.cause) {
            self.causes.push(request.cause.clone());
        }
        if self.object == ObjectFate::Keep {
            self.object = ObjectFate::asked(request.object, self.plan.scope());
        }
    }

    /// Whether the pod goes on after this end: it was one container's, or its sandbox is made anew.
    fn pod_lives_on(&self) -> bool {
        let sandbox_only = || self.causes.iter().all(|cause| cause.kind == CauseKind::SandboxChanged);
        self.plan.scope() == Scope::OneContainer || sandbox_only()
    }

    /// Notes a restart of the runtime; false if it was known already.
    fn note_runtime_epoch(&mut self, epoch: u64) -> bool {
        let news = epoch > self.runtime_epoch;
        self.runtime_epoch = self.runtime_epoch.max(epoch);
        news
    }
}

impl ObjectFate {
    /// The end of one container never takes the pod's object with it.
    const fn asked(intent: ObjectIntent, scope: Scope) -> ObjectFate {
        match (intent, scope) {
            (ObjectIntent::Delete, Scope::WholePod) => ObjectFate::Delete,
            (ObjectIntent::Absent, Scope::WholePod) => ObjectFate::Vanished,
            (ObjectIntent::Keep, _) | (ObjectIntent::Delete | ObjectIntent::Absent, Scope::OneContainer) => {
                ObjectFate::Keep
            }
        }
    }
}

impl Finished {
    fn step(mut self: Box<Self>, input: &Input) -> Step {
        match input {
            // What lives on ends by a termination of its own.
            Input::Requested(_) if self.known.pod_lives_on() => {}
            Input::Requested(request) => {
                self.known.note_request(request);
                if self.known.object == ObjectFate::Delete {
                    return Closing::delete_object(self.known);
                }
            }
            Input::ObjectVanished => {
                if self.known.object == ObjectFate::Keep {
                    self.known.object = ObjectFate::Vanished;
                }
            }
            Input::HookFinished { .. }
            | Input::ContainerExited { .. }
            | Input::StopSucceeded { .. }
            | Input::StopFailed { .. }
            | Input::ContainersObserved { .. }
            | Input::ListFailed { .. }
            | Input::SandboxStopped { .. }
            | Input::SandboxStopFailed { .. }
            | Input::StatusPublished { .. }
            | Input::StatusPublishFailed { .. }
            | Input::VolumesTornDown { .. }
            | Input::VolumeTeardownFailed { .. }
            | Input::ObjectDeleted { .. }
            | Input::ObjectDeleteFailed { .. }
            | Input::RuntimeRestarted { .. }
            | Input::TimePassed => {}
        }
        Step { state: Termination::Finished(self), effects: vec![], wake_at: None }
    }
}

/// How long to wait before a failed call is tried again: doubling from one second, at most ten.
pub(crate) fn retry_pause(failures: u32) -> std::time::Duration {
    const FIRST: u64 = 1;
    const LONGEST: u64 = 10;
    let doubled = FIRST.checked_shl(failures.saturating_sub(1)).unwrap_or(LONGEST);
    std::time::Duration::from_secs(doubled.min(LONGEST))
}

#[cfg(test)]
mod tests;
