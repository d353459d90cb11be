//! The state after the last container: sandbox, a last look, status, volumes, object, one after the other.
//!
//! Each step is one call; a failed one is tried again after a pause, for as long as it takes. The terminal phase is
//! always visible in the API before the object disappears.

use super::effect::{CallId, Effect, Event, Probes};
use super::input::{Input, Observation, Observed};
use super::{Finished, Known, ObjectFate, Step, Stopping, Termination, retry_pause};
use crate::moment::Moment;
use crate::mutation::{Mutation, broken};

/// No container runs any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Closing {
    known: Known,
    at: ClosingStep,
    doing: Doing,
}

/// What is left, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosingStep {
    StopSandbox,
    /// Ask the runtime once more: nothing may run.
    Verify,
    PublishStatus,
    TearDownVolumes,
    DeleteObject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Call { call: CallId, failures: u32 },
    RetryAt { at: Moment, failures: u32 },
}

impl Closing {
    pub(super) fn begin(known: Known, mut effects: Vec<Effect>) -> Step {
        effects.push(Effect::StopProbes(Probes::All));
        Closing::start(known, ClosingStep::StopSandbox, effects)
    }

    /// The object of an ended pod is to be deleted after all.
    pub(super) fn delete_object(known: Known) -> Step {
        Closing::start(known, ClosingStep::DeleteObject, vec![])
    }

    pub const fn known(&self) -> &Known {
        &self.known
    }

    pub const fn at(&self) -> ClosingStep {
        self.at
    }

    fn start(mut known: Known, at: ClosingStep, mut effects: Vec<Effect>) -> Step {
        let call = known.call();
        effects.push(effect(at, call));
        let closing = Closing { known, at, doing: Doing::Call { call, failures: 0 } };
        Step { state: Termination::Closing(Box::new(closing)), effects, wake_at: None }
    }

    pub(super) fn step(mut self: Box<Self>, input: Input, now: Moment) -> Step {
        match input {
            Input::SandboxStopped { call } => self.done(ClosingStep::StopSandbox, call, now),
            Input::StatusPublished { call } => self.done(ClosingStep::PublishStatus, call, now),
            Input::VolumesTornDown { call } => self.done(ClosingStep::TearDownVolumes, call, now),
            Input::ObjectDeleted { call } => self.done(ClosingStep::DeleteObject, call, now),
            Input::ContainersObserved { call, observations } => self.observed(call, &observations, now),
            Input::SandboxStopFailed { call, error }
            | Input::StatusPublishFailed { call, error }
            | Input::VolumeTeardownFailed { call, error }
            | Input::ObjectDeleteFailed { call, error }
            | Input::ListFailed { call, error } => self.failed(call, error, now),
            Input::ObjectVanished => self.vanished(now),
            Input::Requested(request) => {
                self.known.note_request(&request);
                self.rest(vec![], now)
            }
            Input::ContainerExited { slot, attempt, exit } => {
                let container = &mut self.known.containers[slot.index()];
                if container.attempt == Some(attempt) && container.ledger.exit.is_none() {
                    container.ledger.exit = Some(exit);
                }
                self.rest(vec![], now)
            }
            Input::RuntimeRestarted { epoch } => {
                self.known.note_runtime_epoch(epoch);
                self.rest(vec![], now)
            }
            Input::HookFinished { .. } | Input::StopSucceeded { .. } | Input::StopFailed { .. } | Input::TimePassed => {
                self.rest(vec![], now)
            }
        }
    }

    /// Stays in this step, and tries again what is due.
    fn rest(mut self: Box<Self>, mut effects: Vec<Effect>, now: Moment) -> Step {
        if let Doing::RetryAt { at, failures } = self.doing
            && at <= now
        {
            let call = self.known.call();
            self.doing = Doing::Call { call, failures };
            effects.push(effect(self.at, call));
        }
        let wake_at = match self.doing {
            Doing::RetryAt { at, .. } => Some(at),
            Doing::Call { .. } => None,
        };
        Step { state: Termination::Closing(self), effects, wake_at }
    }

    fn is_answer(&self, call: CallId) -> bool {
        matches!(self.doing, Doing::Call { call: asked, .. } if asked == call)
    }

