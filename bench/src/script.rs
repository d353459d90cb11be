//! The end of a pod, recorded once, so that a benchmark runs the machine and nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use lifecycle::exit_order::stages::Role;
use lifecycle::grace::Asked;
use lifecycle::moment::Moment;
use lifecycle::termination::{
    Effect, Exit, Input, Observation, Observed, Plan, Recovery, Request, Step, Termination, begin, step,
};

/// How long hooks and processes of the recorded pod take.
const HOOK: Duration = Duration::from_millis(700);
const PROCESS: Duration = Duration::from_millis(1_300);

/// Everything a pod's end is told, with the times.
#[derive(Clone)]
pub struct Script {
    pub plan: Plan,
    pub request: Request,
    pub observed: Vec<Observation>,
    pub inputs: Vec<(Moment, Input)>,
}

impl Script {
    /// Records the end of a pod whose containers all obey, to the deletion of its object.
    pub fn record(plan: &Plan) -> Script {
        let running = |slot| Observation { slot, attempt: 0, state: Observed::Running };
        let lasting = plan.slots().filter(|slot| plan.container(*slot).role != Role::Init);
        let request = Request::delete(Asked { deletion_seconds: Some(60), ..Asked::default() });
        let mut script =
            Script { plan: plan.clone(), request, observed: lasting.map(running).collect(), inputs: vec![] };
        script.inputs = Recorder::default().run(&script);
        script
    }

    /// How many calls of the machine one run makes.
    pub fn steps(&self) -> usize {
        self.inputs.len() + 1
    }

    /// Runs the machine over the whole end.
    pub fn run(self) -> Termination {
        let first = begin(self.plan, self.request, &self.observed, Recovery::Anew, Moment::from_millis(0));
        self.inputs.into_iter().fold(first.state, |state, (now, input)| step(state, input, now).state)
    }
}

#[derive(Default)]
struct Recorder {
    due: BinaryHeap<Reverse<(Moment, usize)>>,
    facts: Vec<Input>,
}

impl Recorder {
    fn run(mut self, script: &Script) -> Vec<(Moment, Input)> {
        let mut now = Moment::from_millis(0);
        let mut recorded = vec![];
        let mut last = begin(script.plan.clone(), script.request.clone(), &script.observed, Recovery::Anew, now);
        while !last.state.is_finished() {
            self.carry_out(&last, now);
            let (at, input) = self.next(last.wake_at);
            now = at;
            recorded.push((now, input.clone()));
            last = step(last.state, input, now);
        }
        recorded
    }

    fn next(&mut self, wake_at: Option<Moment>) -> (Moment, Input) {
        let fact = self.due.peek().map(|Reverse((at, _))| *at);
        match (fact, wake_at) {
            (Some(at), wake) if wake.is_none_or(|wake| at <= wake) => {
                let Reverse((at, index)) = self.due.pop().expect("just seen");
                (at, self.facts[index].clone())
            }
            (_, Some(wake)) => (wake, Input::TimePassed),
            (_, None) => panic!("the end stands still"),
        }
    }

    fn at(&mut self, at: Moment, input: Input) {
        self.due.push(Reverse((at, self.facts.len())));
        self.facts.push(input);
    }

    fn carry_out(&mut self, step: &Step, now: Moment) {
        for effect in &step.effects {
            match *effect {
                Effect::RunHook { call, slot, .. } => {
                    self.at(now + HOOK, Input::HookFinished { slot, call, outcome: Ok(()) });
                }
                Effect::StopContainer { call, slot, .. } => {
                    let at = now + PROCESS;
                    self.at(at, Input::ContainerExited { slot, attempt: 0, exit: Exit::with_code(0, at) });
                    self.at(at, Input::StopSucceeded { slot, call });
                }
                Effect::ListContainers { call } => {
                    self.at(now, Input::ContainersObserved { call: Some(call), observations: vec![] });
                }
                Effect::StopSandbox { call } => self.at(now, Input::SandboxStopped { call }),
                Effect::PublishStatus { call } => self.at(now, Input::StatusPublished { call }),
                Effect::TearDownVolumes { call } => self.at(now, Input::VolumesTornDown { call }),
                Effect::DeleteObject { call } => self.at(now, Input::ObjectDeleted { call }),
                Effect::SaveProgress | Effect::StopProbes(_) | Effect::Emit(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lifecycle::termination::PlanSettings;

    use super::*;
    use crate::pods::{ORDINARY, decode};

    #[test]
    fn a_recorded_end_ends_again() {
        let script = Script::record(&Plan::of_pod(&decode(ORDINARY), PlanSettings::default()));
        assert!(script.steps() > 10);
        assert!(script.run().is_finished());
    }
}
