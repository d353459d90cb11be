//! The termination machine: whatever the facts and their order, its guarantees hold, and it can always be led to its
//! end.

mod decode;

use lifecycle::grace::STOP_FLOOR;
use lifecycle::moment::Moment;
use lifecycle::termination::{
    CallId, ClosingStep, ContainerState, Effect, Input, Observation, Observed, Plan, Recovery, Scope, Slot, Step,
    Termination, begin, resume, step as take,
};

use decode::{Bytes, Happening};

/// More facts than this teach nothing new.
const MOST_FACTS: usize = 200;

/// What leads from any state to the end: one look that shows nothing running, five closing calls and their retries.
const STEPS_TO_THE_END: usize = 16;

pub fn step(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let (plan, recovery, request) = (bytes.plan(), bytes.recovery(), bytes.request());
    let now = Moment::from_millis(0);
    let observed = bytes.observations(&plan, now);
    let first = begin(plan.clone(), request, &observed, recovery, now);
    let mut run = Run { plan, now, state: first.state.clone(), wake_at: None, newest_call: None, adopted: vec![] };
    run.adopt(&observed);
    run.check(&first, None);
    run.accept(first);
    for _ in 0..MOST_FACTS {
        if bytes.is_empty() {
            break;
        }
        run.wait(&mut bytes);
        match bytes.happening(&run.plan, run.newest_call, run.now) {
            Happening::Told(input) => run.tell(&input),
            Happening::AgentRestarted { request, observed } => run.restart(request, &observed),
        }
    }
    run.leads_to_the_end();
}

/// A termination under way.
struct Run {
    plan: Plan,
    now: Moment,
    state: Termination,
    wake_at: Option<Moment>,
    newest_call: Option<CallId>,
    /// Stops that were under way before the end began: they keep their own, perhaps shorter, time.
    adopted: Vec<(Slot, Moment)>,
}

impl Run {
    fn wait(&mut self, bytes: &mut Bytes<'_>) {
        let later = match (bytes.pause(), self.wake_at) {
            (Some(pause), _) => self.now + pause,
            (None, wake_at) => wake_at.unwrap_or(self.now),
        };
        // A machine woken at the end of time has nowhere to go.
        if later < Moment::from_millis(i64::MAX / 2) {
            self.now = later.max(self.now);
        }
    }

    fn tell(&mut self, input: &Input) {
        let before = self.state.clone();
        let once = take(before.clone(), input.clone(), self.now);
        let again = take(once.state.clone(), input.clone(), self.now);
        assert_eq!(again.state, once.state, "twice is not once: {input:?}");
        assert_eq!(again.effects, [], "twice is not once: {input:?}");
        assert_eq!(again.wake_at, once.wake_at, "twice is not once: {input:?}");
        let anew = matches!(input, Input::RuntimeRestarted { .. }) && before.known().recovery == Recovery::Anew;
        self.check(&once, (!anew).then(|| before.known().deadline));
        self.accept(once);
    }

    fn restart(&mut self, request: lifecycle::termination::Request, observed: &[Observation]) {
        (self.newest_call, self.adopted) = (None, vec![]);
        self.adopt(observed);
        let recovery = self.state.known().recovery;
        let before = self.state.known().deadline;
        let next = match recovery {
            Recovery::Resume => resume(&self.state.progress(), request, observed, self.now),
            Recovery::Anew => begin(self.plan.clone(), request, observed, recovery, self.now),
        };
        self.check(&next, (recovery == Recovery::Resume).then_some(before));
        self.accept(next);
    }

    fn adopt(&mut self, observed: &[Observation]) {
        for seen in observed {
            if let Observed::AlreadyStopping { kill_at, .. } = seen.state {
                self.adopted.push((seen.slot, kill_at));
            }
        }
    }

