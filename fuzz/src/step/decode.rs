//! Bytes as a plan, a runtime's view of it, and facts: every byte string means something.
//!
//! The driver's contract holds for all of it: slots exist, a list names a container at most once, only calls that were
//! made are answered. Which of them is open: one of another kind, replaced, or answered long ago.

use std::time::Duration;

use lifecycle::exit_order::stages::{Reserve, Role};
use lifecycle::grace::Asked;
use lifecycle::hook::{Hook, HttpGet};
use lifecycle::moment::Moment;
use lifecycle::stop::{SignalOrigin, StopSignal};
use lifecycle::termination::{
    CallId, Cause, CauseKind, Effect, Exit, Input, ObjectIntent, Observation, Observed, Plan, PlannedContainer,
    Recovery, Request, Scope, Slot, begin,
};
use model::signal::Signal;

/// How many containers a plan has at most, and how many ids there are to answer.
const MOST_CONTAINERS: u8 = 6;
const CALL_IDS: usize = 64;

const SECONDS: [Option<i64>; 12] = [
    None,
    Some(-1),
    Some(0),
    Some(1),
    Some(2),
    Some(3),
    Some(5),
    Some(10),
    Some(30),
    Some(3_600),
    Some(1 << 40),
    Some(i64::MAX),
];
const STEPS_MILLIS: [i64; 10] = [0, 0, 1, 99, 500, 1_000, 2_000, 5_000, 30_000, 3_600_000];
const RANKS: [i32; 6] = [0, 0, 1, 2, -1, i32::MAX];
const CAUSES: [CauseKind; 4] = [CauseKind::Delete, CauseKind::Evict, CauseKind::NodeShutdown, CauseKind::Completed];

/// Something that happens to a termination.
pub enum Happening {
    Told(Input),
    /// The agent dies; another one goes on from what was kept, or from nothing.
    AgentRestarted {
        request: Request,
        observed: Vec<Observation>,
    },
}

/// The bytes not read yet; after the last one come zeros.
pub struct Bytes<'a> {
    rest: &'a [u8],
    calls: Vec<CallId>,
}

