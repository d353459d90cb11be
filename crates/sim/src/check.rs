//! The invariants, held against everything that happens, with arithmetic of their own.
//!
//! Nothing here calls the rules it checks: grace, deadlines, stages and reserve points are computed anew from the pod.

use std::fmt;
use std::time::Duration;

use lifecycle::exit_order::stages::Role;
use lifecycle::grace::Asked;
use lifecycle::moment::Moment;
use lifecycle::termination::{
    CallId, Container, ContainerState, Input, Plan, Progress, Recovery, Request, Slot, Step, Termination, step,
};

use crate::generate::Faults;
use crate::runtime::{Life, Runtime};

/// The time a container always has between signal and SIGKILL.
const FLOOR: Duration = Duration::from_secs(2);

/// What every later rank keeps.
const RESERVE_MILLIS: i64 = 2_000;

/// With fair surroundings every end is over this long after its deadline: the floor, and a second for the calls.
const END_SLACK: Duration = Duration::from_secs(3);

/// After the last fault: slow answers and pauses between tries may still be under way.
const FAULT_SLACK: Duration = Duration::from_secs(40);

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is known of the end under way.
struct End {
    grace: i64,
    started_at: Moment,
    deadline: Moment,
    recovery: Recovery,
    /// Per container: when it was first asked to stop in this attempt.
    ordered_at: Vec<Option<Moment>>,
    /// Per container: the newest stop call, and the newest instance whose exit the machine was told of.
    newest_call: Vec<Option<CallId>>,
    told_gone: Vec<Option<u32>>,
    /// Per container: whether people were told that it ends.
    announced: Vec<bool>,
    hook_started: Vec<bool>,
    hook_not_again: Vec<bool>,
    object_released: bool,
}

/// How an end begins.
pub struct Began<'a> {
    pub request: &'a Request,
    /// What is resumed.
    pub from: Option<&'a Progress>,
    /// The object's deadline, where it is resumed for want of anything better.
    pub promised: Option<Moment>,
    pub recovery: Recovery,
    pub now: Moment,
}

/// The checker.
pub struct Check {
    containers: Vec<(Role, i32)>,
    names: Vec<String>,
    /// Ranks of regular containers, ascending, each once.
    ranks: Vec<i32>,
    faults: Faults,
    end: Option<End>,
    epoch: u64,
    /// Hooks that finished, and whether that was made durable.
    hooks_finished: Vec<bool>,
    hooks_saved: Vec<bool>,
    sandbox_stopped: bool,
    /// Finalizers that nobody has taken off the object yet.
    finalizers: usize,
    last_disturbance: Moment,
    violation: Option<Violation>,
}

impl Check {
    pub fn new(plan: &Plan, faults: &Faults, finalizers: usize) -> Check {
        let containers: Vec<(Role, i32)> =
            plan.slots().map(|s| (plan.container(s).role, plan.container(s).rank)).collect();
        let mut ranks: Vec<i32> =
            containers.iter().filter(|(role, _)| *role == Role::Regular).map(|(_, rank)| *rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let count = containers.len();
        Check {
            names: plan.slots().map(|slot| plan.container(slot).name.clone()).collect(),
            containers,
            ranks,
            faults: *faults,
            end: None,
            epoch: 0,
            hooks_finished: vec![false; count],
            hooks_saved: vec![false; count],
            sandbox_stopped: false,
            finalizers,
            last_disturbance: Moment::from_millis(0) + faults.until,
            violation: None,
        }
    }

    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    pub fn fail(&mut self, what: String) {
        self.violation.get_or_insert(Violation(what));
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(what());
        }
    }

    pub const fn sandbox_is_stopped(&self) -> bool {
        self.sandbox_stopped
    }

    pub fn began(&mut self, began: &Began<'_>) {
        let (now, asked) = (began.now, began.request.asked);
        let count = self.containers.len();
        let named = named_seconds(asked);
        let (grace, started_at, deadline) = match began.from {
            None => {
                let grace = named.unwrap_or_else(|| asked.spec_seconds.map_or(0, at_least_zero));
                let full = now + effective(grace);
                (grace, now, began.promised.map_or(full, |promised| full.min(promised.max(now))))
            }
            Some(saved) => {
                let before = i64::try_from(saved.grace.requested_seconds()).unwrap_or(i64::MAX);
                let grace = named.map_or(before, |named| named.min(before));
                (grace, saved.started_at, saved.deadline.min(saved.started_at + effective(grace)))
            }
        };
        let hook_not_again = if began.from.is_some() { self.hooks_saved.clone() } else { vec![false; count] };
        self.last_disturbance = self.last_disturbance.max(now);
        self.end = Some(End {
            grace,
            started_at,
            deadline,
            recovery: began.recovery,
            ordered_at: vec![None; count],
            newest_call: vec![None; count],
            told_gone: vec![None; count],
            announced: vec![false; count],
            hook_started: vec![false; count],
            hook_not_again,
            object_released: false,
        });
    }

