//! Letting containers go: stages, hooks, stop calls, the deadline, and trying again.

use super::{
    ContainerState, Effect, Event, HookOutcome, HookProgress, HookRun, Listing, Moment, Mutation, Observation,
    Observed, Slot, Stopping, broken, retry_pause,
};
use crate::exit_order::stages::Role;
use crate::grace::{Grace, STOP_FLOOR};
use crate::hook::Hook;
use crate::termination::container::{Container, SkipReason, Turn, TurnReason};

/// How many names an event about waiting lists.
const NAMES_IN_EVENT: usize = 8;

impl Stopping {
    pub(super) fn container(&self, slot: Slot) -> &Container {
        &self.known.containers[slot.index()]
    }

    pub(super) fn container_mut(&mut self, slot: Slot) -> &mut Container {
        &mut self.known.containers[slot.index()]
    }

    /// Takes in what runs when the end begins.
    pub(super) fn admit(&mut self, seen: &Observation, now: Moment, fx: &mut Vec<Effect>) {
        self.container_mut(seen.slot).attempt = Some(seen.attempt);
        match &seen.state {
            Observed::Running => {
                let over = self.container(seen.slot).ledger.hook_outcome.is_some();
                let hook = if over { HookProgress::Over } else { HookProgress::Pending };
                self.set_state(seen.slot, ContainerState::AwaitingTurn { hook });
            }
            Observed::AlreadyStopping { since, kill_at } => {
                self.set_state(seen.slot, ContainerState::AwaitingTurn { hook: HookProgress::Over });
                let kill_at = (*kill_at).min(self.known.deadline.max(*since + STOP_FLOOR));
                self.call_stop(seen.slot, *since, kill_at.max(now), fx);
            }
            Observed::Exited(exit) => self.container_mut(seen.slot).ledger.exit = Some(exit.clone()),
            Observed::Absent => self.container_mut(seen.slot).attempt = None,
        }
    }

    /// Begins from the first stage with all the time there is.
    pub(super) fn start_attempt(&mut self, now: Moment, fx: &mut Vec<Effect>) {
        (self.released, self.holding, self.expired) = (0, 0, false);
        self.tell_who_waits(fx);
        self.release(TurnReason::First, now, fx);
        for slot in self.known.plan.slots() {
            if self.known.plan.hook_starts_at_once(slot) {
                self.start(slot, now, fx);
            }
        }
        if broken(Mutation::OrderIgnored) {
            self.release_all(TurnReason::EarlierGone, now, fx);
        }
    }

