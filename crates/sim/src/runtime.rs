//! An invented container runtime: real stop rules, invented processes, faults on demand.

use std::time::Duration;

use lifecycle::moment::Moment;
use lifecycle::stop::{Stop, StopEffect, StopInput};
use lifecycle::termination::{CallId, Exit, Input, Observation, Observed, Slot};
use model::signal::Signal;

use crate::generate::{HookRun, Reaction};
use crate::world::{What, World};

/// The state of the runtime.
pub struct Runtime {
    pub up: bool,
    pub epoch: u64,
    pub instances: Vec<Instance>,
}

/// One container, in its newest instance.
pub struct Instance {
    pub attempt: u32,
    pub life: Life,
    stop: Stop,
    signalled: bool,
    /// Started after the pod's end had begun: a call that was already under way.
    pub late: bool,
    stop_calls: Vec<Call>,
    hook_calls: Vec<Call>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    NeverStarted,
    Running,
    Exited(Exit),
}

#[derive(Clone, Copy)]
struct Call {
    incarnation: u32,
    id: CallId,
}

impl Runtime {
    pub fn new(containers: usize) -> Runtime {
        let instances = (0..containers).map(|_| Instance::new(0, Life::NeverStarted)).collect();
        Runtime { up: true, epoch: 0, instances }
    }

    pub fn runs(&self, slot: Slot) -> bool {
        self.instances[slot.index()].life == Life::Running
    }

    pub fn anything_runs(&self) -> bool {
        self.instances.iter().any(|instance| instance.life == Life::Running)
    }

    /// What a list shows.
    pub fn list(&self) -> Vec<Observation> {
        let observe = |(index, instance): (usize, &Instance)| {
            let state = match &instance.life {
                Life::NeverStarted => return None,
                Life::Running => Observed::Running,
                Life::Exited(exit) => Observed::Exited(exit.clone()),
            };
            Some(Observation { slot: Slot::new(index), attempt: instance.attempt, state })
        };
        self.instances.iter().enumerate().filter_map(observe).collect()
    }
}

impl Instance {
    fn new(attempt: u32, life: Life) -> Instance {
        let stop = Stop::Running;
        Instance { attempt, life, stop, signalled: false, late: false, stop_calls: vec![], hook_calls: vec![] }
    }
}

impl World {
    /// A process comes to life.
    pub fn start_process(&mut self, slot: Slot, attempt: u32) {
        let late = self.agent.state.is_some();
        self.summary.late_starts += u64::from(late);
        let instance = &mut self.runtime.instances[slot.index()];
        *instance = Instance { late, ..Instance::new(attempt, Life::Running) };
        self.note(|| format!("runtime: {slot:?} attempt {attempt} runs"));
        if attempt == 0
            && let Some(leaving) = self.processes[slot.index()].leaves
        {
            let exit = Exit { out_of_memory: leaving.out_of_memory, ..Exit::with_code(leaving.code, self.now) };
            self.after(leaving.after, What::Leaves { slot, attempt, exit });
        }
    }

    pub fn stop_call(&mut self, slot: Slot, id: CallId, signal: Signal, kill_at: Moment) {
        let call = Call { incarnation: self.agent.incarnation, id };
        let error = || Input::StopFailed { slot, call: id, error: "runtime error".into() };
        if !self.runtime.up || self.fault(self.faults.call_fails_percent) {
            // A call that fails may have done its work nevertheless.
            if self.runtime.up && self.dice.percent(50) {
                self.apply_stop(slot, signal, kill_at);
            }
            self.summary.failed_calls += 1;
            return self.answer(call.incarnation, error());
        }
        let lie = self.fault(self.faults.lie_percent);
        if lie || !self.runtime.runs(slot) {
            return self.answer(call.incarnation, Input::StopSucceeded { slot, call: id });
        }
        self.runtime.instances[slot.index()].stop_calls.push(call);
        self.apply_stop(slot, signal, kill_at);
    }

    fn apply_stop(&mut self, slot: Slot, signal: Signal, kill_at: Moment) {
        let timeout = kill_at.since(self.now);
        self.step_stop(slot, StopInput::Requested { signal, timeout });
    }

    /// Gives the stop of one process an input, and does what it asks for.
    pub fn step_stop(&mut self, slot: Slot, input: StopInput) {
        let instance = &mut self.runtime.instances[slot.index()];
        if instance.life != Life::Running {
            return;
        }
        let attempt = instance.attempt;
        let step = instance.stop.step(input, self.now);
        instance.stop = step.state;
        match step.effect {
            None => {}
            Some(StopEffect::SendSignal(_)) => {
                let first = !std::mem::replace(&mut instance.signalled, true);
                if let (true, Reaction::Obeys(span)) = (first, self.processes[slot.index()].on_signal) {
                    let exit = Exit::with_code(self.dice.pick(&[0, 0, 143]), self.now);
                    self.after(span, What::Leaves { slot, attempt, exit });
                }
            }
            Some(StopEffect::Kill) => {
                self.summary.kills += 1;
                self.after(Duration::ZERO, What::Leaves { slot, attempt, exit: Exit::with_code(137, self.now) });
            }
            Some(StopEffect::ReportStuck) => unreachable!("processes of the simulator die when they are killed"),
        }
        if let Some(at) = step.wake_at {
            self.at(at, What::KillDue { slot });
        }
    }

