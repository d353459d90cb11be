//! The order of steps: what comes before what in the end of a whole pod.

use super::driver::{Driver, cause, deletion, regular, sidecar};
use crate::grace::Asked;
use crate::termination::{CauseKind, Input, ObjectFate, Request};

fn place(trace: &[String], word: &str) -> usize {
    trace.iter().position(|other| other == word).unwrap_or_else(|| panic!("no {word:?} in {trace:?}"))
}

/// 3.4.1, 3.4.2, 3.4.3, 3.4.4, 3.4.7
#[test]
fn an_end_is_noted_then_probes_end_then_containers_then_all_probes_then_the_sandbox_then_the_status() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    assert_eq!(pod.trace(), ["save", "end restarting probes", "event killing web", "stop web kill@30000"]);
    pod.exit("web", 0);
    assert_eq!(pod.trace(), ["end all probes", "stop sandbox"]);
    pod.close();
    assert_eq!(pod.trace(), ["list", "publish", "volumes", "delete object"]);
}

/// 3.4.1, 3.8.4
#[test]
fn nothing_is_published_while_a_container_may_run_whatever_the_cause() {
    for kind in [CauseKind::Delete, CauseKind::Evict, CauseKind::NodeShutdown, CauseKind::DeadlineExceeded] {
        let mut pod = Driver::request(vec![regular("web"), regular("slow")], cause(kind, 10));
        pod.until(5_000);
        pod.exit("web", 143);
        pod.until(11_000);
        assert!(!pod.trace().contains(&"publish".to_owned()), "{kind:?}");
        pod.exit("slow", 137);
        pod.feed(Input::SandboxStopped { call: pod.call("sandbox", None) });
        assert!(!pod.trace().contains(&"publish".to_owned()), "{kind:?}");
        pod.listed(vec![]);
        assert_eq!(pod.trace(), ["publish"], "{kind:?}");
    }
}

/// 3.4.2, 3.11.1
#[test]
fn probes_that_restart_end_before_any_container_hears_of_the_end() {
    let mut pod = Driver::delete(vec![sidecar("s").exec(), regular("a").exec(), regular("b")], 30);
    let trace = pod.trace();
    let probes = place(&trace, "end restarting probes");
    let touches = |word: &String| word.starts_with("hook") || word.starts_with("stop");
    assert!(trace.iter().position(touches).unwrap() > probes);
    assert!(!trace.contains(&"end all probes".to_owned()));
}

/// 3.4.3
#[test]
fn a_failed_stop_is_told_and_the_sandbox_waits_for_the_next_try() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.trace();
    pod.stop_fails("web");
    assert_eq!(pod.trace(), ["event kill failed"]);
    pod.until(1_000);
    pod.exit("web", 0);
    assert_eq!(pod.trace(), ["stop web kill@30000", "end all probes", "stop sandbox"]);
}

/// 3.4.4, 3.6.8
#[test]
fn readiness_probes_and_the_sandbox_go_only_after_the_last_container() {
    let mut pod = Driver::delete(vec![sidecar("s"), regular("a"), regular("b")], 30);
    for name in ["a", "b"] {
        pod.exit(name, 0);
        let trace = pod.trace();
        assert!(!trace.iter().any(|word| word == "end all probes" || word == "stop sandbox"), "{name}");
    }
    pod.exit("s", 0);
    assert_eq!(pod.trace(), ["end all probes", "stop sandbox"]);
}

/// 3.5.2
#[test]
fn an_override_replaces_the_pods_own_grace_be_it_shorter_or_longer() {
    for seconds in [5, 60] {
        let pod = Driver::request(vec![regular("web")], cause(CauseKind::Evict, seconds));
        assert_eq!(pod.deadline(), i64::try_from(seconds).unwrap() * 1_000);
    }
    let asked = Asked { override_seconds: Some(5), ..deletion(20) };
    assert_eq!(Driver::request(vec![regular("web")], Request::new(CauseKind::Evict, asked)).deadline(), 5_000);
}

