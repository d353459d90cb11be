//! Deletion and grace: whatever is asked, in whatever order, time only shrinks.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use lifecycle::deletion::{DeleteOptions, Deletion, Propagation, decide};
use lifecycle::grace::{Asked, Change, Grace, of_pod};
use lifecycle::moment::Moment;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, option, prop_assert, prop_assert_eq, proptest};

/// Everybody's clock in these tests starts here: a whole second, as times in objects are.
const START_MILLIS: i64 = 1_700_000_000_000;

fn seconds() -> impl Strategy<Value = i64> {
    prop_oneof![-3_i64..3, 0_i64..120, Just(i64::MAX), any::<i64>()]
}

fn request() -> impl Strategy<Value = DeleteOptions> {
    let propagation = option::of(prop_oneof![
        Just(Propagation::Foreground),
        Just(Propagation::Background),
        Just(Propagation::Orphan)
    ]);
    let grace = option::of(prop_oneof![3 => -3_i64..120, 1 => Just(0_i64)]);
    (grace, propagation).prop_map(|(grace_seconds, propagation)| DeleteOptions {
        grace_seconds,
        propagation,
        ..DeleteOptions::new()
    })
}

/// A pod on a node, with a finalizer or without.
fn pod() -> impl Strategy<Value = Pod> {
    (option::of(0_i64..120), any::<bool>()).prop_map(|(grace, held)| {
        let mut pod = Pod::default();
        pod.metadata.generation = Some(1);
        pod.metadata.finalizers = held.then(|| vec!["example.com/keeper".to_owned()]);
        pod.spec = Some(PodSpec {
            node_name: Some("node".into()),
            termination_grace_period_seconds: grace,
            ..PodSpec::default()
        });
        pod
    })
}

fn at(millis: i64) -> Moment {
    Moment::from_millis(START_MILLIS + millis)
}

/// The pod as stored after a request; `None` once it is removed.
fn stored_after(pod: &Pod, request: &DeleteOptions, now: Moment) -> Option<Pod> {
    let mut pod = pod.clone();
    match decide(&pod, request, now).expect("no precondition") {
        Deletion::Pending => Some(pod),
        Deletion::Mark(marks) => {
            marks.apply(&mut pod.metadata);
            Some(pod)
        }
        Deletion::Remove(_) => None,
    }
}

fn deadline(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.deletion_timestamp.as_ref().map(|Time(at)| *at)
}

proptest! {
    /// 1.3.1–1.3.6
    #[test]
    fn a_repeated_delete_never_moves_the_deadline_later_nor_lengthens_the_grace(
        pod in pod(),
        requests in collection::vec((request(), 0_i64..40_000), 1..8),
    ) {
        let (mut pod, mut now) = (pod, 0);
        for (request, pause) in requests {
            now += pause;
            let Some(after) = stored_after(&pod, &request, at(now)) else { return Ok(()) };
            if let Some(before) = deadline(&pod) {
                // A deadline that has passed is raised to the moment of the request, never beyond.
                let now = Timestamp::from_millisecond(START_MILLIS + now).unwrap();
                prop_assert!(deadline(&after).is_some_and(|later| later <= before || later <= now));
                let grace = |pod: &Pod| pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
                prop_assert!(grace(&after) <= grace(&pod), "{} > {}", grace(&after), grace(&pod));
            }
            prop_assert!(deadline(&after).is_some(), "a delete marks");
            pod = after;
        }
    }

    /// 1.1.5
    #[test]
    fn a_negative_grace_period_equals_one_second(pod in pod(), seconds in i64::MIN..0) {
        let ask = |seconds| decide(&pod, &DeleteOptions::new().grace(seconds), at(0));
        prop_assert_eq!(ask(seconds), ask(1));
        prop_assert_eq!(Grace::from_seconds(seconds), Grace::from_seconds(1));
    }

    #[test]
    fn the_same_delete_again_at_the_same_moment_changes_nothing_more(pod in pod(), request in request()) {
        let Some(once) = stored_after(&pod, &request, at(0)) else { return Ok(()) };
        prop_assert_eq!(stored_after(&once, &request, at(0)), Some(once));
    }

    /// 1.5.2
    #[test]
    fn an_object_with_a_finalizer_is_never_removed(pod in pod(), requests in collection::vec(request(), 1..6)) {
        let mut stored = pod;
        stored.metadata.finalizers = Some(vec!["example.com/keeper".to_owned()]);
        for request in requests {
            let after = stored_after(&stored, &request, at(0));
            prop_assert!(after.is_some());
            stored = after.unwrap();
        }
    }

    /// 3.2.2, 8.8
    #[test]
    fn a_pods_grace_period_never_grows(first in seconds(), deletion in option::of(seconds()), by_node in option::of(seconds())) {
        let before = Grace::from_seconds(first);
        let asked = Asked { deletion_seconds: deletion, override_seconds: by_node, spec_seconds: Some(30) };
        let change = of_pod(Some(before), asked);
        prop_assert!(change.grace() <= before);
        prop_assert_eq!(matches!(change, Change::Shortened(_)), change.grace() < before);
        prop_assert_eq!(of_pod(Some(change.grace()), asked), Change::Kept(change.grace()));
    }

    #[test]
    fn the_order_of_requests_does_not_matter_for_the_shortest(
        requests in collection::vec(seconds(), 1..8).prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let settle = |requests: &[i64]| {
            let asked = |seconds: &i64| Asked { deletion_seconds: Some(*seconds), ..Asked::default() };
            requests.iter().fold(None, |grace, seconds| Some(of_pod(grace, asked(seconds)).grace()))
        };
        let (given, shuffled) = requests;
        prop_assert_eq!(settle(&given), settle(&shuffled));
        prop_assert_eq!(settle(&given), given.iter().map(|seconds| Grace::from_seconds(*seconds)).min());
    }

    #[test]
    fn a_pod_always_gets_at_least_a_second(asked in seconds()) {
        let grace = Grace::from_seconds(asked);
        prop_assert!(grace.effective() >= Duration::from_secs(1));
        prop_assert!(grace.blocking_timeout() >= grace.effective());
        prop_assert_eq!(grace.runs_hooks(), asked != 0);
    }
}
