//! The state in which containers may be running: what each fact changes.
//!
//! This file takes inputs apart; how containers are let go, signalled and tried again is in [`turns`].

mod turns;

use std::collections::BTreeSet;

use super::closing::Closing;
use super::container::{ContainerState, HookOutcome, HookProgress, HookRun};
use super::effect::{CallId, Effect, Event, Probes};
use super::input::{Exit, Input, Observation, Observed, Request};
use super::plan::{Scope, Slot};
use super::{Finished, Known, ObjectFate, Recovery, Step, Termination, retry_pause};
use crate::grace::{self, Change};
use crate::moment::Moment;
use crate::mutation::{Mutation, broken};

/// Containers may be running.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopping {
    known: Known,
    /// How many stages were let go.
    released: usize,
    /// Whether the deadline has been acted upon.
    expired: bool,
    /// Containers of released stages that later stages still wait for.
    holding: usize,
    /// Containers not known to be gone.
    left: usize,
    timers: BTreeSet<(Moment, Slot)>,
    listing: Listing,
}

/// Whether the runtime is being asked what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Idle,
    Asked { call: CallId, failures: u32 },
    RetryAt { at: Moment, failures: u32 },
}

impl Stopping {
    pub(super) fn begin(known: Known, observed: &[Observation], now: Moment) -> Step {
        let mut stopping = Box::new(Stopping::idle(known));
        let mut effects = vec![Effect::SaveProgress];
        if stopping.known.plan.scope() == Scope::WholePod {
            effects.push(Effect::StopProbes(Probes::LivenessAndStartup));
        }
        for observation in observed {
            stopping.admit(observation, now, &mut effects);
        }
        stopping.start_attempt(now, &mut effects);
        stopping.conclude(effects, now)
    }

    /// Back from closing: something runs after all, and its turn has long come.
    pub(super) fn reopen(known: Known, news: Vec<Observation>, now: Moment) -> Step {
        let mut stopping = Box::new(Stopping::idle(known));
        let mut effects = vec![];
        stopping.released = stopping.known.plan.stages().len();
        stopping.expired = now >= stopping.known.deadline;
        for seen in news {
            match seen.state {
                Observed::Running | Observed::AlreadyStopping { .. } => {
                    stopping.new_instance(seen.slot, seen.attempt, now, &mut effects);
                }
                Observed::Exited(exit) => stopping.exited(seen.slot, seen.attempt, exit, now),
                Observed::Absent => {}
            }
        }
        stopping.conclude(effects, now)
    }

    fn idle(known: Known) -> Stopping {
        let (timers, listing) = (BTreeSet::new(), Listing::Idle);
        Stopping { known, released: 0, expired: false, holding: 0, left: 0, timers, listing }
    }

    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// How many stages were let go so far.
    pub const fn released_stages(&self) -> usize {
        self.released
    }

    pub(super) fn step(mut self: Box<Self>, input: Input, now: Moment) -> Step {
        let mut effects = vec![];
        let fx = &mut effects;
        match input {
            Input::Requested(request) => self.requested(&request, now, fx),
            Input::HookFinished { slot, call, outcome } => self.hook_finished(slot, call, outcome, now, fx),
            Input::ContainerExited { slot, attempt, exit } => self.exited(slot, attempt, exit, now),
            Input::StopSucceeded { slot, call } => self.stop_succeeded(slot, call, now, fx),
            Input::StopFailed { slot, call, error } => self.stop_failed(slot, call, error, now, fx),
            Input::ContainersObserved { call, observations } => self.observed(call, &observations, now, fx),
            Input::ListFailed { call, .. } => self.list_failed(call, now),
            Input::ObjectVanished => self.known.object = ObjectFate::Vanished,
            Input::RuntimeRestarted { epoch } => self.runtime_restarted(epoch, now, fx),
            Input::TimePassed
            | Input::SandboxStopped { .. }
            | Input::SandboxStopFailed { .. }
            | Input::StatusPublished { .. }
            | Input::StatusPublishFailed { .. }
            | Input::VolumesTornDown { .. }
            | Input::VolumeTeardownFailed { .. }
            | Input::ObjectDeleted { .. }
            | Input::ObjectDeleteFailed { .. } => {}
        }
        self.conclude(effects, now)
    }

