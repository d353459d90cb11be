//! A pod and everything that will befall it, made from a seed.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use lifecycle::termination::Recovery;

use crate::dice::Dice;

mod pod;

/// Everything a seed decides before the first moment.
pub struct Scenario {
    pub pod: Pod,
    pub recovery: Recovery,
    /// By place in the plan: init containers, containers, ephemeral containers.
    pub processes: Vec<Process>,
    pub callers: Vec<(Duration, Caller)>,
    pub faults: Faults,
}

/// What one container's process does.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pub runs_at_start: bool,
    /// After its stop signal.
    pub on_signal: Reaction,
    pub hook: HookRun,
    /// By itself, whatever is asked of it.
    pub leaves: Option<Leaving>,
}

#[derive(Clone, Copy, Debug)]
pub enum Reaction {
    Obeys(Duration),
    Ignores,
}

#[derive(Clone, Copy, Debug)]
pub enum HookRun {
    Succeeds(Duration),
    Fails(Duration),
    Hangs,
}

#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    pub after: Duration,
    pub code: i32,
    pub out_of_memory: bool,
}

/// Who asks for something.
#[derive(Clone, Copy, Debug)]
pub enum Caller {
    /// `None`: a plain delete.
    Delete(Option<i64>),
    Evict(i64),
    ShutDown(i64),
    /// Whoever put a finalizer on the object takes it off again.
    RemoveFinalizer,
}

/// How badly the surroundings behave, until `until`.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub until: Duration,
    pub call_fails_percent: u64,
    pub slow_percent: u64,
    pub event_lost_percent: u64,
    pub lie_percent: u64,
    /// The agent dies when it has carried out this many effects.
    pub agent_dies_after: [Option<u64>; 3],
    pub runtime_restarts: [Option<Duration>; 2],
}

impl Faults {
    const NONE: Faults = Faults {
        until: Duration::ZERO,
        call_fails_percent: 0,
        slow_percent: 0,
        event_lost_percent: 0,
        lie_percent: 0,
        agent_dies_after: [None; 3],
        runtime_restarts: [None; 2],
    };

    pub fn any(&self) -> bool {
        !self.until.is_zero()
    }
}

/// The pod of a seed, as the API server would have stored it.
pub fn pod_of_seed(seed: u64) -> Pod {
    Scenario::of_seed(seed).pod
}

impl Scenario {
    pub fn of_seed(seed: u64) -> Scenario {
        Scenario::new(&mut Dice::new(seed))
    }

    pub(crate) fn new(dice: &mut Dice) -> Scenario {
        let shape = Shape::new(dice);
        let count = shape.init.len() + shape.regular.len() + shape.ephemeral;
        let processes = (0..count).map(|place| process(dice, &shape, place)).collect();
        let grace = dice.pick(&[0, 1, 2, 3, 5, 10, 30, 30, 30, 60, 3_600]);
        let pod = pod::pod(dice, &shape, grace);
        let finalizers = pod.metadata.finalizers.as_ref().map_or(0, Vec::len);
        Scenario {
            pod,
            recovery: dice.pick(&[Recovery::Anew, Recovery::Resume]),
            processes,
            callers: callers(dice, finalizers),
            faults: faults(dice),
        }
    }
}

/// Which containers there are.
struct Shape {
    /// Whether each init container is a sidecar.
    init: Vec<bool>,
    /// The rank of each regular container.
    regular: Vec<i32>,
    ephemeral: usize,
    /// The pod is still initializing: regular containers do not run yet.
    initializing: bool,
}

impl Shape {
    fn new(dice: &mut Dice) -> Shape {
        let init: Vec<bool> = (0..dice.pick(&[0, 0, 1, 2, 3, 5])).map(|_| dice.percent(75)).collect();
        let ranked = dice.percent(40);
        let ranks: &[i32] = if ranked { &[-3, 0, 0, 1, 2, i32::MAX] } else { &[0] };
        let regular = (0..dice.pick(&[1, 1, 2, 3, 4, 6])).map(|_| dice.pick(ranks)).collect();
        let initializing = !init.is_empty() && dice.percent(10);
        Shape { init, regular, ephemeral: usize::from(dice.percent(10)), initializing }
    }
}

fn process(dice: &mut Dice, shape: &Shape, place: usize) -> Process {
    let plain_init = shape.init.get(place) == Some(&false);
    let regular = (shape.init.len()..shape.init.len() + shape.regular.len()).contains(&place);
    let runs_at_start = if plain_init { shape.initializing } else { !(shape.initializing && regular) };
    let leaves = dice.percent(20).then(|| {
        let (code, out_of_memory) = dice.pick(&[(0, false), (1, false), (137, false), (137, true)]);
        Leaving { after: dice.span(Duration::from_secs(60)), code, out_of_memory }
    });
    Process {
        runs_at_start: runs_at_start && !dice.percent(4),
        on_signal: if dice.percent(75) {
            Reaction::Obeys(dice.span(Duration::from_secs(40)))
        } else {
            Reaction::Ignores
        },
        hook: match dice.below(10) {
            0 => HookRun::Hangs,
            1 => HookRun::Fails(dice.span(Duration::from_secs(20))),
            _ => HookRun::Succeeds(dice.span(Duration::from_secs(40))),
        },
        leaves,
    }
}

fn callers(dice: &mut Dice, finalizers: usize) -> Vec<(Duration, Caller)> {
    let first = dice.span(Duration::from_secs(30));
    let mut callers = vec![(first, caller(dice))];
    for _ in 0..dice.pick(&[0, 0, 0, 1, 1, 2, 4]) {
        callers.push((first + dice.span(Duration::from_secs(60)), caller(dice)));
    }
    for _ in 0..finalizers {
        // One that nobody removes keeps the object for good.
        if dice.percent(85) {
            callers.push((dice.span(Duration::from_secs(120)), Caller::RemoveFinalizer));
        }
    }
    callers
}

fn caller(dice: &mut Dice) -> Caller {
    match dice.below(12) {
        0 => Caller::Evict(dice.pick(&[1, 1, 10, 30])),
        1 => Caller::ShutDown(dice.pick(&[0, 5, 10, 20])),
        2..=6 => Caller::Delete(None),
        7 => Caller::Delete(Some(0)),
        _ => Caller::Delete(Some(dice.pick(&[-1, 1, 2, 5, 20, 60, 120]))),
    }
}

fn faults(dice: &mut Dice) -> Faults {
    if dice.percent(35) {
        return Faults::NONE;
    }
    let mut faults = Faults {
        until: Duration::from_secs(dice.below(90) + 1),
        call_fails_percent: dice.pick(&[0, 0, 10, 50]),
        slow_percent: dice.pick(&[0, 0, 20]),
        event_lost_percent: dice.pick(&[0, 20, 100]),
        lie_percent: dice.pick(&[0, 0, 0, 10]),
        ..Faults::NONE
    };
    for death in &mut faults.agent_dies_after {
        *death = dice.percent(30).then(|| dice.below(25));
    }
    for restart in &mut faults.runtime_restarts {
        *restart = dice.percent(20).then(|| dice.span(Duration::from_secs(80)));
    }
    faults
}