    /// Timers, stages, the deadline: everything that `now` allows or demands.
    pub(super) fn do_what_is_due(&mut self, now: Moment, fx: &mut Vec<Effect>) {
        while let Some((at, slot)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, slot));
            self.timer_due(slot, now, fx);
        }
        while let Some(reason) = self.next_release(now) {
            self.release(reason, now, fx);
        }
        if !self.expired && now >= self.known.deadline {
            self.expire(now, fx);
        }
        if let Listing::RetryAt { at, failures } = self.listing
            && at <= now
        {
            let call = self.known.call();
            self.listing = Listing::Asked { call, failures };
            fx.push(Effect::ListContainers { call });
        }
    }

    pub(super) fn next_due(&self) -> Option<Moment> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let listing = match self.listing {
            Listing::RetryAt { at, .. } => Some(at),
            Listing::Idle | Listing::Asked { .. } => None,
        };
        let deadline = (!self.expired && !broken(Mutation::DeadlineNotWatched)).then_some(self.known.deadline);
        let reserve = (!self.expired && self.released < self.known.plan.stages().len()).then(|| self.reserve_point());
        [timer, listing, deadline, reserve].into_iter().flatten().min().filter(|at| *at != Moment::NEVER)
    }

    fn timer_due(&mut self, slot: Slot, now: Moment, fx: &mut Vec<Effect>) {
        match self.container(slot).state {
            ContainerState::HookRunning { hook: HookRun::SleepsUntil(_) } => {
                self.container_mut(slot).end_hook(HookOutcome::Succeeded, now);
                fx.push(Effect::SaveProgress);
                self.hook_over(slot, now, fx);
            }
            ContainerState::StopFailed { .. } => self.stop(slot, now, fx),
            ContainerState::HookRunning { hook: HookRun::Called(_) }
            | ContainerState::AwaitingTurn { .. }
            | ContainerState::Stopping { .. }
            | ContainerState::Unconfirmed { .. }
            | ContainerState::Gone => unreachable!("only sleeps and retries have timers"),
        }
    }

    /// Whether the next stage may go now, and why.
    fn next_release(&self, now: Moment) -> Option<TurnReason> {
        if self.released >= self.known.plan.stages().len() {
            return None;
        }
        let rank = self.released < self.known.plan.rank_stages();
        if self.holding == 0 || (broken(Mutation::SidecarsNotHeld) && !rank) {
            return Some(TurnReason::EarlierGone);
        }
        (rank && now >= self.reserve_point()).then_some(TurnReason::Reserve)
    }

    /// When the stage let go last must make room for the next one.
    fn reserve_point(&self) -> Moment {
        let plan = &self.known.plan;
        let place = self.released.saturating_sub(1);
        if place + 1 >= plan.rank_stages() || broken(Mutation::ReserveForgotten) {
            return self.known.deadline;
        }
        plan.reserve().point(self.known.deadline, self.known.grace.effective(), place, plan.rank_stages())
    }

    /// Lets the next stage go.
    fn release(&mut self, reason: TurnReason, now: Moment, fx: &mut Vec<Effect>) {
        let stage = self.released;
        self.released += 1;
        let members = self.known.plan.stages()[stage].members.clone();
        for slot in members.into_iter().map(Slot::new) {
            if self.container(slot).is_gone() {
                continue;
            }
            if self.known.plan.container(slot).role.holds_later_stages() {
                self.holding += 1;
            }
            self.container_mut(slot).ledger.turn = Some(Turn { at: now, reason });
            self.tell_turn(slot, reason, now, fx);
            self.let_go(slot, now, fx);
        }
    }

    fn release_all(&mut self, reason: TurnReason, now: Moment, fx: &mut Vec<Effect>) {
        while self.released < self.known.plan.stages().len() {
            self.release(reason, now, fx);
        }
    }

    /// The container's turn has come.
    fn let_go(&mut self, slot: Slot, now: Moment, fx: &mut Vec<Effect>) {
        match self.container(slot).state {
            ContainerState::AwaitingTurn { hook: HookProgress::Pending } => self.start(slot, now, fx),
            ContainerState::AwaitingTurn { hook: HookProgress::Over } => self.stop(slot, now, fx),
            ContainerState::HookRunning { .. }
            | ContainerState::Stopping { .. }
            | ContainerState::StopFailed { .. }
            | ContainerState::Unconfirmed { .. }
            | ContainerState::Gone => {}
        }
    }

    /// Begins a container's own end with its hook, if it has one that may run.
    fn start(&mut self, slot: Slot, now: Moment, fx: &mut Vec<Effect>) {
        if self.container(slot).state != (ContainerState::AwaitingTurn { hook: HookProgress::Pending }) {
            return;
        }
        fx.push(Effect::Emit(Event::Killing { slot }));
        let Some(hook) = self.known.plan.container(slot).hook.clone() else {
            return self.hook_over(slot, now, fx);
        };
        let skip = if !self.known.grace.runs_hooks() && !broken(Mutation::HookAtZeroGrace) {
            Some(SkipReason::ZeroGrace)
        } else if self.expired || now >= self.known.deadline {
            Some(SkipReason::NoTimeLeft)
        } else {
            None
        };
        if let Some(reason) = skip {
            self.container_mut(slot).ledger.hook_outcome = Some(HookOutcome::Skipped(reason));
            return self.hook_over(slot, now, fx);
        }
        self.container_mut(slot).ledger.hook_started_at = Some(now);
        self.run_hook(slot, hook, now, fx);
    }

    fn run_hook(&mut self, slot: Slot, hook: Hook, now: Moment, fx: &mut Vec<Effect>) {
        match &hook {
            Hook::Sleep { seconds: 0 } => {
                self.container_mut(slot).end_hook(HookOutcome::Succeeded, now);
                self.hook_over(slot, now, fx);
            }
            Hook::Sleep { seconds } => {
                let ends_at = now + std::time::Duration::from_secs(*seconds);
                self.set_state(slot, ContainerState::HookRunning { hook: HookRun::SleepsUntil(ends_at) });
            }
            Hook::Invalid { handler } => {
                let message = format!("invalid handler: {handler}");
                fx.push(Effect::Emit(Event::PreStopHookFailed { slot, message: message.clone() }));
                self.container_mut(slot).end_hook(HookOutcome::Failed { message }, now);
                self.hook_over(slot, now, fx);
            }
            Hook::Exec { .. } | Hook::HttpGet(_) => {
                let call = self.known.call();
                self.set_state(slot, ContainerState::HookRunning { hook: HookRun::Called(call) });
                fx.push(Effect::RunHook { call, slot, hook, give_up_at: self.known.deadline });
            }
        }
    }

    /// The hook is over, one way or another: stop, or wait for the turn.
    pub(super) fn hook_over(&mut self, slot: Slot, now: Moment, fx: &mut Vec<Effect>) {
        if self.known.plan.stage_of(slot) < self.released {
            self.stop(slot, now, fx);
        } else {
            self.set_state(slot, ContainerState::AwaitingTurn { hook: HookProgress::Over });
        }
    }

    /// Asks the runtime for the stop: until the deadline, and never with less than the floor.
    fn stop(&mut self, slot: Slot, now: Moment, fx: &mut Vec<Effect>) {
        let floor = if broken(Mutation::FloorForgotten) { now } else { now + STOP_FLOOR };
        let kill_at = if broken(Mutation::KillBeforeDeadline) { floor } else { self.known.deadline.max(floor) };
        self.call_stop(slot, now, kill_at, fx);
    }

    fn call_stop(&mut self, slot: Slot, since: Moment, kill_at: Moment, fx: &mut Vec<Effect>) {
        let call = self.known.call();
        let failures = self.container(slot).failures();
        let ledger = &mut self.container_mut(slot).ledger;
        ledger.stop_asked_at.get_or_insert(since);
        ledger.kill_at = Some(kill_at);
        ledger.stop_calls += 1;
        let signal = self.known.plan.container(slot).signal;
        self.set_state(slot, ContainerState::Stopping { call, since, kill_at, failures });
        fx.push(Effect::StopContainer { call, slot, signal, kill_at });
    }

    /// The stop did not work: another try after a pause.
    pub(super) fn retry_later(&mut self, slot: Slot, now: Moment) {
        let failures = self.container(slot).failures() + 1;
        let retry_at = now + retry_pause(failures);
        self.set_state(slot, ContainerState::StopFailed { retry_at, failures });
    }

    /// The time is up: everyone still left is let go, and hooks are no longer waited for.
    fn expire(&mut self, now: Moment, fx: &mut Vec<Effect>) {
        self.expired = true;
        self.release_all(TurnReason::Deadline, now, fx);
        self.give_up_hooks(&HookOutcome::TimedOut, now, fx);
    }

    fn give_up_hooks(&mut self, outcome: &HookOutcome, now: Moment, fx: &mut Vec<Effect>) {
        for slot in self.known.plan.slots() {
            if matches!(self.container(slot).state, ContainerState::HookRunning { .. }) {
                self.container_mut(slot).end_hook(outcome.clone(), now);
                self.hook_over(slot, now, fx);
            }
        }
    }

    /// A shorter grace period counts from the beginning and takes effect at once.
    pub(super) fn shorten(&mut self, grace: Grace, now: Moment, fx: &mut Vec<Effect>) {
        self.known.grace = grace;
        let wanted = now.max(self.known.started_at + grace.effective());
        self.known.deadline = self.known.deadline.min(wanted);
        if broken(Mutation::DeadlineMovesLater) {
            self.known.deadline = self.known.deadline + STOP_FLOOR * 2;
        }
        fx.push(Effect::SaveProgress);
        if !grace.runs_hooks() {
            self.give_up_hooks(&HookOutcome::CutShort, now, fx);
        }
        for slot in self.known.plan.slots() {
            let ContainerState::Stopping { since, kill_at, .. } = self.container(slot).state else { continue };
            let sooner = self.known.deadline.max(since + STOP_FLOOR).max(now);
            if sooner < kill_at && !broken(Mutation::ShorteningIgnored) {
                self.call_stop(slot, since, sooner, fx);
            }
        }
    }

    /// An instance that was not known yet runs: it ends like any other.
    pub(super) fn new_instance(&mut self, slot: Slot, attempt: u32, now: Moment, fx: &mut Vec<Effect>) {
        let container = self.container_mut(slot);
        container.attempt = Some(attempt);
        match container.state {
            ContainerState::AwaitingTurn { .. } | ContainerState::HookRunning { .. } => return,
            ContainerState::Stopping { .. }
            | ContainerState::StopFailed { .. }
            | ContainerState::Unconfirmed { .. }
            | ContainerState::Gone => {}
        }
        container.ledger.exit = None;
        container.ledger.gone_at = None;
        self.set_state(slot, ContainerState::AwaitingTurn { hook: HookProgress::Pending });
        if self.known.plan.stage_of(slot) < self.released || self.known.plan.hook_starts_at_once(slot) {
            self.start(slot, now, fx);
        }
    }

    pub(super) fn ask_list(&mut self, fx: &mut Vec<Effect>) {
        if self.listing == Listing::Idle {
            let call = self.known.call();
            self.listing = Listing::Asked { call, failures: 0 };
            fx.push(Effect::ListContainers { call });
        }
    }

    /// The only way a container's state changes: keeps timers and counts true.
    pub(super) fn set_state(&mut self, slot: Slot, state: ContainerState) {
        let holds =
            self.known.plan.container(slot).role.holds_later_stages() && self.known.plan.stage_of(slot) < self.released;
        let container = &mut self.known.containers[slot.index()];
        let (before, was_gone) = (container.timer(), container.is_gone());
        container.state = state;
        let (after, is_gone) = (container.timer(), container.is_gone());
        if before != after {
            before.map(|at| self.timers.remove(&(at, slot)));
            after.map(|at| self.timers.insert((at, slot)));
        }
        if was_gone && !is_gone {
            self.left += 1;
            self.holding += usize::from(holds);
        } else if !was_gone && is_gone {
            self.left -= 1;
            self.holding = self.holding.checked_sub(usize::from(holds)).expect("every holder is counted once");
        }
    }

    fn tell_who_waits(&self, fx: &mut Vec<Effect>) {
        let plan = &self.known.plan;
        if !plan.has_ranks() {
            return;
        }
        let (mut first, mut count): (Vec<Slot>, usize) = (vec![], 0);
        for stage in &plan.stages()[..plan.rank_stages()] {
            let running =
                stage.members.iter().map(|member| Slot::new(*member)).filter(|s| !self.container(*s).is_gone());
            let regular: Vec<Slot> = running.filter(|s| plan.container(*s).role == Role::Regular).collect();
            if count > 0 {
                fx.extend(regular.iter().map(|slot| {
                    let (waits_for, and_more) = (first.clone(), count - first.len());
                    Effect::Emit(Event::ExitGateWaiting { slot: *slot, waits_for, and_more })
                }));
            }
            count += regular.len();
            first.extend(regular.into_iter().take(NAMES_IN_EVENT - first.len()));
        }
    }

    fn tell_turn(&self, slot: Slot, reason: TurnReason, now: Moment, fx: &mut Vec<Effect>) {
        let plan = &self.known.plan;
        if !plan.has_ranks() || plan.container(slot).role != Role::Regular {
            return;
        }
        let waited_millis = u64::try_from(now.since(self.known.started_at).as_millis()).unwrap_or(u64::MAX);
        match reason {
            TurnReason::First => {}
            TurnReason::EarlierGone => fx.push(Effect::Emit(Event::ExitGateOpened { slot, waited_millis })),
            TurnReason::Reserve | TurnReason::Deadline => {
                fx.push(Effect::Emit(Event::ExitGateTimedOut { slot, waited_millis }));
            }
        }
    }
}
