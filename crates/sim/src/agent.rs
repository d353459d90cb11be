//! The thinnest possible agent: turns the world into inputs and effects into calls, and decides nothing.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use lifecycle::exit_order::stages::Role;
use lifecycle::grace::Asked;
use lifecycle::moment::Moment;
use lifecycle::restart::{AfterExit, PodLife, after_exit};
use lifecycle::termination::{
    Cause, CauseKind, Effect, Event, Input, ObjectIntent, Observation, Observed, Progress, Recovery, Request, Slot,
    Step, Termination, begin, resume, resume_until, step,
};

use crate::check::Began;
use crate::object::Deleted;
use crate::world::{What, World};

/// One agent after another.
pub struct Agent {
    pub alive: bool,
    pub incarnation: u32,
    pub state: Option<Termination>,
    /// What survives its death.
    pub disk: Option<Progress>,
    effects_done: u64,
    deaths_due: Vec<u64>,
}

impl Agent {
    pub fn new(deaths: &[Option<u64>]) -> Agent {
        let mut deaths_due: Vec<u64> = deaths.iter().flatten().copied().collect();
        deaths_due.sort_unstable();
        deaths_due.reverse();
        Agent { alive: true, incarnation: 1, state: None, disk: None, effects_done: 0, deaths_due }
    }
}

impl World {
    /// The newest version of the object reaches the agent.
    pub fn agent_watches(&mut self) {
        if !self.agent.alive {
            return;
        }
        if self.object.is_marked() {
            self.agent_asked(delete_request(self.object.latest()));
        }
        if !self.object.exists() {
            self.feed(Input::ObjectVanished);
        }
    }

    /// Somebody, by way of the object or on the node itself, wants the pod gone.
    pub fn agent_asked(&mut self, request: Request) {
        if !self.agent.alive {
            return;
        }
        if self.agent.state.is_some() {
            return self.feed(Input::Requested(request));
        }
        let observed = self.agent_cache();
        let (recovery, now) = (self.recovery, self.now);
        self.check.began(&Began { request: &request, from: None, promised: None, recovery, now });
        let step = begin(self.plan.clone(), request, &observed, recovery, now);
        self.summary.steps += 1;
        self.take(step);
    }

    /// What the agent believes to run; where events get lost, that is more than really runs.
    fn agent_cache(&mut self) -> Vec<Observation> {
        let mut observed = self.runtime.list();
        for seen in &mut observed {
            let stale = matches!(seen.state, Observed::Exited(_)) && self.fault(self.faults.event_lost_percent);
            if stale {
                seen.state = Observed::Running;
            }
        }
        observed
    }

    pub fn agent_starts(&mut self) {
        if !self.runtime.up {
            return self.after(Duration::from_millis(500), What::AgentStarts);
        }
        self.agent.alive = true;
        self.agent.incarnation += 1;
        let incarnation = self.agent.incarnation;
        self.note(|| format!("agent: incarnation {incarnation} starts"));
        match self.agent.disk.take() {
            Some(saved) => self.agent_recovers(&saved),
            None if self.object.is_marked() => self.agent_finds_marked(),
            None => {}
        }
        if !self.object.exists() {
            self.feed(Input::ObjectVanished);
        }
    }

    fn agent_recovers(&mut self, saved: &Progress) {
        let pod = self.object.latest();
        let request = if self.object.is_marked() {
            delete_request(pod)
        } else {
            let override_seconds = i64::try_from(saved.grace.requested_seconds()).ok();
            let asked = Asked { override_seconds, ..spec_grace(pod) };
            Request { cause: saved.causes[0].clone(), ..Request::new(CauseKind::Delete, asked) }
        };
        let observed = self.runtime.list();
        let (recovery, now) = (self.recovery, self.now);
        let from = (recovery == Recovery::Resume).then_some(saved);
        self.check.began(&Began { request: &request, from, promised: None, recovery, now });
        let step = match recovery {
            Recovery::Resume => resume(saved, request, &observed, now),
            Recovery::Anew => begin(saved.plan.clone(), request, &observed, Recovery::Anew, now),
        };
        self.summary.steps += 1;
        self.take(step);
    }

    /// A pod marked for deletion of whose end nothing was kept.
    fn agent_finds_marked(&mut self) {
        let pod = self.object.latest();
        let deadline = pod.metadata.deletion_timestamp.as_ref().map(|at| Moment::from_millis(at.0.as_millisecond()));
        let (Recovery::Resume, Some(deadline)) = (self.recovery, deadline) else {
            return self.agent_asked(delete_request(pod));
        };
        let (request, now) = (delete_request(pod), self.now);
        let observed = self.runtime.list();
        let promised = Some(deadline);
        self.check.began(&Began { request: &request, from: None, promised, recovery: Recovery::Resume, now });
        self.summary.steps += 1;
        self.take(resume_until(self.plan.clone(), request, deadline, &observed, now));
    }

    /// One fact for the machine.
    pub fn feed(&mut self, input: Input) {
        if !self.agent.alive {
            return;
        }
        let Some(state) = self.agent.state.take() else {
            return self.living(input);
        };
        self.note(|| format!("agent < {input:?}"));
        self.check.fed(&input, self.now);
        self.summary.steps += 1;
        let twice = self.dice.percent(25).then(|| input.clone());
        let stale = self.check.is_stale(&input).then(|| state.clone());
        let next = step(state, input, self.now);
        if let Some(before) = stale {
            self.check.stale_is_nothing(&before, &next, self.now);
        }
        if let Some(input) = twice {
            self.check.twice_is_once(&next, &input, self.now);
        }
        self.take(next);
    }

