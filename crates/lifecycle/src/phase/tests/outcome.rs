//! Exit codes and causes, put together.

use super::{Builder, Cause, CauseKind, Is, Phase, View};
use crate::phase::{Explanation, Outcome, outcome, preserved};

fn evicted() -> Cause {
    Cause { kind: CauseKind::Evict, message: "The node was low on resource: memory. ".into() }
}

fn ended(codes: [i32; 2], causes: &[Cause]) -> Outcome {
    let pod = Builder::new("Always").main("a", Is::Exited(codes[0])).main("b", Is::Exited(codes[1]));
    outcome(&pod.0, View::Ended, causes)
}

fn reason(outcome: &Outcome) -> (Phase, &str) {
    (outcome.phase, outcome.explanation.reason.as_str())
}

/// 3.8.3a
#[test]
fn an_evicted_pod_whose_containers_all_exited_zero_succeeded_without_a_reason_but_was_disrupted() {
    let good = ended([0, 0], &[evicted()]);
    assert_eq!((good.phase, &good.explanation), (Phase::Succeeded, &Explanation::default()));
    assert_eq!(good.disruption.unwrap().message, evicted().message);
    let bad = ended([0, 143], &[evicted()]);
    assert_eq!(reason(&bad), (Phase::Failed, "Evicted"));
    assert_eq!((bad.explanation.message, bad.disruption.is_some()), (evicted().message, true));
}

/// 3.8.3a
#[test]
fn a_passed_deadline_fails_the_pod_whatever_its_exit_codes() {
    let late = Cause::new(CauseKind::DeadlineExceeded);
    let pod = ended([0, 0], std::slice::from_ref(&late));
    assert_eq!((reason(&pod), pod.disruption.is_some()), ((Phase::Failed, "DeadlineExceeded"), false));
    for causes in [[late.clone(), evicted()], [evicted(), late]] {
        let both = ended([0, 0], &causes);
        assert_eq!((reason(&both), both.disruption.is_some()), ((Phase::Failed, "DeadlineExceeded"), true));
    }
}

/// 3.8.3a, 3.3.2
#[test]
fn without_a_cause_that_decides_the_exit_codes_speak_and_of_several_the_last_counts() {
    let delete = Cause::new(CauseKind::Delete);
    assert_eq!(reason(&ended([0, 0], std::slice::from_ref(&delete))), (Phase::Succeeded, ""));
    assert_eq!(reason(&ended([0, 1], std::slice::from_ref(&delete))), (Phase::Failed, ""));
    let several = [evicted(), Cause::new(CauseKind::NodeShutdown), delete];
    assert_eq!(reason(&ended([0, 1], &several)), (Phase::Failed, "Terminated"));
}

/// 3.8.3, 3.8.3a
#[test]
fn a_cause_decides_where_exit_codes_do_not() {
    let pod = Builder::new("Always").main("a", Is::Waiting);
    assert_eq!(reason(&outcome(&pod.0, View::Ended, &[evicted()])), (Phase::Failed, "Evicted"));
}

/// 3.8.3
#[test]
fn an_outcome_that_the_api_shows_stays_as_it_is() {
    let mut pod = Builder::new("Always").main("a", Is::Exited(0)).0;
    let status = pod.status.as_mut().unwrap();
    (status.phase, status.reason) = (Some("Failed".into()), Some("Mine".into()));
    let outcome = outcome(&pod, View::Ended, &[evicted()]);
    assert_eq!((reason(&outcome), &outcome.disruption), ((Phase::Failed, "Mine"), &None));
}

/// 3.8.11
#[test]
fn reason_and_message_are_kept_as_long_as_the_phase_is() {
    let words = Explanation { reason: "NodeLost".into(), message: "gone".into() };
    assert_eq!(preserved(Some(Phase::Running), Phase::Running, &words), words);
    assert_eq!(preserved(Some(Phase::Running), Phase::Failed, &words), Explanation::default());
    assert_eq!(preserved(None, Phase::Pending, &words), Explanation::default());
    let mut pod = Builder::new("Always").main("a", Is::Running).0;
    let status = pod.status.as_mut().unwrap();
    (status.phase, status.reason) = (Some("Running".into()), Some("NodeLost".into()));
    assert_eq!(reason(&outcome(&pod, View::Ongoing, &[])), (Phase::Running, "NodeLost"));
    pod.spec.as_mut().unwrap().restart_policy = Some("Never".into());
    pod.status.as_mut().unwrap().container_statuses = Some(vec![super::status("a", Is::Exited(1))]);
    assert_eq!(reason(&outcome(&pod, View::Ongoing, &[])), (Phase::Failed, ""));
}
