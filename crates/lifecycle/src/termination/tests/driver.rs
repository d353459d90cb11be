//! Drives the machine by hand: a pod of invented containers, a clock, and a log of what the machine asked for.

use std::time::Duration;

use model::signal::Signal;

use crate::exit_order::stages::{Reserve, Role};
use crate::grace::Asked;
use crate::hook::Hook;
use crate::moment::Moment;
use crate::stop::{SignalOrigin, StopSignal};
use crate::termination::{
    CallId, CauseKind, Effect, Event, Exit, Input, Observation, Observed, Plan, PlannedContainer, Probes, Recovery,
    Request, Scope, Slot, Step, Termination, begin, step,
};

pub fn container(name: &str, role: Role) -> PlannedContainer {
    let signal = StopSignal { signal: Signal::TERM, origin: SignalOrigin::Default };
    PlannedContainer { name: name.into(), role, rank: 0, hook: None, signal }
}

pub fn regular(name: &str) -> PlannedContainer {
    container(name, Role::Regular)
}

pub fn sidecar(name: &str) -> PlannedContainer {
    container(name, Role::Sidecar)
}

impl PlannedContainer {
    pub fn ranked(mut self, rank: i32) -> Self {
        self.rank = rank;
        self
    }

    pub fn sleeping(mut self, seconds: u64) -> Self {
        self.hook = Some(Hook::Sleep { seconds });
        self
    }

    pub fn exec(mut self) -> Self {
        self.hook = Some(Hook::Exec { command: vec!["/drain".into()] });
        self
    }

    pub fn hooked(mut self, hook: Hook) -> Self {
        self.hook = Some(hook);
        self
    }
}

pub fn grace(seconds: i64) -> Asked {
    Asked { spec_seconds: Some(seconds), ..Asked::default() }
}

pub fn deletion(seconds: i64) -> Asked {
    Asked { deletion_seconds: Some(seconds), ..Asked::default() }
}

/// A pod that is ending. Times are milliseconds since the end began.
pub struct Driver {
    pub state: Option<Termination>,
    pub now: i64,
    pub wake_at: Option<Moment>,
    /// Everything asked for since the last look, as short words.
    log: Vec<String>,
    /// The same, with what most tests do not look at: progress, probes, and the events of an undisturbed end.
    trace: Vec<String>,
    calls: Vec<(CallId, &'static str, Option<Slot>)>,
}

impl Driver {
    pub fn plan(containers: Vec<PlannedContainer>) -> Plan {
        Plan::new(Scope::WholePod, containers, Reserve::default())
    }

    pub fn running(plan: &Plan) -> Vec<Observation> {
        plan.slots().map(|slot| Observation { slot, attempt: 0, state: Observed::Running }).collect()
    }

    /// All containers run; a delete with this grace period arrives.
    pub fn delete(containers: Vec<PlannedContainer>, seconds: i64) -> Driver {
        Driver::request(containers, Request::delete(grace(seconds)))
    }

    pub fn request(containers: Vec<PlannedContainer>, request: Request) -> Driver {
        let plan = Driver::plan(containers);
        let observed = Driver::running(&plan);
        Driver::begin(plan, request, &observed, Recovery::Anew)
    }

    pub fn begin(plan: Plan, request: Request, observed: &[Observation], recovery: Recovery) -> Driver {
        Driver::from_step(begin(plan, request, observed, recovery, Moment::from_millis(0)), 0)
    }

    pub fn from_step(step: Step, now: i64) -> Driver {
        let mut driver = Driver { state: None, now, wake_at: None, log: vec![], trace: vec![], calls: vec![] };
        driver.take(step);
        driver
    }

    fn take(&mut self, step: Step) {
        for effect in &step.effects {
            self.note(effect, &step.state);
        }
        self.wake_at = step.wake_at;
        self.state = Some(step.state);
    }