    /// A process is over.
    pub fn process_left(&mut self, slot: Slot, attempt: u32, exit: &Exit) {
        let instance = &mut self.runtime.instances[slot.index()];
        if instance.life != Life::Running || instance.attempt != attempt {
            return;
        }
        let exit = Exit { at: self.now, ..exit.clone() };
        instance.life = Life::Exited(exit.clone());
        instance.stop = instance.stop.step(StopInput::Exited, self.now).state;
        let (stops, hooks) = (std::mem::take(&mut instance.stop_calls), std::mem::take(&mut instance.hook_calls));
        self.note(|| format!("runtime: {slot:?} attempt {attempt} exited {}", exit.code));
        for call in stops {
            self.answer(call.incarnation, Input::StopSucceeded { slot, call: call.id });
        }
        for call in hooks {
            let outcome = Err("the container is gone".to_owned());
            self.answer(call.incarnation, Input::HookFinished { slot, call: call.id, outcome });
        }
        if self.runtime.up && !self.fault(self.faults.event_lost_percent) {
            self.answer(self.agent.incarnation, Input::ContainerExited { slot, attempt, exit });
        } else {
            self.summary.lost_events += 1;
        }
    }

    pub fn hook_call(&mut self, slot: Slot, id: CallId) {
        let call = Call { incarnation: self.agent.incarnation, id };
        if !self.runtime.up || !self.runtime.runs(slot) {
            let outcome = Err("cannot exec".to_owned());
            return self.answer(call.incarnation, Input::HookFinished { slot, call: id, outcome });
        }
        self.runtime.instances[slot.index()].hook_calls.push(call);
        let (span, fails) = match self.processes[slot.index()].hook {
            HookRun::Succeeds(span) => (span, false),
            HookRun::Fails(span) => (span, true),
            HookRun::Hangs => return,
        };
        self.after(span, What::HookEnds { slot, call: id, fails });
    }

    pub fn hook_ends(&mut self, slot: Slot, id: CallId, fails: bool) {
        let calls = &mut self.runtime.instances[slot.index()].hook_calls;
        let Some(place) = calls.iter().position(|call| call.id == id) else { return };
        let call = calls.swap_remove(place);
        let outcome = if fails { Err("exit status 1".to_owned()) } else { Ok(()) };
        self.answer(call.incarnation, Input::HookFinished { slot, call: call.id, outcome });
    }

    pub fn list_call(&mut self, id: CallId) {
        let incarnation = self.agent.incarnation;
        if !self.runtime.up || self.fault(self.faults.call_fails_percent) {
            self.summary.failed_calls += 1;
            return self.answer(incarnation, Input::ListFailed { call: id, error: "runtime error".into() });
        }
        let observations = self.runtime.list();
        self.answer(incarnation, Input::ContainersObserved { call: Some(id), observations });
    }

    pub fn sandbox_call(&mut self, id: CallId) {
        let incarnation = self.agent.incarnation;
        if !self.runtime.up || self.fault(self.faults.call_fails_percent) {
            self.summary.failed_calls += 1;
            return self.answer(incarnation, Input::SandboxStopFailed { call: id, error: "runtime error".into() });
        }
        for index in 0..self.runtime.instances.len() {
            let (slot, attempt) = (Slot::new(index), self.runtime.instances[index].attempt);
            self.process_left(slot, attempt, &Exit::with_code(137, self.now));
        }
        self.answer(incarnation, Input::SandboxStopped { call: id });
    }

    /// The daemon goes down: calls break, timers are forgotten, processes live on.
    pub fn runtime_goes_down(&mut self) {
        self.note(|| "runtime: restarts".into());
        self.summary.runtime_restarts += 1;
        self.runtime.up = false;
        for index in 0..self.runtime.instances.len() {
            let slot = Slot::new(index);
            let instance = &mut self.runtime.instances[index];
            if instance.life == Life::Running {
                instance.stop = Stop::Running;
            }
            let (stops, hooks) = (std::mem::take(&mut instance.stop_calls), std::mem::take(&mut instance.hook_calls));
            for call in stops {
                let error = "connection lost".to_owned();
                self.answer(call.incarnation, Input::StopFailed { slot, call: call.id, error });
            }
            for call in hooks {
                let outcome = Err("connection lost".to_owned());
                self.answer(call.incarnation, Input::HookFinished { slot, call: call.id, outcome });
            }
        }
        let down = self.dice.span(Duration::from_secs(3));
        self.after(down, What::RuntimeUp);
    }

    pub fn runtime_comes_up(&mut self) {
        self.runtime.up = true;
        self.runtime.epoch += 1;
        let epoch = self.runtime.epoch;
        self.note(|| format!("runtime: up again, epoch {epoch}"));
        self.answer(self.agent.incarnation, Input::RuntimeRestarted { epoch });
    }
}
