//! One simulated node: what happens next, and who is told.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use lifecycle::grace::Asked;
use lifecycle::moment::Moment;
use lifecycle::stop::StopInput;
use lifecycle::termination::{CallId, CauseKind, Exit, Input, Plan, PlanSettings, Recovery, Request, Slot};

use crate::agent::{Agent, spec_grace};
use crate::check::Check;
use crate::dice::Dice;
use crate::generate::{Caller, Faults, Process, Scenario};
use crate::object::{Deleted, Object};
use crate::runtime::Runtime;
use crate::{Failure, Summary, Trace};

/// More happenings than this mean that something goes in circles.
const MOST_HAPPENINGS: u64 = 20_000;

/// Something that happens at a certain moment.
#[derive(Clone, Debug)]
pub enum What {
    Calls(Caller),
    AgentHears,
    Tell { incarnation: u32, input: Box<Input> },
    Wake { incarnation: u32 },
    AgentStarts,
    StartLands { slot: Slot, attempt: u32 },
    Leaves { slot: Slot, attempt: u32, exit: Exit },
    KillDue { slot: Slot },
    HookEnds { slot: Slot, call: CallId, fails: bool },
    RuntimeRestarts,
    RuntimeUp,
    Relist,
}

/// Everything there is.
pub struct World {
    pub now: Moment,
    pub dice: Dice,
    pub plan: Plan,
    pub recovery: Recovery,
    pub processes: Vec<Process>,
    pub faults: Faults,
    pub object: Object,
    pub runtime: Runtime,
    pub agent: Agent,
    pub check: Check,
    pub summary: Summary,
    pub finished_at: Option<Moment>,
    queue: BinaryHeap<Scheduled>,
    scheduled: u64,
    trace: Option<Vec<String>>,
}

/// Runs a seed.
pub fn run(seed: u64, trace: Trace) -> Result<Summary, Box<Failure>> {
    let mut world = World::new(seed, trace);
    world.run();
    world.outcome(seed)
}

/// Runs a seed and keeps its trace, whatever comes of it.
pub fn run_traced(seed: u64) -> (Vec<String>, Result<Summary, Box<Failure>>) {
    let mut world = World::new(seed, Trace::On);
    world.run();
    (world.trace.clone().unwrap_or_default(), world.outcome(seed))
}

impl World {
    fn new(seed: u64, trace: Trace) -> World {
        let mut dice = Dice::new(seed);
        let scenario = Scenario::new(&mut dice);
        let plan = Plan::of_pod(&scenario.pod, PlanSettings::default());
        let finalizers = scenario.pod.metadata.finalizers.as_ref().map_or(0, Vec::len);
        let mut world = World {
            now: Moment::from_millis(0),
            dice,
            object: Object::new(scenario.pod),
            runtime: Runtime::new(scenario.processes.len()),
            agent: Agent::new(&scenario.faults.agent_dies_after),
            check: Check::new(&plan, &scenario.faults, finalizers),
            plan,
            recovery: scenario.recovery,
            processes: scenario.processes,
            faults: scenario.faults,
            summary: Summary::default(),
            finished_at: None,
            queue: BinaryHeap::new(),
            scheduled: 0,
            trace: (trace == Trace::On).then(Vec::new),
        };
        world.describe();
        world.set_out(&scenario.callers);
        world
    }

    fn set_out(&mut self, callers: &[(Duration, Caller)]) {
        for index in 0..self.processes.len() {
            if self.processes[index].runs_at_start {
                self.start_process(Slot::new(index), 0);
            }
        }
        for (at, caller) in callers {
            self.after(*at, What::Calls(*caller));
        }
        for at in self.faults.runtime_restarts.into_iter().flatten() {
            self.after(at, What::RuntimeRestarts);
        }
        if self.faults.any() {
            for _ in 0..3 {
                let at = self.dice.span(Duration::from_secs(90));
                self.after(at, What::Relist);
            }
        }
    }

    fn run(&mut self) {
        let mut happenings = 0;
        while let Some(next) = self.queue.pop() {
            self.now = self.now.max(next.at);
            self.happens(next.what);
            happenings += 1;
            if happenings > MOST_HAPPENINGS {
                self.check.fail(format!("no rest after {MOST_HAPPENINGS} happenings"));
            }
            if self.check.violation().is_some() {
                return;
            }
        }
        let begun = self.agent.state.as_ref();
        if begun.is_none_or(|state| !state.is_finished()) {
            self.check.fail("nothing more happens, but the pod has not ended".to_owned());
        }
        if self.runtime.anything_runs() {
            self.check.fail("the pod has ended, but a container runs".to_owned());
        }
        if self.object.is_marked() && self.object.exists() && !self.check.is_held() {
            self.check.fail("the pod has ended, but its deleted object is still there".to_owned());
        }
    }

    fn outcome(self, seed: u64) -> Result<Summary, Box<Failure>> {
        match self.check.violation() {
            None => Ok(self.summary),
            Some(violation) => {
                let trace = self.trace.unwrap_or_default();
                Err(Box::new(Failure { seed, violation: violation.clone(), trace }))
            }
        }
    }

