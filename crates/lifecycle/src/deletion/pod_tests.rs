//! One test per documented rule of deleting a pod.

use k8s_openapi::api::core::v1::{PodSpec, PodStatus};

use super::*;
use crate::deletion::Propagation;

const NOW: Moment = Moment::from_millis(1_000_000);

fn at(seconds_after_now: i64) -> Moment {
    Moment::from_millis(NOW.millis() + seconds_after_now * 1000)
}

/// A bound pod of generation 1 with a grace period of 30 s.
fn pod() -> Pod {
    let mut pod = Pod::default();
    pod.metadata.uid = Some("uid-1".into());
    pod.metadata.resource_version = Some("7".into());
    pod.metadata.generation = Some(1);
    pod.spec = Some(PodSpec {
        node_name: Some("node".into()),
        termination_grace_period_seconds: Some(30),
        ..PodSpec::default()
    });
    pod
}

/// A pod deleted `ago` seconds before now with the stored grace.
fn terminating(stored_grace: Option<i64>, ago: i64) -> Pod {
    let mut pod = pod();
    pod.metadata.generation = Some(2);
    pod.metadata.deletion_grace_period_seconds = stored_grace;
    let grace = stored_grace.map_or(0, |grace| grace.max(0));
    pod.metadata.deletion_timestamp = Some(at(grace - ago).whole_second());
    pod
}

fn with_finalizer(mut pod: Pod) -> Pod {
    pod.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    pod
}

fn marks(deletion_timestamp: Moment, grace_seconds: i64, generation: i64) -> Marks {
    Marks { deletion_timestamp, grace_seconds, generation: Some(generation), finalizers: vec![] }
}

fn delete(pod: &Pod, options: &DeleteOptions) -> Deletion {
    decide(pod, options, NOW).unwrap()
}

fn plain() -> DeleteOptions {
    DeleteOptions::new()
}

/// 1.2.1, 1.4.1, 1.4.2
#[test]
fn a_failed_precondition_is_a_conflict_before_anything_else() {
    let error = decide(&pod(), &plain().uid("uid-2"), NOW).unwrap_err();
    assert!(
        error.to_string().starts_with("the UID in the precondition (uid-2) does not match the UID in record (uid-1).")
    );
    let mut options = plain();
    options.preconditions.resource_version = Some("6".into());
    let error = decide(&pod(), &options, NOW).unwrap_err();
    let text = "the ResourceVersion in the precondition (6) does not match the ResourceVersion in record (7). The object might have been modified";
    assert_eq!(error.to_string(), text);
    assert!(decide(&pod(), &plain().uid("uid-1"), NOW).is_ok());
}

/// 1.2.3, 1.2.7, 1.2.8
#[test]
fn a_first_delete_marks_the_deadline_and_bumps_the_generation() {
    assert_eq!(delete(&pod(), &plain()), Deletion::Mark(marks(at(30), 30, 2)));
    assert_eq!(delete(&pod(), &plain().grace(5)), Deletion::Mark(marks(at(5), 5, 2)));
}

/// 1.2.3
#[test]
fn without_any_grace_period_the_pod_is_removed_at_once() {
    let mut pod = pod();
    pod.spec.as_mut().unwrap().termination_grace_period_seconds = None;
    assert_eq!(delete(&pod, &plain()), Deletion::Remove(Some(marks(NOW, 0, 2))));
}

/// 1.2.2, 1.2.6
#[test]
fn a_negative_grace_period_means_one_second() {
    assert_eq!(delete(&pod(), &plain().grace(-5)), Deletion::Mark(marks(at(1), 1, 2)));
    let mut pod = pod();
    pod.spec.as_mut().unwrap().termination_grace_period_seconds = Some(-30);
    assert_eq!(delete(&pod, &plain()), Deletion::Mark(marks(at(1), 1, 2)));
}

/// 1.2.4
#[test]
fn an_unscheduled_pod_goes_at_once() {
    for node in [None, Some(String::new())] {
        let mut pod = pod();
        pod.spec.as_mut().unwrap().node_name = node;
        assert_eq!(delete(&pod, &plain().grace(60)), Deletion::Remove(Some(marks(NOW, 0, 2))));
    }
}

/// 1.2.5, 1.2.11
#[test]
fn a_terminal_pod_goes_at_once_and_a_pending_bound_one_keeps_its_grace() {
    let in_phase =
        |phase: &str| Pod { status: Some(PodStatus { phase: Some(phase.into()), ..PodStatus::default() }), ..pod() };
    for phase in ["Failed", "Succeeded"] {
        assert_eq!(delete(&in_phase(phase), &plain()), Deletion::Remove(Some(marks(NOW, 0, 2))));
    }
    for phase in ["Pending", "Running", "Unknown"] {
        assert_eq!(delete(&in_phase(phase), &plain()), Deletion::Mark(marks(at(30), 30, 2)));
    }
}

/// 1.2.8
#[test]
fn an_object_without_generation_does_not_get_one() {
    let mut pod = pod();
    pod.metadata.generation = None;
    let Deletion::Mark(marks) = delete(&pod, &plain()) else { panic!("not marked") };
    assert_eq!(marks.generation, None);
}