    /// Does what has become due, and says which state this is now.
    fn conclude(mut self: Box<Self>, mut effects: Vec<Effect>, now: Moment) -> Step {
        self.do_what_is_due(now, &mut effects);
        let deleted_early = broken(Mutation::DeletedWhileRunning) && self.expired;
        if self.left > 0 && !deleted_early {
            let wake_at = self.next_due();
            return Step { state: Termination::Stopping(self), effects, wake_at };
        }
        match self.known.plan.scope() {
            Scope::WholePod => Closing::begin(self.known, effects),
            Scope::OneContainer => {
                let state = Termination::Finished(Box::new(Finished { known: self.known }));
                Step { state, effects, wake_at: None }
            }
        }
    }

    fn requested(&mut self, request: &Request, now: Moment, fx: &mut Vec<Effect>) {
        self.known.note_request(request);
        match grace::of_pod(Some(self.known.grace), request.asked) {
            Change::Shortened(grace) => self.shorten(grace, now, fx),
            Change::Set(_) | Change::Kept(_) => {}
        }
    }

    fn hook_finished(
        &mut self,
        slot: Slot,
        call: CallId,
        outcome: Result<(), String>,
        now: Moment,
        fx: &mut Vec<Effect>,
    ) {
        let ContainerState::HookRunning { hook: HookRun::Called(running) } = self.container(slot).state else { return };
        if running != call {
            return;
        }
        let outcome = match outcome {
            Ok(()) => HookOutcome::Succeeded,
            Err(message) => {
                fx.push(Effect::Emit(Event::PreStopHookFailed { slot, message: message.clone() }));
                HookOutcome::Failed { message }
            }
        };
        self.container_mut(slot).end_hook(outcome, now);
        fx.push(Effect::SaveProgress);
        self.hook_over(slot, now, fx);
    }

    fn exited(&mut self, slot: Slot, attempt: u32, exit: Exit, now: Moment) {
        let container = self.container_mut(slot);
        if container.attempt > Some(attempt) {
            return;
        }
        container.attempt = Some(attempt);
        if container.is_gone() {
            if container.ledger.exit.is_none() {
                container.ledger.exit = Some(exit);
            }
            if broken(Mutation::RepeatedExitCounted) {
                self.holding = self.holding.saturating_sub(1);
            }
            return;
        }
        if broken(Mutation::ExitInHookMissed) && matches!(container.state, ContainerState::HookRunning { .. }) {
            return;
        }
        container.ledger.exit = Some(exit);
        self.gone(slot, now);
    }

    fn gone(&mut self, slot: Slot, now: Moment) {
        let container = self.container_mut(slot);
        if matches!(container.state, ContainerState::HookRunning { .. }) {
            container.end_hook(HookOutcome::CutShort, now);
        }
        container.ledger.gone_at = Some(now);
        self.set_state(slot, ContainerState::Gone);
    }

    fn stop_succeeded(&mut self, slot: Slot, call: CallId, now: Moment, fx: &mut Vec<Effect>) {
        let ContainerState::Stopping { call: running, .. } = self.container(slot).state else { return };
        if running != call && !broken(Mutation::StaleAnswerAccepted) {
            return;
        }
        if broken(Mutation::ExitAssumed) {
            self.gone(slot, now);
            return;
        }
        let listed_from = self.known.upcoming_call();
        let failures = self.container(slot).failures();
        self.set_state(slot, ContainerState::Unconfirmed { listed_from, failures });
        self.ask_list(fx);
    }