    fn note(&mut self, effect: &Effect, state: &Termination) {
        let name = |slot: &Slot| state.known().plan.container(*slot).name.clone();
        let (word, call) = match effect {
            Effect::RunHook { call, slot, .. } => (format!("hook {}", name(slot)), Some((*call, "hook", Some(*slot)))),
            Effect::StopContainer { call, slot, kill_at, .. } => {
                (format!("stop {} kill@{}", name(slot), kill_at.millis()), Some((*call, "stop", Some(*slot))))
            }
            Effect::ListContainers { call } => ("list".into(), Some((*call, "list", None))),
            Effect::StopSandbox { call } => ("stop sandbox".into(), Some((*call, "sandbox", None))),
            Effect::PublishStatus { call } => ("publish".into(), Some((*call, "publish", None))),
            Effect::TearDownVolumes { call } => ("volumes".into(), Some((*call, "volumes", None))),
            Effect::DeleteObject { call } => ("delete object".into(), Some((*call, "delete", None))),
            Effect::Emit(Event::PreStopHookFailed { slot, .. }) => (format!("event hook failed {}", name(slot)), None),
            Effect::Emit(Event::KillPodFailed { .. }) => ("event kill failed".into(), None),
            Effect::Emit(Event::ExitGateTimedOut { slot, .. }) => {
                (format!("event gate timed out {}", name(slot)), None)
            }
            Effect::Emit(Event::Killing { slot }) => return self.trace.push(format!("event killing {}", name(slot))),
            Effect::SaveProgress => return self.trace.push("save".into()),
            Effect::StopProbes(Probes::LivenessAndStartup) => return self.trace.push("end restarting probes".into()),
            Effect::StopProbes(Probes::All) => return self.trace.push("end all probes".into()),
            Effect::Emit(Event::ExitGateWaiting { .. } | Event::ExitGateOpened { .. }) => return,
        };
        self.calls.extend(call);
        self.trace.push(word.clone());
        self.log.push(word);
    }

    /// All that was done since the last look at all of it.
    pub fn trace(&mut self) -> Vec<String> {
        std::mem::take(&mut self.trace)
    }

    /// What was asked for since the last look.
    pub fn asked(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    pub fn feed(&mut self, input: Input) {
        let state = self.state.take().expect("a state between steps");
        self.take(step(state, input, Moment::from_millis(self.now)));
    }

    /// Lets time pass to `millis`, waking the machine whenever it wants to be woken on the way.
    pub fn until(&mut self, millis: i64) {
        while let Some(wake) = self.wake_at.filter(|wake| wake.millis() <= millis) {
            self.now = self.now.max(wake.millis());
            self.feed(Input::TimePassed);
        }
        self.now = millis;
        self.feed(Input::TimePassed);
    }

    pub fn slot(&self, name: &str) -> Slot {
        self.state().known().plan.find(name).expect("a container of that name")
    }

    pub fn state(&self) -> &Termination {
        self.state.as_ref().expect("a state between steps")
    }

    /// The newest call of a kind, for a container where there is one.
    pub fn call(&self, kind: &str, name: Option<&str>) -> CallId {
        let slot = name.map(|name| self.slot(name));
        let found = self.calls.iter().rfind(|(_, k, s)| *k == kind && *s == slot);
        found.unwrap_or_else(|| panic!("no {kind} call for {name:?}")).0
    }

    pub fn exit(&mut self, name: &str, code: i32) {
        let exit = Exit::with_code(code, Moment::from_millis(self.now));
        self.feed(Input::ContainerExited { slot: self.slot(name), attempt: 0, exit });
    }

    pub fn hook_ends(&mut self, name: &str, outcome: Result<(), &str>) {
        let (slot, call) = (self.slot(name), self.call("hook", Some(name)));
        self.feed(Input::HookFinished { slot, call, outcome: outcome.map_err(str::to_owned) });
    }

    pub fn stop_fails(&mut self, name: &str) {
        let (slot, call) = (self.slot(name), self.call("stop", Some(name)));
        self.feed(Input::StopFailed { slot, call, error: "boom".into() });
    }

    pub fn stop_succeeds(&mut self, name: &str) {
        let (slot, call) = (self.slot(name), self.call("stop", Some(name)));
        self.feed(Input::StopSucceeded { slot, call });
    }

    pub fn listed(&mut self, observations: Vec<Observation>) {
        let call = Some(self.call("list", None));
        self.feed(Input::ContainersObserved { call, observations });
    }

    pub fn shorten(&mut self, seconds: i64) {
        self.feed(Input::Requested(Request::delete(deletion(seconds))));
    }

    /// Answers every closing call with success and returns what was asked for on the way.
    pub fn close(&mut self) -> Vec<String> {
        self.feed(Input::SandboxStopped { call: self.call("sandbox", None) });
        self.listed(vec![]);
        for kind in ["publish", "volumes", "delete"] {
            if !self.calls.iter().any(|(_, k, _)| *k == kind) {
                continue;
            }
            let call = self.call(kind, None);
            self.feed(match kind {
                "publish" => Input::StatusPublished { call },
                "volumes" => Input::VolumesTornDown { call },
                _ => Input::ObjectDeleted { call },
            });
        }
        self.asked()
    }

    pub fn deadline(&self) -> i64 {
        self.state().known().deadline.millis()
    }
}

pub fn cause(kind: CauseKind, seconds: u64) -> Request {
    let override_seconds = i64::try_from(Duration::from_secs(seconds).as_secs()).ok();
    Request::new(kind, Asked { override_seconds, ..grace(30) })
}