    fn happens(&mut self, what: What) {
        match what {
            What::Calls(caller) => self.caller_acts(caller),
            What::AgentHears => self.agent_watches(),
            What::Tell { incarnation, input } if incarnation == self.agent.incarnation => self.feed(*input),
            What::Wake { incarnation } if incarnation == self.agent.incarnation && self.agent.state.is_some() => {
                self.feed(Input::TimePassed);
            }
            What::Tell { .. } | What::Wake { .. } => {}
            What::AgentStarts => self.agent_starts(),
            What::StartLands { slot, attempt } => {
                if self.runtime.up && !self.runtime.runs(slot) && !self.sandbox_stopped() {
                    self.start_process(slot, attempt);
                }
            }
            What::Leaves { slot, attempt, exit } => self.process_left(slot, attempt, &exit),
            What::KillDue { slot } => self.step_stop(slot, StopInput::TimePassed),
            What::HookEnds { slot, call, fails } => self.hook_ends(slot, call, fails),
            What::RuntimeRestarts => self.runtime_goes_down(),
            What::RuntimeUp => self.runtime_comes_up(),
            What::Relist => {
                if self.runtime.up {
                    let observations = self.runtime.list();
                    self.answer(self.agent.incarnation, Input::ContainersObserved { call: None, observations });
                }
            }
        }
    }

    /// A runtime starts nothing in a sandbox that it has stopped.
    fn sandbox_stopped(&self) -> bool {
        self.check.sandbox_is_stopped()
    }

    fn caller_acts(&mut self, caller: Caller) {
        self.note(|| format!("caller: {caller:?}"));
        match caller {
            Caller::Delete(grace) => {
                let deleted = self.object.delete(grace, self.now);
                self.object_changed(deleted);
            }
            Caller::RemoveFinalizer => {
                let removed = self.object.remove_finalizer();
                self.check.finalizer_removed();
                self.object_changed(removed);
            }
            Caller::Evict(seconds) => self.node_asks(CauseKind::Evict, seconds),
            Caller::ShutDown(seconds) => self.node_asks(CauseKind::NodeShutdown, seconds),
        }
    }

    /// Whoever watches the object hears of it, some time later.
    pub fn object_changed(&mut self, what: Deleted) {
        match what {
            Deleted::NotFound | Deleted::Unchanged => {}
            Deleted::Marked | Deleted::Removed => {
                if what == Deleted::Removed {
                    self.check.object_removed();
                }
                let delay = self.latency();
                self.after(delay, What::AgentHears);
            }
        }
    }

    fn node_asks(&mut self, kind: CauseKind, seconds: i64) {
        let asked = Asked { override_seconds: Some(seconds), ..spec_grace(self.object.latest()) };
        self.agent_asked(Request::new(kind, asked));
    }

    /// Whether something of this likelihood goes wrong now.
    pub fn fault(&mut self, percent: u64) -> bool {
        let in_time = self.now < Moment::from_millis(0) + self.faults.until;
        in_time && percent > 0 && self.dice.percent(percent)
    }

    /// How long an answer takes.
    pub fn latency(&mut self) -> Duration {
        if self.fault(self.faults.slow_percent) {
            return self.dice.span(Duration::from_secs(8));
        }
        Duration::from_millis(self.dice.below(20))
    }

    /// Tells an incarnation of the agent something, after a while.
    pub fn answer(&mut self, incarnation: u32, input: Input) {
        let delay = self.latency();
        self.after(delay, What::Tell { incarnation, input: Box::new(input) });
    }

    /// Answers a call with success unless it fails; true if it did not.
    pub fn answer_or(&mut self, failed: Input, succeeded: Input) -> bool {
        let fails = self.fault(self.faults.call_fails_percent);
        self.summary.failed_calls += u64::from(fails);
        self.answer(self.agent.incarnation, if fails { failed } else { succeeded });
        !fails
    }

    pub fn after(&mut self, delay: Duration, what: What) {
        self.at(self.now + delay, what);
    }

    pub fn at(&mut self, at: Moment, what: What) {
        self.scheduled += 1;
        self.queue.push(Scheduled { at, order: self.scheduled, what });
    }

    /// Writes down a line, if anybody reads it.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>8} ms  {}", self.now.millis(), line()));
        }
    }

    fn describe(&mut self) {
        let Some(trace) = &mut self.trace else { return };
        for (slot, process) in self.plan.slots().zip(&self.processes) {
            let c = self.plan.container(slot);
            trace.push(format!("{slot:?} {} {:?} rank {} {:?} {process:?}", c.name, c.role, c.rank, c.hook));
        }
        let grace = self.object.latest().spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        trace.push(format!("grace {grace:?} recovery {:?} {:?}", self.recovery, self.faults));
    }
}

struct Scheduled {
    at: Moment,
    order: u64,
    what: What,
}

impl Ord for Scheduled {
    /// The earliest is the greatest: a heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}
