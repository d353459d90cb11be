//! Exit order and the stop of one process: nobody is forgotten, nobody goes early, nobody is killed early.

use std::time::Duration;

use lifecycle::exit_order::stages::{Reserve, Role, StageKind, stages};
use lifecycle::moment::Moment;
use lifecycle::stop::{DEAD_WITHIN, Stop, StopEffect, StopInput};
use model::signal::Signal;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, prop_assert, prop_assert_eq, proptest};

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![3 => Just(Role::Regular), 2 => Just(Role::Sidecar), 1 => Just(Role::Init), 1 => Just(Role::Ephemeral)]
}

fn containers() -> impl Strategy<Value = Vec<(Role, i32)>> {
    collection::vec((role(), prop_oneof![-2_i32..3, any::<i32>()]), 0..12)
}

fn stop_input() -> impl Strategy<Value = StopInput> {
    let signal = prop_oneof![4 => Just(Signal::TERM), 1 => Just(Signal::KILL)];
    prop_oneof![
        3 => (signal, 0_u64..40_000).prop_map(|(signal, millis)| {
            StopInput::Requested { signal, timeout: Duration::from_millis(millis) }
        }),
        1 => Just(StopInput::Exited),
        3 => Just(StopInput::TimePassed),
    ]
}

proptest! {
    #[test]
    fn every_container_is_in_exactly_one_stage(containers in containers()) {
        let mut members: Vec<usize> = stages(&containers).into_iter().flat_map(|stage| stage.members).collect();
        members.sort_unstable();
        prop_assert_eq!(members, (0..containers.len()).collect::<Vec<_>>());
    }

    /// I1, 3.6.4
    #[test]
    fn ranks_ascend_and_sidecars_follow_in_reverse_one_by_one(containers in containers()) {
        let stages = stages(&containers);
        let rank = |kind| match kind {
            StageKind::Rank(rank) => Some(rank),
            StageKind::Sidecar => None,
        };
        let ranks: Vec<i32> = stages.iter().map_while(|stage| rank(stage.kind)).collect();
        prop_assert!(ranks.is_sorted_by(|a, b| a < b));
        let sidecars = &stages[ranks.len()..];
        prop_assert!(sidecars.iter().all(|stage| stage.kind == StageKind::Sidecar && stage.members.len() == 1));
        let order: Vec<usize> = sidecars.iter().map(|stage| stage.members[0]).collect();
        prop_assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
        for (place, (role, rank)) in containers.iter().enumerate() {
            let stage = stages.iter().position(|stage| stage.members.contains(&place)).expect("a stage");
            match role {
                Role::Regular => prop_assert_eq!(stages[stage].kind, StageKind::Rank(*rank)),
                Role::Sidecar => prop_assert_eq!(stages[stage].kind, StageKind::Sidecar),
                Role::Init => prop_assert_eq!(stage, 0),
                Role::Ephemeral => prop_assert_eq!(stage, ranks.len() - 1),
            }
        }
    }

    /// G3, G6
    #[test]
    fn reserve_points_never_go_back_and_never_pass_the_deadline(
        per_rank in 0_u64..20_000, grace in 1_u64..4_000_000, ranks in 1_usize..40,
    ) {
        let (started, grace) = (Moment::from_millis(0), Duration::from_millis(grace));
        let deadline = started + grace;
        let reserve = Reserve::per_rank(Duration::from_millis(per_rank));
        let points: Vec<Moment> = (0..ranks).map(|place| reserve.point(deadline, grace, place, ranks)).collect();
        prop_assert!(points.is_sorted());
        prop_assert_eq!(points.last(), Some(&deadline));
        prop_assert!(points.iter().all(|point| *point >= started), "{points:?}");
        prop_assert!(reserve.share(grace, ranks) <= Duration::from_millis(per_rank));
    }

    /// 3.12.5
    #[test]
    fn a_process_is_killed_at_the_shortest_timeout_asked_for_and_not_before(
        inputs in collection::vec((stop_input(), 0_i64..8_000), 1..20),
    ) {
        let (mut stop, mut now) = (Stop::Running, Moment::from_millis(0));
        let (mut due, mut kills, mut signals) = (Moment::NEVER, 0, 0);
        for (input, pause) in inputs {
            now = now + Duration::from_millis(pause.unsigned_abs());
            let over = matches!(stop, Stop::Killed { .. } | Stop::Stuck { .. } | Stop::Gone { .. });
            if let (StopInput::Requested { signal, timeout }, false) = (input, over) {
                let at_once = stop == Stop::Running && signal == Signal::KILL;
                due = due.min(if at_once { now } else { now + timeout });
            }
            let step = stop.step(input, now);
            match step.effect {
                Some(StopEffect::Kill) => {
                    prop_assert!(now >= due, "killed at {now:?}, before {due:?}");
                    // The first comes from a request or a deadline; it is repeated only while it has not helped.
                    prop_assert_eq!(matches!(stop, Stop::Killed { .. }), kills > 0);
                    kills += 1;
                }
                Some(StopEffect::SendSignal(_)) => signals += 1,
                Some(StopEffect::ReportStuck) => prop_assert!(kills > 0 && now >= due + DEAD_WITHIN),
                None => {}
            }
            match step.state {
                Stop::Signalled { .. } => prop_assert_eq!(step.wake_at, Some(due)),
                Stop::Killed { at, .. } => prop_assert!(step.wake_at.is_some_and(|wake_at| wake_at <= at + DEAD_WITHIN)),
                Stop::Running | Stop::Stuck { .. } | Stop::Gone { .. } => prop_assert_eq!(step.wake_at, None),
            }
            prop_assert!(step.wake_at.is_none_or(|at| at > now));
            let again = step.state.step(input, now);
            let told_again = again.effect == Some(StopEffect::ReportStuck);
            prop_assert_eq!((again.state, again.effect.filter(|_| !told_again)), (step.state, None));
            stop = step.state;
        }
        prop_assert!(signals <= 1);
    }

    #[test]
    fn after_an_exit_a_stop_is_over_for_good(
        before in collection::vec(stop_input(), 0..6), after in collection::vec(stop_input(), 1..6),
    ) {
        let now = Moment::from_millis(5);
        let stop = before.into_iter().fold(Stop::Running, |stop, input| stop.step(input, now).state);
        let gone = stop.step(StopInput::Exited, now).state;
        prop_assert_eq!(gone, Stop::Gone { at: now });
        for input in after {
            let step = gone.step(input, now + Duration::from_secs(60));
            prop_assert_eq!((step.state, step.effect, step.wake_at), (gone, None, None));
        }
    }
}
