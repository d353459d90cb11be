//! Requests that come while a pod is already ending.

use super::driver::{Driver, cause, regular, sidecar};
use crate::grace::Asked;
use crate::termination::{CauseKind, Input, Request};

/// 8.6; ours takes effect at once, upstream's does not (3.1.3).
#[test]
fn a_shorter_grace_takes_effect_at_once_and_counts_from_the_beginning() {
    let mut pod = Driver::delete(vec![regular("web")], 60);
    pod.asked();
    pod.until(5_000);
    pod.shorten(20);
    assert_eq!(pod.asked(), ["stop web kill@20000"]);
    assert_eq!(pod.deadline(), 20_000);
}

/// 8.8, G5
#[test]
fn a_longer_grace_changes_nothing() {
    let mut pod = Driver::delete(vec![regular("web")], 20);
    pod.asked();
    for seconds in [20, 21, 600] {
        pod.shorten(seconds);
    }
    assert_eq!((pod.asked(), pod.deadline()), (vec![], 20_000));
}

#[test]
fn a_grace_that_is_already_over_ends_now_but_leaves_each_container_its_floor() {
    let mut pod = Driver::delete(vec![sidecar("s"), regular("web")], 60);
    pod.asked();
    pod.until(1_000);
    pod.shorten(1);
    assert_eq!(pod.asked(), ["stop web kill@2000", "stop s kill@3000"]);
    let mut pod = Driver::delete(vec![sidecar("s"), regular("web")], 60);
    pod.asked();
    pod.until(30_000);
    pod.shorten(1);
    assert_eq!(pod.asked(), ["stop web kill@30000", "stop s kill@32000"]);
}

/// 1.3.4 on the node: the force delete of a pod that is stopping.
#[test]
fn a_force_delete_while_stopping_ends_hooks_and_kills_at_once() {
    let mut pod = Driver::delete(vec![regular("hooked").exec(), regular("web")], 60);
    pod.asked();
    pod.until(10_000);
    pod.shorten(0);
    assert_eq!(pod.asked(), ["stop hooked kill@12000", "stop web kill@10000"]);
}

#[test]
fn a_shortening_reaches_a_hook_that_is_running() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 60);
    pod.asked();
    pod.shorten(5);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(5_000);
    assert_eq!(pod.asked(), ["stop web kill@7000"]);
}

/// 3.1.2, 3.3.2: the first cause is the reason, later ones are noted once.
#[test]
fn later_causes_are_noted_once_and_do_not_replace_the_first() {
    let mut pod = Driver::delete(vec![regular("web")], 60);
    for _ in 0..2 {
        pod.feed(Input::Requested(cause(CauseKind::Evict, 60)));
    }
    let kinds: Vec<CauseKind> = pod.state().known().causes.iter().map(|cause| cause.kind).collect();
    assert_eq!(kinds, [CauseKind::Delete, CauseKind::Evict]);
}

#[test]
fn a_flood_of_causes_is_bounded() {
    let mut pod = Driver::delete(vec![regular("web")], 60);
    for n in 0..100 {
        let mut request = cause(CauseKind::Evict, 60);
        request.cause.message = format!("low on memory, {n}");
        pod.feed(Input::Requested(request));
    }
    assert_eq!(pod.state().known().causes.len(), 16);
}

/// 5.8.1
#[test]
fn a_node_shutdown_with_less_time_shortens_a_delete_and_the_object_is_still_deleted() {
    let mut pod = Driver::delete(vec![regular("web")], 60);
    pod.asked();
    pod.feed(Input::Requested(cause(CauseKind::NodeShutdown, 10)));
    assert_eq!(pod.asked(), ["stop web kill@10000"]);
    pod.exit("web", 0);
    pod.asked();
    assert_eq!(pod.close(), ["list", "publish", "volumes", "delete object"]);
}

/// A delete of a pod that ends for another reason: the object goes in the end.
#[test]
fn a_delete_during_an_eviction_lets_the_object_go_afterwards() {
    let mut pod = Driver::request(vec![regular("web")], cause(CauseKind::Evict, 5));
    pod.feed(Input::Requested(Request::delete(Asked { deletion_seconds: Some(30), ..Asked::default() })));
    pod.exit("web", 143);
    pod.asked();
    assert_eq!(pod.close(), ["list", "publish", "volumes", "delete object"]);
}

/// Stale answers belong to calls that were replaced.
#[test]
fn the_answer_to_a_replaced_call_is_ignored() {
    let mut pod = Driver::delete(vec![regular("web")], 60);
    let old = pod.call("stop", Some("web"));
    pod.shorten(20);
    pod.asked();
    let slot = pod.slot("web");
    pod.feed(Input::StopFailed { slot, call: old, error: "cancelled".into() });
    pod.feed(Input::StopSucceeded { slot, call: old });
    assert_eq!(pod.asked(), [""; 0]);
}