    fn done(mut self: Box<Self>, step: ClosingStep, call: CallId, now: Moment) -> Step {
        if self.at != step || !self.is_answer(call) {
            return self.rest(vec![], now);
        }
        if step == ClosingStep::DeleteObject {
            if broken(Mutation::DeletedTwice) && self.known.started_at < self.known.deadline {
                self.known.started_at = self.known.deadline;
                return Closing::start(self.known, ClosingStep::DeleteObject, vec![]);
            }
            self.known.object = ObjectFate::Released;
        }
        self.next(vec![])
    }

    /// The step after this one that applies to this object.
    fn next(self, effects: Vec<Effect>) -> Step {
        let object = self.known.object;
        let next = match (self.at, object) {
            (ClosingStep::StopSandbox, _) => Some(ClosingStep::Verify),
            (ClosingStep::Verify, ObjectFate::Keep) if self.known.pod_lives_on() => None,
            (ClosingStep::Verify, ObjectFate::Keep | ObjectFate::Delete) => Some(ClosingStep::PublishStatus),
            (ClosingStep::Verify, ObjectFate::Released | ObjectFate::Vanished) | (ClosingStep::PublishStatus, _) => {
                Some(ClosingStep::TearDownVolumes)
            }
            (ClosingStep::TearDownVolumes, ObjectFate::Delete) => Some(ClosingStep::DeleteObject),
            (ClosingStep::TearDownVolumes, ObjectFate::Keep | ObjectFate::Released | ObjectFate::Vanished)
            | (ClosingStep::DeleteObject, _) => None,
        };
        match next {
            Some(step) => Closing::start(self.known, step, effects),
            None => {
                let state = Termination::Finished(Box::new(Finished { known: self.known }));
                Step { state, effects, wake_at: None }
            }
        }
    }

    fn observed(self: Box<Self>, call: Option<CallId>, observations: &[Observation], now: Moment) -> Step {
        let answers = call.is_none_or(|call| self.at == ClosingStep::Verify && self.is_answer(call));
        if !answers {
            return self.rest(vec![], now);
        }
        let runs = |seen: &Observation| {
            let known = self.known.containers[seen.slot.index()].attempt;
            match seen.state {
                // A list asked for after the last exit is true; one that came by itself may be older than the exit.
                Observed::Running | Observed::AlreadyStopping { .. } => call.is_some() || known < Some(seen.attempt),
                Observed::Exited(_) | Observed::Absent => false,
            }
        };
        if observations.iter().any(runs) {
            let news = observations.iter().filter(|seen| runs(seen) || matches!(seen.state, Observed::Exited(_)));
            let news: Vec<Observation> = news.cloned().collect();
            return Stopping::reopen(self.known, news, now);
        }
        if call.is_some() { self.next(vec![]) } else { self.rest(vec![], now) }
    }

    fn failed(mut self: Box<Self>, call: CallId, error: String, now: Moment) -> Step {
        match self.doing {
            Doing::Call { call: asked, failures } if asked == call => {
                let failures = failures + 1;
                self.doing = Doing::RetryAt { at: now + retry_pause(failures), failures };
                let effects = match self.at {
                    ClosingStep::StopSandbox | ClosingStep::Verify => {
                        vec![Effect::Emit(Event::KillPodFailed { message: error })]
                    }
                    ClosingStep::PublishStatus | ClosingStep::TearDownVolumes | ClosingStep::DeleteObject => vec![],
                };
                self.rest(effects, now)
            }
            Doing::Call { .. } | Doing::RetryAt { .. } => self.rest(vec![], now),
        }
    }

    /// Nobody is left to publish for, and nothing to delete.
    fn vanished(mut self: Box<Self>, now: Moment) -> Step {
        self.known.object = ObjectFate::Vanished;
        match self.at {
            ClosingStep::PublishStatus | ClosingStep::DeleteObject => self.next(vec![]),
            ClosingStep::StopSandbox | ClosingStep::Verify | ClosingStep::TearDownVolumes => self.rest(vec![], now),
        }
    }
}

fn effect(step: ClosingStep, call: CallId) -> Effect {
    match step {
        ClosingStep::StopSandbox => Effect::StopSandbox { call },
        ClosingStep::Verify => Effect::ListContainers { call },
        ClosingStep::PublishStatus => Effect::PublishStatus { call },
        ClosingStep::TearDownVolumes => Effect::TearDownVolumes { call },
        ClosingStep::DeleteObject => Effect::DeleteObject { call },
    }
}