    /// The agent died: what it knew is gone, what it did remains.
    pub fn agent_died(&mut self) {
        self.end = None;
        self.hooks_finished.clone_from(&self.hooks_saved);
    }

    /// The agent's progress was made durable.
    pub fn saved(&mut self) {
        self.hooks_saved.clone_from(&self.hooks_finished);
    }

    /// The machine is about to be told something.
    pub fn fed(&mut self, input: &Input, now: Moment) {
        match input {
            Input::Requested(request) => self.requested(request.asked, now),
            Input::HookFinished { slot, .. } => self.hooks_finished[slot.index()] = true,
            Input::RuntimeRestarted { epoch } => self.runtime_restarted(*epoch, now),
            Input::ObjectDeleted { .. } => self.end.iter_mut().for_each(|end| end.object_released = true),
            Input::ContainerExited { slot, attempt, .. } => {
                if let Some(end) = &mut self.end {
                    let told = &mut end.told_gone[slot.index()];
                    *told = (*told).max(Some(*attempt));
                }
            }
            Input::StopSucceeded { .. }
            | Input::StopFailed { .. }
            | Input::ContainersObserved { .. }
            | Input::ListFailed { .. }
            | Input::SandboxStopped { .. }
            | Input::SandboxStopFailed { .. }
            | Input::StatusPublished { .. }
            | Input::StatusPublishFailed { .. }
            | Input::VolumesTornDown { .. }
            | Input::VolumeTeardownFailed { .. }
            | Input::ObjectDeleteFailed { .. }
            | Input::ObjectVanished
            | Input::TimePassed => {}
        }
    }

    fn requested(&mut self, asked: Asked, now: Moment) {
        let Some(end) = &mut self.end else { return };
        if let Some(named) = named_seconds(asked)
            && named < end.grace
            && !self.sandbox_stopped
        {
            end.grace = named;
            end.deadline = end.deadline.min(now.max(end.started_at + effective(named)));
        }
    }

    fn runtime_restarted(&mut self, epoch: u64, now: Moment) {
        self.last_disturbance = self.last_disturbance.max(now);
        let news = epoch > self.epoch;
        self.epoch = self.epoch.max(epoch);
        let Some(end) = &mut self.end else { return };
        if news && end.recovery == Recovery::Anew && !self.sandbox_stopped {
            end.started_at = now;
            end.deadline = now + effective(end.grace);
            end.ordered_at.fill(None);
            end.announced.fill(false);
            end.hook_started.fill(false);
        }
    }

    pub fn start_issued(&mut self) {
        let ending = self.end.is_some();
        self.expect(!ending, || "a container is started although the pod is ending".into());
    }

    pub fn hook_started(&mut self, slot: Slot, runtime: &Runtime) {
        let name = self.names[slot.index()].clone();
        let Some(end) = &mut self.end else { return };
        let index = slot.index();
        let (grace, ordered) = (end.grace, end.ordered_at[index].is_some());
        let again = std::mem::replace(&mut end.hook_started[index], true);
        let forbidden = end.hook_not_again[index];
        // An instance that appeared later runs its own hook.
        let fresh = runtime.instances[index].late;
        self.expect(grace > 0, || format!("the hook of {name} runs although the grace period is zero"));
        self.expect(fresh || !ordered, || format!("the hook of {name} runs after its stop"));
        self.expect(fresh || !again, || format!("the hook of {name} runs twice"));
        self.expect(fresh || !forbidden, || format!("the finished hook of {name} is repeated after a restart"));
    }

    /// A container's own end begins: its hook or its stop follows.
    pub fn announced(&mut self, slot: Slot, runtime: &Runtime, now: Moment) {
        if self.containers[slot.index()].0 != Role::Sidecar && !runtime.instances[slot.index()].late {
            self.expect_turn(slot, runtime, now);
        }
        if let Some(end) = &mut self.end {
            end.announced[slot.index()] = true;
        }
    }