    fn check(&self, step: &Step, deadline_before: Option<Moment>) {
        let known = step.state.known();
        if let Some(before) = deadline_before {
            assert!(known.deadline <= before, "the deadline moved from {before:?} to {:?}", known.deadline);
        }
        if let Some(wake_at) = step.wake_at {
            assert!(wake_at > self.now, "to be woken at {wake_at:?}, which is not after {:?}", self.now);
        }
        let all_gone = known.containers.iter().all(|container| container.state == ContainerState::Gone);
        for effect in &step.effects {
            match effect {
                Effect::StopContainer { slot, kill_at, .. } => self.check_stop(*slot, *kill_at, known.deadline),
                Effect::StopSandbox { .. } | Effect::DeleteObject { .. } => {
                    assert!(all_gone, "{effect:?} while a container may run");
                    assert_eq!(self.plan.scope(), Scope::WholePod, "{effect:?} for one container");
                }
                Effect::RunHook { give_up_at, .. } => {
                    assert!(*give_up_at > self.now, "a hook without time");
                    assert!(known.grace.runs_hooks(), "a hook although the grace period is zero");
                }
                Effect::SaveProgress
                | Effect::StopProbes(_)
                | Effect::ListContainers { .. }
                | Effect::PublishStatus { .. }
                | Effect::TearDownVolumes { .. }
                | Effect::Emit(_) => {}
            }
        }
        assert_eq!(step.state.record().containers.len(), self.plan.len());
    }

    fn check_stop(&self, slot: Slot, kill_at: Moment, deadline: Moment) {
        assert!(kill_at >= self.now, "{slot:?} is killed in the past");
        let adopted = self.adopted.iter().find(|(known, _)| *known == slot).map(|(_, kill_at)| *kill_at);
        let earliest = adopted.map_or(deadline, |kill_at| kill_at.min(deadline));
        assert!(kill_at >= earliest, "{slot:?} is killed at {kill_at:?}, before {earliest:?}");
        let latest = deadline.max(self.now + STOP_FLOOR);
        assert!(kill_at <= latest, "{slot:?} is killed at {kill_at:?}, after {latest:?}");
    }

    fn accept(&mut self, step: Step) {
        for effect in &step.effects {
            match effect {
                Effect::RunHook { call, .. }
                | Effect::StopContainer { call, .. }
                | Effect::ListContainers { call }
                | Effect::StopSandbox { call }
                | Effect::PublishStatus { call }
                | Effect::TearDownVolumes { call }
                | Effect::DeleteObject { call } => self.newest_call = Some(*call),
                Effect::SaveProgress | Effect::StopProbes(_) | Effect::Emit(_) => {}
            }
        }
        self.wake_at = step.wake_at;
        self.state = step.state;
    }

    /// Once nothing runs and every call is answered, nothing is left to do.
    fn leads_to_the_end(mut self) {
        for _ in 0..STEPS_TO_THE_END {
            let input = match (&self.state, self.newest_call) {
                (Termination::Finished(_), _) => return,
                (Termination::Stopping(_), _) => {
                    let absent = |slot| Observation { slot, attempt: 9, state: Observed::Absent };
                    Input::ContainersObserved { call: None, observations: self.plan.slots().map(absent).collect() }
                }
                (Termination::Closing(_), None) => panic!("closing without a call"),
                (Termination::Closing(closing), Some(call)) => match (self.wake_at, closing.at()) {
                    (Some(wake_at), _) => {
                        self.now = wake_at;
                        Input::TimePassed
                    }
                    (None, ClosingStep::StopSandbox) => Input::SandboxStopped { call },
                    (None, ClosingStep::Verify) => Input::ContainersObserved { call: Some(call), observations: vec![] },
                    (None, ClosingStep::PublishStatus) => Input::StatusPublished { call },
                    (None, ClosingStep::TearDownVolumes) => Input::VolumesTornDown { call },
                    (None, ClosingStep::DeleteObject) => Input::ObjectDeleted { call },
                },
            };
            self.tell(&input);
        }
        panic!("no end is reached from {:?}", self.state);
    }
}