/// 3.5.3
#[test]
fn a_container_is_told_of_then_runs_its_hook_then_awaits_its_turn_then_is_stopped() {
    let mut pod = Driver::delete(vec![sidecar("s").exec(), regular("web")], 30);
    let trace = pod.trace();
    assert!(place(&trace, "event killing s") < place(&trace, "hook s"));
    pod.until(4_000);
    pod.hook_ends("s", Ok(()));
    assert_eq!(pod.trace(), ["save"]);
    pod.until(7_500);
    pod.exit("web", 0);
    assert_eq!(pod.trace(), ["stop s kill@30000"]);
}

/// 3.6.3, 3.6.6
#[test]
fn whoever_awaits_a_turn_stops_waiting_when_the_one_common_time_is_over() {
    let mut pod = Driver::delete(vec![sidecar("s"), sidecar("t").sleeping(10), regular("web")], 30);
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
    pod.until(29_999);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop t kill@32000", "stop s kill@32000"]);
}

/// 3.9.1
#[test]
fn the_object_waits_for_the_volumes_and_the_volumes_for_the_status() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.exit("web", 0);
    pod.feed(Input::SandboxStopped { call: pod.call("sandbox", None) });
    pod.listed(vec![]);
    pod.asked();
    pod.feed(Input::StatusPublishFailed { call: pod.call("publish", None), error: "conflict".into() });
    pod.until(1_000);
    assert_eq!(pod.asked(), ["publish"]);
    pod.feed(Input::StatusPublished { call: pod.call("publish", None) });
    pod.feed(Input::VolumeTeardownFailed { call: pod.call("volumes", None), error: "busy".into() });
    pod.until(2_000);
    assert_eq!(pod.asked(), ["volumes", "volumes"]);
    pod.feed(Input::VolumesTornDown { call: pod.call("volumes", None) });
    assert_eq!(pod.asked(), ["delete object"]);
}

/// 3.9.2
#[test]
fn only_an_object_that_somebody_deleted_is_let_go_and_only_with_its_final_status() {
    for (request, last) in [(Request::delete(deletion(30)), "delete object"), (cause(CauseKind::Evict, 1), "volumes")] {
        let mut pod = Driver::request(vec![regular("web")], request);
        pod.exit("web", 143);
        pod.close();
        let trace = pod.trace();
        assert!(place(&trace, "publish") < place(&trace, last));
        assert_eq!(trace.last().map(String::as_str), Some(last));
    }
}

/// 3.9.3
#[test]
fn a_delete_that_failed_is_tried_again_and_one_that_found_nothing_is_done() {
    let closing = || {
        let mut pod = Driver::delete(vec![], 30);
        pod.feed(Input::SandboxStopped { call: pod.call("sandbox", None) });
        pod.listed(vec![]);
        pod.feed(Input::StatusPublished { call: pod.call("publish", None) });
        pod.feed(Input::VolumesTornDown { call: pod.call("volumes", None) });
        pod.asked();
        pod
    };
    let mut pod = closing();
    pod.feed(Input::ObjectDeleteFailed { call: pod.call("delete", None), error: "timeout".into() });
    pod.until(1_000);
    assert_eq!(pod.asked(), ["delete object"]);
    pod.feed(Input::ObjectDeleted { call: pod.call("delete", None) });
    assert_eq!((pod.state().is_finished(), pod.state().known().object), (true, ObjectFate::Released));
    let mut pod = closing();
    pod.feed(Input::ObjectVanished);
    assert_eq!((pod.state().is_finished(), pod.state().known().object), (true, ObjectFate::Vanished));
}

/// 3.9.4: what finalizers still hold is theirs; the machine asks for nothing more.
#[test]
fn an_object_that_outlives_its_delete_is_not_deleted_again() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.exit("web", 0);
    pod.close();
    pod.shorten(0);
    pod.until(600_000);
    assert_eq!(pod.asked(), [""; 0]);
    assert!(pod.state().is_finished());
}
