//! Forecasts: whatever the pod and whatever is assumed of it, the machine's promises are kept in them.

use std::fmt::Write as _;

use lifecycle::exit_order::stages::{Reserve, Role};
use lifecycle::forecast::{Assumptions, Forecast, Line, forecast};
use lifecycle::grace::Grace;
use lifecycle::hook::Hook;
use lifecycle::stop::{SignalOrigin, StopSignal};
use lifecycle::termination::{Plan, PlannedContainer, Scope, TurnReason};
use model::signal::Signal;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::{collection, option, prop_assert, prop_assert_eq, proptest};

const FLOOR_MILLIS: i64 = 2_000;

fn hook() -> impl Strategy<Value = Hook> {
    prop_oneof![
        Just(Hook::Exec { command: vec!["/drain".into()] }),
        (0_u64..90).prop_map(|seconds| Hook::Sleep { seconds }),
        Just(Hook::Invalid { handler: "tcpSocket".into() }),
    ]
}

fn container() -> impl Strategy<Value = PlannedContainer> {
    let role = prop_oneof![3 => Just(Role::Regular), 2 => Just(Role::Sidecar), 1 => Just(Role::Init), 1 => Just(Role::Ephemeral)];
    (role, -1_i32..3, option::of(hook())).prop_map(|(role, rank, hook)| {
        let hook = hook.filter(|_| matches!(role, Role::Regular | Role::Sidecar));
        let signal = StopSignal { signal: Signal::TERM, origin: SignalOrigin::Default };
        PlannedContainer { name: String::new(), role, rank, hook, signal }
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    collection::vec(container(), 0..8).prop_map(|mut containers| {
        for (n, container) in containers.iter_mut().enumerate() {
            write!(container.name, "c{n}").expect("text grows");
        }
        Plan::new(Scope::WholePod, containers, Reserve::default())
    })
}

/// For everyone a word, for some their own time.
fn assumptions() -> impl Strategy<Value = Assumptions> {
    let exception = (0_usize..8, prop_oneof![Just(""), Just(".hook")], 0_u64..100_000);
    (prop_oneof![Just("exits"), Just("hangs")], collection::vec(exception, 0..6)).prop_map(|(word, exceptions)| {
        let mut text = word.to_owned();
        for (n, hook, millis) in exceptions {
            write!(text, ",c{n}{hook}={millis}ms").expect("text grows");
        }
        Assumptions::parse(&text).expect("assumptions")
    })
}

fn graces() -> impl Strategy<Value = i64> {
    prop_oneof![0_i64..5, 0_i64..120, 100_000_i64..1_000_000]
}

/// Whether `earlier` must be gone before `later` may be signalled, unless time runs out.
fn holds(earlier: &Line, later: &Line) -> bool {
    let holder = matches!(earlier.container.role, Role::Regular | Role::Sidecar);
    holder && later.container.role != Role::Ephemeral && earlier.stage < later.stage
}

fn lines_of_all(forecast: &Forecast, plan: &Plan) -> bool {
    let lasting = plan.slots().filter(|slot| plan.container(*slot).role != Role::Init).count();
    forecast.containers.len() == lasting
}

proptest! {
    #[test]
    fn every_container_is_gone_by_the_deadline_and_the_floor(
        plan in plan(), grace in graces(), assumptions in assumptions(),
    ) {
        let forecast = forecast(&plan, Grace::from_seconds(grace), &assumptions);
        prop_assert!(lines_of_all(&forecast, &plan));
        prop_assert_eq!(forecast.deadline_millis, grace.max(1) * 1_000);
        for line in &forecast.containers {
            prop_assert!(line.gone_millis <= forecast.deadline_millis + FLOOR_MILLIS, "{line:?}");
            prop_assert!(line.turn_millis <= forecast.deadline_millis, "{line:?}");
            prop_assert!(line.stop_millis <= line.gone_millis && line.gone_millis <= line.kill_millis, "{line:?}");
            prop_assert_eq!(line.killed, line.gone_millis == line.kill_millis, "{:?}", line);
        }
    }

    /// 3.6.6
    #[test]
    fn everyone_keeps_at_least_the_floor_between_signal_and_kill(
        plan in plan(), grace in graces(), assumptions in assumptions(),
    ) {
        for line in forecast(&plan, Grace::from_seconds(grace), &assumptions).containers {
            prop_assert!(line.least_time_millis >= FLOOR_MILLIS, "{line:?}");
            prop_assert!(line.kill_millis - line.stop_millis >= line.least_time_millis, "{line:?}");
        }
    }

    /// I1, 3.6.4
    #[test]
    fn a_later_stage_is_signalled_after_the_earlier_ones_are_gone_or_when_time_runs_out(
        plan in plan(), grace in graces(), assumptions in assumptions(),
    ) {
        let forecast = forecast(&plan, Grace::from_seconds(grace), &assumptions);
        for later in &forecast.containers {
            let waited = later.turn_reason == TurnReason::EarlierGone;
            for earlier in forecast.containers.iter().filter(|earlier| waited && holds(earlier, later)) {
                prop_assert!(earlier.gone_millis <= later.stop_millis, "{earlier:?}\n{later:?}");
            }
            if later.turn_reason == TurnReason::Deadline {
                prop_assert!(later.stop_millis >= forecast.deadline_millis, "{later:?}");
            }
        }
        prop_assert!(forecast.containers.is_sorted_by_key(|line| line.stage));
    }

    /// Without a grace period no hook runs.
    #[test]
    fn a_zero_grace_runs_no_hook(plan in plan(), assumptions in assumptions()) {
        for line in forecast(&plan, Grace::from_seconds(0), &assumptions).containers {
            prop_assert!(line.hook.is_none_or(|hook| hook.start_millis == hook.end_millis), "{}", line.container.name);
        }
    }
}