    pub fn stop_ordered(&mut self, slot: Slot, call: CallId, kill_at: Moment, runtime: &Runtime, now: Moment) {
        let name = self.names[slot.index()].clone();
        let late = runtime.instances[slot.index()].late;
        let Some(end) = &mut self.end else { return self.fail(format!("{name} is stopped without an end")) };
        end.newest_call[slot.index()] = Some(call);
        let (deadline, announced) = (end.deadline, end.announced[slot.index()]);
        let first = *end.ordered_at[slot.index()].get_or_insert(now);
        self.expect(kill_at >= deadline, || format!("{name} is to be killed at {kill_at:?}, before {deadline:?}"));
        let floor = first + FLOOR;
        self.expect(kill_at >= floor, || format!("{name} has less than the floor: {kill_at:?} < {floor:?}"));
        let latest = deadline.max(now + FLOOR);
        self.expect(kill_at <= latest, || format!("{name} is to be killed at {kill_at:?}, later than {latest:?}"));
        // A regular container that was announced has had its turn; a changed deadline does not take it back.
        let had_turn = self.containers[slot.index()].0 == Role::Regular && announced;
        if !late && !had_turn {
            self.expect_turn(slot, runtime, now);
        }
    }

    /// Everyone the container must wait for is gone, or it need not wait any more.
    fn expect_turn(&mut self, slot: Slot, runtime: &Runtime, now: Moment) {
        let Some(end) = &self.end else { return };
        if now >= end.deadline {
            return;
        }
        let (role, rank) = self.containers[slot.index()];
        let waits_for = |index: usize| {
            let (other_role, other_rank) = self.containers[index];
            match (role, other_role) {
                (Role::Regular, Role::Regular) => other_rank < rank,
                (Role::Sidecar, Role::Regular) => true,
                (Role::Sidecar, Role::Sidecar) => index > slot.index(),
                _ => false,
            }
        };
        let running = |index: &usize| {
            let instance = &runtime.instances[*index];
            instance.life == Life::Running && !instance.late
        };
        let blocker = (0..self.containers.len()).filter(|index| waits_for(*index)).find(running);
        let Some(blocker) = blocker else { return };
        let reserved = role == Role::Regular && self.reserve_point(rank).is_some_and(|point| now >= point);
        let (name, other) = (self.names[slot.index()].clone(), self.names[blocker].clone());
        self.expect(reserved, || format!("{name} is let go although {other} runs"));
    }

    /// When the ranks before `rank` must have made room for it.
    fn reserve_point(&self, rank: i32) -> Option<Moment> {
        let end = self.end.as_ref()?;
        let place = self.ranks.iter().position(|known| *known == rank)?;
        let (ranks, grace) =
            (i64::try_from(self.ranks.len()).ok()?, i64::try_from(effective(end.grace).as_millis()).ok()?);
        let share = if grace >= ranks * RESERVE_MILLIS { RESERVE_MILLIS } else { grace / ranks / 100 * 100 };
        let later = ranks - i64::try_from(place).ok()?;
        Some(Moment::from_millis(end.deadline.millis() - later * share))
    }

    pub fn sandbox_stopped(&mut self, runtime: &Runtime) {
        self.sandbox_stopped = true;
        let known = |instance: &crate::runtime::Instance| instance.life == Life::Running && !instance.late;
        let running = runtime.instances.iter().position(known);
        if let Some(index) = running {
            let name = self.names[index].clone();
            self.fail(format!("the sandbox is stopped although {name} runs"));
        }
    }

    pub fn object_deleted(&mut self, runtime: &Runtime, status_published: bool) {
        let released = self.end.as_ref().is_some_and(|end| end.object_released);
        self.expect(!runtime.anything_runs(), || "the object is let go although a container runs".into());
        self.expect(status_published, || "the object is let go before its final status was published".into());
        self.expect(!released, || "the object is let go twice".into());
    }

    /// One finalizer was taken off the object, if it was still there.
    pub fn finalizer_removed(&mut self) {
        self.finalizers = self.finalizers.saturating_sub(1);
    }

    /// Whether finalizers keep the object.
    pub const fn is_held(&self) -> bool {
        self.finalizers > 0
    }

    /// The object changed; a finalizer keeps it whatever is asked.
    pub fn object_removed(&mut self) {
        let held = self.is_held();
        self.expect(!held, || "the object is gone although a finalizer holds it".into());
    }