    fn stop_failed(&mut self, slot: Slot, call: CallId, error: String, now: Moment, fx: &mut Vec<Effect>) {
        let ContainerState::Stopping { call: running, .. } = self.container(slot).state else { return };
        if running != call && !broken(Mutation::StaleAnswerAccepted) {
            return;
        }
        fx.push(Effect::Emit(Event::KillPodFailed { message: error }));
        if !broken(Mutation::RetryForgotten) {
            self.retry_later(slot, now);
        }
    }

    fn observed(&mut self, call: Option<CallId>, observations: &[Observation], now: Moment, fx: &mut Vec<Effect>) {
        if let Some(call) = call {
            match self.listing {
                Listing::Asked { call: asked, .. } if asked == call => self.listing = Listing::Idle,
                Listing::Asked { .. } | Listing::Idle | Listing::RetryAt { .. } => return,
            }
        }
        let mut named = vec![false; self.known.plan.len()];
        for observation in observations {
            named[observation.slot.index()] = true;
            self.observe(observation, call, now, fx);
        }
        if call.is_some() {
            for slot in self.known.plan.slots().filter(|slot| !named[slot.index()]) {
                self.vanished(slot, now);
            }
        }
        let unconfirmed = |c: &super::Container| matches!(c.state, ContainerState::Unconfirmed { .. });
        if self.known.containers.iter().any(unconfirmed) {
            self.ask_list(fx);
        }
    }

    /// Takes one line of a list; `asked` is the call that the list answers.
    fn observe(&mut self, seen: &Observation, asked: Option<CallId>, now: Moment, fx: &mut Vec<Effect>) {
        let slot = seen.slot;
        match &seen.state {
            Observed::Exited(exit) => self.exited(slot, seen.attempt, exit.clone(), now),
            Observed::Absent => self.vanished(slot, now),
            Observed::Running | Observed::AlreadyStopping { .. } => {
                let container = self.container(slot);
                if container.attempt < Some(seen.attempt) {
                    self.new_instance(slot, seen.attempt, now, fx);
                } else if container.attempt == Some(seen.attempt) {
                    self.runs_though_stopped(slot, asked, now, fx);
                }
            }
        }
    }

    fn vanished(&mut self, slot: Slot, now: Moment) {
        if !self.container(slot).is_gone() {
            self.gone(slot, now);
        }
    }

    /// The runtime said the container is stopped, and a list made afterwards shows it running.
    fn runs_though_stopped(&mut self, slot: Slot, asked: Option<CallId>, now: Moment, fx: &mut Vec<Effect>) {
        let ContainerState::Unconfirmed { listed_from, .. } = self.container(slot).state else { return };
        if asked.is_some_and(|asked| asked >= listed_from) {
            let name = &self.known.plan.container(slot).name;
            let message = format!("container {name:?} still runs although the runtime reported it stopped");
            fx.push(Effect::Emit(Event::KillPodFailed { message }));
            self.retry_later(slot, now);
        }
    }

    fn list_failed(&mut self, call: CallId, now: Moment) {
        if let Listing::Asked { call: asked, failures } = self.listing
            && asked == call
        {
            let failures = failures + 1;
            self.listing = Listing::RetryAt { at: now + retry_pause(failures), failures };
        }
    }

    fn runtime_restarted(&mut self, epoch: u64, now: Moment, fx: &mut Vec<Effect>) {
        if !self.known.note_runtime_epoch(epoch) {
            return;
        }
        match self.known.recovery {
            Recovery::Resume => {}
            Recovery::Anew => {
                self.known.started_at = now;
                self.known.deadline = now + self.known.grace.effective();
                for slot in self.known.plan.slots() {
                    if !self.container(slot).is_gone() {
                        self.set_state(slot, ContainerState::AwaitingTurn { hook: HookProgress::Pending });
                    }
                }
                fx.push(Effect::SaveProgress);
                self.start_attempt(now, fx);
            }
        }
        self.listing = Listing::Idle;
        self.ask_list(fx);
    }
}