/// 1.2.9
#[test]
fn a_force_delete_is_marked_before_it_is_removed() {
    assert_eq!(delete(&pod(), &plain().grace(0)), Deletion::Remove(Some(marks(NOW, 0, 2))));
}

/// 1.2.9, 1.3.1
#[test]
fn a_delete_after_a_half_done_removal_removes() {
    for stored in [None, Some(0)] {
        for options in [plain(), plain().grace(0), plain().grace(60)] {
            assert_eq!(delete(&terminating(stored, 3), &options), Deletion::Remove(None));
        }
    }
}

/// 1.3.7
#[test]
fn a_repeated_delete_follows_the_table() {
    enum After {
        Pending,
        Removed,
        Grace(i64),
    }
    let rows = [
        (-1, -1, After::Pending),
        (-1, 0, After::Removed),
        (-1, 1, After::Pending),
        (-1, 2, After::Pending),
        (1, -1, After::Pending),
        (1, 0, After::Removed),
        (1, 1, After::Pending),
        (1, 2, After::Pending),
        (2, -1, After::Grace(1)),
        (2, 0, After::Removed),
        (2, 1, After::Grace(1)),
        (2, 2, After::Pending),
    ];
    for (stored, asked, after) in rows {
        let outcome = delete(&terminating(Some(stored), 0), &plain().grace(asked));
        match after {
            After::Pending => assert_eq!(outcome, Deletion::Pending, "{stored}/{asked}"),
            After::Removed => assert!(matches!(outcome, Deletion::Remove(Some(_))), "{stored}/{asked}: {outcome:?}"),
            After::Grace(grace) => assert_eq!(outcome, Deletion::Mark(marks(at(grace), grace, 2)), "{stored}/{asked}"),
        }
    }
}

/// 1.3.2, 1.3.5, 1.3.6
#[test]
fn a_longer_or_absent_grace_changes_nothing_not_even_finalizers() {
    let foreground = DeleteOptions { propagation: Some(Propagation::Foreground), ..plain() };
    for options in [plain(), plain().grace(30), plain().grace(31), plain().grace(i64::MAX), foreground] {
        assert_eq!(delete(&terminating(Some(30), 3), &options), Deletion::Pending);
    }
}

/// 1.3.3
#[test]
fn a_shorter_grace_counts_from_the_first_request() {
    let outcome = delete(&terminating(Some(60), 10), &plain().grace(20));
    assert_eq!(outcome, Deletion::Mark(marks(at(10), 20, 2)));
}

/// 1.3.3, last row of 1.3.7
#[test]
fn a_shorter_grace_that_is_already_over_leaves_the_node_one_second() {
    let outcome = delete(&terminating(Some(60), 55), &plain().grace(50));
    assert_eq!(outcome, Deletion::Mark(marks(NOW, 1, 2)));
}

/// 1.3.4
#[test]
fn a_force_delete_of_a_terminating_pod_removes_it_in_the_same_request() {
    assert_eq!(delete(&terminating(Some(60), 5), &plain().grace(0)), Deletion::Remove(Some(marks(NOW, 0, 2))));
}

/// 1.5.2
#[test]
fn a_finalizer_holds_every_removal() {
    let held = |deletion_timestamp, generation| {
        let finalizers = vec!["example.com/hold".to_owned()];
        Deletion::Mark(Marks { finalizers, ..marks(deletion_timestamp, 0, generation) })
    };
    assert_eq!(delete(&with_finalizer(pod()), &plain().grace(0)), held(NOW, 2));
    assert_eq!(delete(&with_finalizer(terminating(Some(30), 5)), &plain().grace(0)), held(NOW, 2));
    assert_eq!(delete(&with_finalizer(terminating(Some(0), 5)), &plain()), held(at(-5), 2));
    assert_eq!(delete(&with_finalizer(terminating(None, 5)), &plain()), held(at(-5), 2));
}

/// 1.5.1
#[test]
fn foreground_deletion_keeps_the_object_for_the_collector() {
    let foreground = DeleteOptions { propagation: Some(Propagation::Foreground), ..plain().grace(0) };
    let Deletion::Mark(marks) = delete(&pod(), &foreground) else { panic!("removed") };
    assert_eq!(marks.finalizers, ["foregroundDeletion"]);
}

/// 1.2.7
#[test]
fn marks_are_written_in_whole_seconds() {
    let mut metadata = ObjectMeta::default();
    let marks = Marks { finalizers: vec!["a".into()], ..marks(Moment::from_millis(5_999), 3, 4) };
    marks.apply(&mut metadata);
    assert_eq!(metadata.deletion_timestamp.unwrap().0.as_millisecond(), 5_000);
    assert_eq!(metadata.deletion_grace_period_seconds, Some(3));
    assert_eq!((metadata.generation, metadata.finalizers), (Some(4), Some(vec!["a".to_owned()])));
}

/// 2.5.3: there is no upper bound, so nothing may overflow.
#[test]
fn the_longest_grace_period_does_not_overflow() {
    let Deletion::Mark(marks) = delete(&pod(), &plain().grace(i64::MAX)) else { panic!("removed") };
    assert_eq!((marks.deletion_timestamp, marks.grace_seconds), (Moment::NEVER, i64::MAX));
    let mut pod = pod();
    marks.apply(&mut pod.metadata);
    assert!(matches!(delete(&pod, &plain().grace(5)), Deletion::Mark(_)));
}