    fn take(&mut self, step: Step) {
        let finished_before = self.finished_at.is_some();
        self.agent.state = Some(step.state);
        if let Some(at) = step.wake_at {
            self.at(at, What::Wake { incarnation: self.agent.incarnation });
        }
        for effect in &step.effects {
            self.carry_out(effect);
            if !self.agent.alive {
                return;
            }
        }
        let Some(state) = &self.agent.state else { return };
        self.check.after_step(state, &self.runtime, self.now);
        if state.is_finished() && !finished_before {
            self.finished_at = Some(self.now);
            self.summary.terminations += 1;
            self.check.ended(&self.runtime, self.now);
        }
    }

    fn carry_out(&mut self, effect: &Effect) {
        self.note(|| format!("agent > {effect:?}"));
        match *effect {
            Effect::SaveProgress => {
                self.agent.disk = self.agent.state.as_ref().map(Termination::progress);
                self.check.saved();
            }
            Effect::RunHook { call, slot, .. } => {
                self.check.hook_started(slot, &self.runtime);
                self.hook_call(slot, call);
            }
            Effect::StopContainer { call, slot, signal, kill_at } => {
                self.check.stop_ordered(slot, call, kill_at, &self.runtime, self.now);
                self.stop_call(slot, call, signal.signal, kill_at);
            }
            Effect::ListContainers { call } => self.list_call(call),
            Effect::StopSandbox { call } => {
                self.check.sandbox_stopped(&self.runtime);
                self.sandbox_call(call);
            }
            Effect::PublishStatus { call } => self.publish(call),
            Effect::TearDownVolumes { call } => {
                let failed = Input::VolumeTeardownFailed { call, error: "busy".into() };
                self.answer_or(failed, Input::VolumesTornDown { call });
            }
            Effect::DeleteObject { call } => self.delete_object(call),
            Effect::Emit(Event::Killing { slot }) => self.check.announced(slot, &self.runtime, self.now),
            Effect::StopProbes(_) | Effect::Emit(_) => {}
        }
        self.agent.effects_done += 1;
        if self.agent.deaths_due.last().is_some_and(|due| *due <= self.agent.effects_done) {
            self.agent.deaths_due.pop();
            self.agent_dies();
        }
    }

    fn agent_dies(&mut self) {
        self.note(|| "agent: killed".into());
        self.summary.agent_deaths += 1;
        self.agent.alive = false;
        self.agent.state = None;
        self.agent.effects_done = 0;
        self.check.agent_died();
        let down = self.dice.span(Duration::from_secs(20));
        self.after(down, What::AgentStarts);
    }

    fn publish(&mut self, call: lifecycle::termination::CallId) {
        let failed = Input::StatusPublishFailed { call, error: "conflict".into() };
        if !self.object.exists() {
            return self.answer(self.agent.incarnation, Input::ObjectVanished);
        }
        if self.answer_or(failed, Input::StatusPublished { call }) {
            self.object.status_published = true;
        }
    }

    fn delete_object(&mut self, call: lifecycle::termination::CallId) {
        self.check.object_deleted(&self.runtime, self.object.status_published);
        if self.fault(self.faults.call_fails_percent) {
            self.summary.failed_calls += 1;
            let error = "unavailable".to_owned();
            return self.answer(self.agent.incarnation, Input::ObjectDeleteFailed { call, error });
        }
        let deleted = self.object.delete(Some(0), self.now);
        self.object_changed(deleted);
        let answer = match deleted {
            Deleted::NotFound => Input::ObjectVanished,
            Deleted::Unchanged | Deleted::Marked | Deleted::Removed => Input::ObjectDeleted { call },
        };
        self.answer(self.agent.incarnation, answer);
    }

    /// Before anybody wants the pod gone: containers that exit are started again, or the pod is complete.
    fn living(&mut self, input: Input) {
        let Input::ContainerExited { slot, attempt, exit } = input else { return };
        let pod = self.object.latest();
        let Some(spec) = &pod.spec else { return };
        let Some(container) = find(pod, &self.plan.container(slot).name) else { return };
        match after_exit(container, spec, exit.code, PodLife::Living) {
            AfterExit::Restart | AfterExit::RestartAll => {
                self.check.start_issued();
                let lands = self.latency() * 20;
                self.after(lands, What::StartLands { slot, attempt: attempt + 1 });
            }
            AfterExit::StayDown => {
                let regular = |slot: &Slot| self.plan.container(*slot).role == Role::Regular;
                let over = self.plan.slots().filter(regular).all(|slot| !self.runtime.runs(slot));
                if over {
                    self.agent_asked(Request::new(CauseKind::Completed, spec_grace(pod)));
                }
            }
        }
    }
}

fn find<'a>(pod: &'a Pod, name: &str) -> Option<&'a Container> {
    let spec = pod.spec.as_ref()?;
    spec.init_containers.iter().flatten().chain(&spec.containers).find(|container| container.name == name)
}

/// The grace period that the pod's spec gives.
pub fn spec_grace(pod: &Pod) -> Asked {
    let spec_seconds = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    Asked { spec_seconds, ..Asked::default() }
}

fn delete_request(pod: &Pod) -> Request {
    let asked = Asked { deletion_seconds: pod.metadata.deletion_grace_period_seconds, ..spec_grace(pod) };
    Request { cause: Cause::new(CauseKind::Delete), asked, object: ObjectIntent::Delete }
}
