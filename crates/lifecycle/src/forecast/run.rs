//! Drives the termination machine to its end with assumed behaviour, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::assumptions::{Assumptions, Behaviour};
use crate::exit_order::stages::Role;
use crate::grace::{Asked, Grace};
use crate::moment::Moment;
use crate::termination::{
    Effect, Exit, Input, Observation, Observed, Plan, Recovery, Request, Slot, Step, Termination, begin, step,
};

/// The containers that run when an ordinary pod is asked to end: all but the init containers, which are done.
pub(super) fn running_slots(plan: &Plan) -> impl Iterator<Item = Slot> {
    plan.slots().filter(|slot| plan.container(*slot).role != Role::Init)
}

/// The end of the pod, with everything in its ledgers.
pub(super) fn to_the_end(plan: &Plan, grace: Grace, assumptions: &Assumptions) -> Termination {
    let start = Moment::from_millis(0);
    let observed: Vec<Observation> =
        running_slots(plan).map(|slot| Observation { slot, attempt: 0, state: Observed::Running }).collect();
    let seconds = i64::try_from(grace.requested_seconds()).unwrap_or(i64::MAX);
    let request = Request::delete(Asked { deletion_seconds: Some(seconds), ..Asked::default() });
    let first = begin(plan.clone(), request, &observed, Recovery::Anew, start);
    let exits = vec![None; plan.len()];
    let mut world = World { assumptions, due: BinaryHeap::new(), facts: vec![], exits, wake: None, time_over: false };
    let mut state = world.take(first, start);
    while let Some((now, input)) = world.next(&state) {
        let next = step(state, input, now);
        state = world.take(next, now);
    }
    state
}

/// Whether SIGKILL ended the container.
pub(super) fn was_killed(end: &Termination, slot: Slot) -> bool {
    let exit = end.known().containers[slot.index()].ledger.exit.as_ref();
    exit.is_some_and(|exit| exit.code == Exit::KILLED_CODE)
}

struct World<'a> {
    assumptions: &'a Assumptions,
    /// When which fact happens; the index also keeps equal times in order.
    due: BinaryHeap<Reverse<(Moment, usize)>>,
    facts: Vec<Option<Input>>,
    /// The fact by which each container ends, so that a sooner one replaces it.
    exits: Vec<Option<(Moment, usize)>>,
    wake: Option<Moment>,
    /// Whether even a deadline that is never reached has been.
    time_over: bool,
}

impl World<'_> {
    fn take(&mut self, step: Step, now: Moment) -> Termination {
        for effect in &step.effects {
            self.carry_out(effect, &step.state, now);
        }
        self.wake = step.wake_at;
        step.state
    }

    /// The next thing to happen: a fact, or the machine's own alarm.
    fn next(&mut self, state: &Termination) -> Option<(Moment, Input)> {
        if state.is_finished() {
            return None;
        }
        let fact = self.due.peek().map(|Reverse((at, _))| *at);
        match (fact, self.wake) {
            (None, None) => {
                let before = std::mem::replace(&mut self.time_over, true);
                (!before).then_some((Moment::NEVER, Input::TimePassed))
            }
            (Some(at), wake) if wake.is_none_or(|wake| at <= wake) => {
                let Reverse((at, index)) = self.due.pop()?;
                Some((at, self.facts[index].take().unwrap_or(Input::TimePassed)))
            }
            (_, Some(wake)) => Some((wake, Input::TimePassed)),
            (Some(_), None) => unreachable!("a fact without alarm is due"),
        }
    }

    fn at(&mut self, at: Moment, input: Input) -> usize {
        let index = self.facts.len();
        self.facts.push(Some(input));
        self.due.push(Reverse((at, index)));
        index
    }

    fn carry_out(&mut self, effect: &Effect, state: &Termination, now: Moment) {
        match *effect {
            Effect::RunHook { call, slot, .. } => {
                if let Behaviour::Takes(span) = self.assumptions.hook(&state.known().plan.container(slot).name) {
                    self.at(now + span, Input::HookFinished { slot, call, outcome: Ok(()) });
                }
            }
            Effect::StopContainer { slot, kill_at, .. } => {
                let name = &state.known().plan.container(slot).name;
                self.stop(slot, kill_at, self.assumptions.container(name), now);
            }
            Effect::ListContainers { call } => {
                self.at(now, Input::ContainersObserved { call: Some(call), observations: vec![] });
            }
            Effect::StopSandbox { call } => drop(self.at(now, Input::SandboxStopped { call })),
            Effect::PublishStatus { call } => drop(self.at(now, Input::StatusPublished { call })),
            Effect::TearDownVolumes { call } => drop(self.at(now, Input::VolumesTornDown { call })),
            Effect::DeleteObject { call } => drop(self.at(now, Input::ObjectDeleted { call })),
            Effect::SaveProgress | Effect::StopProbes(_) | Effect::Emit(_) => {}
        }
    }

    fn stop(&mut self, slot: Slot, kill_at: Moment, behaviour: Behaviour, now: Moment) {
        let by_itself = match behaviour {
            Behaviour::Takes(span) => now + span,
            Behaviour::Hangs => Moment::NEVER,
        };
        let (at, code) = if by_itself < kill_at { (by_itself, 0) } else { (kill_at, Exit::KILLED_CODE) };
        if self.exits[slot.index()].is_some_and(|(earlier, _)| earlier <= at) {
            return;
        }
        if let Some((_, index)) = self.exits[slot.index()] {
            self.facts[index] = None;
        }
        let exit = Exit::with_code(code, at);
        let index = self.at(at, Input::ContainerExited { slot, attempt: 0, exit });
        self.exits[slot.index()] = Some((at, index));
    }
}