impl<'a> Bytes<'a> {
    pub fn new(data: &'a [u8]) -> Bytes<'a> {
        Bytes { rest: data, calls: every_call_id() }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.next()) % from.len()]
    }

    pub fn plan(&mut self) -> Plan {
        let one = self.next() % 8 == 7;
        let scope = if one { Scope::OneContainer } else { Scope::WholePod };
        let count = if one { 1 } else { self.next() % (MOST_CONTAINERS + 1) };
        let containers = (0..count).map(|n| self.container(n)).collect();
        let reserves = [Duration::from_secs(2), Duration::ZERO, Duration::from_millis(150), Duration::from_secs(3_600)];
        Plan::new(scope, containers, Reserve::per_rank(self.pick(&reserves)))
    }

    fn container(&mut self, n: u8) -> PlannedContainer {
        let signals = [Signal::TERM, Signal::KILL];
        PlannedContainer {
            name: format!("c{n}"),
            role: self.pick(&[Role::Regular, Role::Regular, Role::Sidecar, Role::Init, Role::Ephemeral]),
            rank: self.pick(&RANKS),
            hook: self.hook(),
            signal: StopSignal { signal: self.pick(&signals), origin: SignalOrigin::Default },
        }
    }

    fn hook(&mut self) -> Option<Hook> {
        match self.next() % 8 {
            0..=2 => None,
            3 => Some(Hook::Exec { command: vec!["/drain".into()] }),
            4 => {
                let (scheme, port, path) = ("http".into(), "8080".into(), "/".into());
                Some(Hook::HttpGet(HttpGet { scheme, host: String::new(), port, path, headers: vec![] }))
            }
            5 => Some(Hook::Sleep { seconds: u64::from(self.next() % 40) }),
            6 => Some(Hook::Sleep { seconds: u64::MAX }),
            _ => Some(Hook::Invalid { handler: "tcpSocket".into() }),
        }
    }

    pub fn recovery(&mut self) -> Recovery {
        self.pick(&[Recovery::Anew, Recovery::Resume])
    }

    /// How much later the next thing happens; `None` when the machine wants to be woken.
    pub fn pause(&mut self) -> Option<Duration> {
        let byte = self.next();
        let millis = STEPS_MILLIS[usize::from(byte >> 1) % STEPS_MILLIS.len()];
        (byte & 1 == 0).then(|| Duration::from_millis(millis.unsigned_abs()))
    }

    pub fn request(&mut self) -> Request {
        Request {
            cause: Cause::new(self.pick(&CAUSES)),
            asked: Asked {
                deletion_seconds: self.pick(&SECONDS),
                override_seconds: self.pick(&SECONDS),
                spec_seconds: self.pick(&SECONDS),
            },
            object: self.pick(&[ObjectIntent::Keep, ObjectIntent::Delete]),
        }
    }

    pub fn observations(&mut self, plan: &Plan, now: Moment) -> Vec<Observation> {
        plan.slots().filter_map(|slot| self.observation(slot, now)).collect()
    }

    fn observation(&mut self, slot: Slot, now: Moment) -> Option<Observation> {
        let byte = self.next();
        let attempt = u32::from(byte >> 4) % 4;
        let state = match byte % 8 {
            0..=3 => Observed::Running,
            4 => {
                let since = now.minus(Duration::from_millis(u64::from(self.next()) * 40));
                let kill_at = now + Duration::from_millis(u64::from(self.next()) * 200);
                Observed::AlreadyStopping { since, kill_at }
            }
            5 => Observed::Exited(self.exit(now)),
            6 => Observed::Absent,
            _ => return None,
        };
        Some(Observation { slot, attempt, state })
    }

    fn exit(&mut self, now: Moment) -> Exit {
        let code = self.pick(&[0, 1, 137, 143]);
        Exit { code, out_of_memory: code == 137 && self.next() % 2 == 1, at: now }
    }

    /// What happens next to a pod of this plan.
    pub fn happening(&mut self, plan: &Plan, newest_call: Option<CallId>, now: Moment) -> Happening {
        let kind = self.next() % 24;
        if kind == 23 {
            return Happening::AgentRestarted { request: self.request(), observed: self.observations(plan, now) };
        }
        let call = self.call(newest_call);
        Happening::Told(match call {
            Some(call) if (2..=20).contains(&kind) => self.answer(kind, call, plan, now),
            Some(_) | None => self.news(kind, plan, now),
        })
    }

    fn call(&mut self, newest: Option<CallId>) -> Option<CallId> {
        let made = self.calls.iter().take_while(|call| Some(**call) <= newest).count();
        let place = usize::from(self.next());
        (made > 0).then(|| self.calls[place % made])
    }

    fn slot(&mut self, plan: &Plan) -> Option<Slot> {
        let place = usize::from(self.next());
        (!plan.is_empty()).then(|| Slot::new(place % plan.len()))
    }

    /// Facts that answer no call.
    fn news(&mut self, kind: u8, plan: &Plan, now: Moment) -> Input {
        match (kind % 6, self.slot(plan)) {
            (0, _) => Input::Requested(self.request()),
            (1, Some(slot)) => {
                Input::ContainerExited { slot, attempt: u32::from(self.next() % 4), exit: self.exit(now) }
            }
            (2, _) => Input::ContainersObserved { call: None, observations: self.observations(plan, now) },
            (3, _) => Input::ObjectVanished,
            (4, _) => Input::RuntimeRestarted { epoch: u64::from(self.next() % 8) },
            (_, _) => Input::TimePassed,
        }
    }

    fn answer(&mut self, kind: u8, call: CallId, plan: &Plan, now: Moment) -> Input {
        let error = || "boom".to_owned();
        match (kind, self.slot(plan)) {
            (2 | 3, Some(slot)) => {
                let outcome = if self.next().is_multiple_of(4) { Err(error()) } else { Ok(()) };
                Input::HookFinished { slot, call, outcome }
            }
            (4 | 5, Some(slot)) => Input::StopSucceeded { slot, call },
            (6 | 7, Some(slot)) => Input::StopFailed { slot, call, error: error() },
            (8..=10, _) => Input::ContainersObserved { call: Some(call), observations: self.observations(plan, now) },
            (11 | 12, _) => Input::ListFailed { call, error: error() },
            (13, _) => Input::SandboxStopped { call },
            (14, _) => Input::SandboxStopFailed { call, error: error() },
            (15, _) => Input::StatusPublished { call },
            (16, _) => Input::StatusPublishFailed { call, error: error() },
            (17, _) => Input::VolumesTornDown { call },
            (18, _) => Input::VolumeTeardownFailed { call, error: error() },
            (19, _) => Input::ObjectDeleted { call },
            (20, _) => Input::ObjectDeleteFailed { call, error: error() },
            (_, _) => Input::TimePassed,
        }
    }
}

/// Ids cannot be made up, so a pod with that many containers is asked to end.
fn every_call_id() -> Vec<CallId> {
    let signal = StopSignal { signal: Signal::TERM, origin: SignalOrigin::Default };
    let container =
        |n: usize| PlannedContainer { name: n.to_string(), role: Role::Regular, rank: 0, hook: None, signal };
    let plan = Plan::new(Scope::WholePod, (0..CALL_IDS).map(container).collect(), Reserve::NONE);
    let running = |slot| Observation { slot, attempt: 0, state: Observed::Running };
    let observed: Vec<Observation> = plan.slots().map(running).collect();
    let step = begin(plan, Request::delete(Asked::default()), &observed, Recovery::Anew, Moment::from_millis(0));
    let call = |effect: &Effect| match effect {
        Effect::StopContainer { call, .. } => Some(*call),
        _ => None,
    };
    step.effects.iter().filter_map(call).collect()
}