    /// Whether an input answers a stop call that was replaced by a newer one.
    pub fn is_stale(&self, input: &Input) -> bool {
        match (input, &self.end) {
            (Input::StopSucceeded { slot, call } | Input::StopFailed { slot, call, .. }, Some(end)) => {
                end.newest_call[slot.index()].is_some_and(|newest| newest != *call)
            }
            _ => false,
        }
    }

    /// The answer to a replaced call must be the same as no answer.
    pub fn stale_is_nothing(&mut self, state: &Termination, after: &Step, now: Moment) {
        let nothing = step(state.clone(), Input::TimePassed, now);
        self.expect(nothing == *after, || "the answer to a replaced call changed something".into());
    }

    /// Taking the same input again must change nothing and ask for nothing.
    pub fn twice_is_once(&mut self, once: &Step, input: &Input, now: Moment) {
        let again = step(once.state.clone(), input.clone(), now);
        let same = again.state == once.state && again.effects.is_empty() && again.wake_at == once.wake_at;
        self.expect(same, || format!("taking an input twice is not taking it once: {input:?}"));
    }

    pub fn after_step(&mut self, state: &Termination, runtime: &Runtime, now: Moment) {
        let Some(end) = &self.end else { return };
        let (deadline, expected) = (state.known().deadline, end.deadline);
        if !self.sandbox_stopped {
            self.expect(deadline == expected, || format!("the deadline is {deadline:?} instead of {expected:?}"));
        }
        if let Termination::Stopping(stopping) = state {
            for slot in stopping.known().plan.slots() {
                self.expect_exit_noticed(slot, &stopping.known().containers[slot.index()]);
                self.expect_let_go_in_time(slot, runtime, now);
                let ContainerState::Stopping { since, kill_at, .. } = stopping.known().containers[slot.index()].state
                else {
                    continue;
                };
                let latest = expected.max(since + FLOOR);
                if kill_at > latest {
                    let name = &self.names[slot.index()];
                    self.fail(format!("{name} did not get the shorter time: {kill_at:?} > {latest:?}"));
                }
            }
        }
    }

    /// A container whose exit was told is gone.
    fn expect_exit_noticed(&mut self, slot: Slot, container: &Container) {
        let told = self.end.as_ref().and_then(|end| end.told_gone[slot.index()]);
        let gone = container.state == ContainerState::Gone || container.attempt > told;
        let name = &self.names[slot.index()];
        if told.is_some() && !gone {
            let what = format!("the exit of {name} was told, but not noticed");
            self.fail(what);
        }
    }

    /// At its reserve point, and at the deadline at the latest, a container is no longer made to wait.
    fn expect_let_go_in_time(&mut self, slot: Slot, runtime: &Runtime, now: Moment) {
        let index = slot.index();
        let instance = &runtime.instances[index];
        if instance.life != Life::Running || instance.late {
            return;
        }
        let Some(end) = &self.end else { return };
        let touched = end.announced[index] || end.ordered_at[index].is_some();
        let (role, rank) = self.containers[index];
        let point = if role == Role::Regular { self.reserve_point(rank) } else { None };
        let latest = point.unwrap_or(end.deadline).min(end.deadline);
        let name = &self.names[index];
        if now >= latest && !touched {
            let what = format!("{name} is still made to wait at {now:?}, after {latest:?}");
            self.fail(what);
        }
    }

    pub fn ended(&mut self, runtime: &Runtime, now: Moment) {
        let Some(end) = &self.end else { return };
        let calm = if self.faults.any() { self.last_disturbance + FAULT_SLACK } else { end.started_at };
        // An instance that appeared while the others were ending has its own floor once it is found.
        let found_late = runtime.instances.iter().any(|instance| instance.late);
        let slack = if found_late { END_SLACK * 2 } else { END_SLACK };
        let latest = (end.deadline + slack).max(calm);
        let faulty = end.deadline + FAULT_SLACK;
        let latest = if self.faults.any() { latest.max(faulty) } else { latest };
        self.expect(now <= latest, || format!("the end took until {now:?}, later than {latest:?}"));
    }
}

/// The shortest grace period that a request names.
fn named_seconds(asked: Asked) -> Option<i64> {
    [asked.deletion_seconds, asked.override_seconds].into_iter().flatten().map(at_least_zero).min()
}

const fn at_least_zero(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

fn effective(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds.max(1)).unwrap_or(1))
}
