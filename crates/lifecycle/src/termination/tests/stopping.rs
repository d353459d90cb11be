//! Hooks, signals, the floor, retries: what happens to single containers.

use k8s_openapi::api::core::v1::{Container, Lifecycle, LifecycleHandler, Pod, PodSpec, SleepAction};
use model::gates::{FeatureGates, Gate};

use super::driver::{Driver, regular, sidecar};
use crate::exit_order::stages::{Reserve, Role};
use crate::grace::Asked;
use crate::hook::Hook;
use crate::moment::Moment;
use crate::termination::{
    CauseKind, HookOutcome, Input, Observation, Observed, Plan, PlanSettings, Recovery, Request, Scope, SkipReason,
    Verdict,
};

fn verdict(driver: &Driver) -> Verdict {
    driver.state().record().verdict
}

fn hook_outcome(driver: &Driver, name: &str) -> HookOutcome {
    let slot = driver.slot(name);
    driver.state().known().containers[slot.index()].ledger.hook_outcome.clone().expect("a hook outcome")
}

/// 8.1, 3.5.4
#[test]
fn a_container_without_hook_is_stopped_at_once_with_the_whole_grace() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
    pod.until(3_000);
    pod.exit("web", 0);
    assert_eq!(pod.asked(), ["stop sandbox"]);
    assert_eq!(pod.close(), ["list", "publish", "volumes", "delete object"]);
    assert!(pod.state().is_finished());
    assert_eq!(verdict(&pod), Verdict::Graceful);
}

/// 8.3, 3.5.4
#[test]
fn the_stop_follows_the_hook_with_the_time_that_is_left() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 30);
    assert_eq!(pod.asked(), ["hook web"]);
    pod.until(10_000);
    pod.hook_ends("web", Ok(()));
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
}

/// 8.3, 3.5.5
#[test]
fn a_hook_that_never_ends_leaves_the_floor_of_two_seconds() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 30);
    pod.asked();
    pod.until(29_999);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop web kill@32000"]);
    assert_eq!(hook_outcome(&pod, "web"), HookOutcome::TimedOut);
    pod.until(32_000);
    pod.exit("web", 137);
    assert_eq!(verdict(&pod), Verdict::GraceExceeded);
}

/// 3.5.5
#[test]
fn a_failed_hook_is_told_and_changes_nothing_else() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 30);
    pod.asked();
    pod.until(4_000);
    pod.hook_ends("web", Err("exit 1"));
    assert_eq!(pod.asked(), ["event hook failed web", "stop web kill@30000"]);
    pod.exit("web", 0);
    assert_eq!(verdict(&pod), Verdict::HookFailed);
}

/// 4.5.1
#[test]
fn a_tcp_socket_hook_fails_and_the_stop_follows_at_once() {
    let pod = regular("web").hooked(Hook::Invalid { handler: "tcpSocket".into() });
    let mut pod = Driver::delete(vec![pod], 30);
    assert_eq!(pod.asked(), ["event hook failed web", "stop web kill@30000"]);
}

/// 4.4.6, 4.4.1, I6
#[test]
fn a_sleep_is_waited_for_by_the_machine_itself_and_zero_is_no_wait() {
    let mut pod = Driver::delete(vec![regular("slow").sleeping(5), regular("quick").sleeping(0)], 30);
    assert_eq!(pod.asked(), ["stop quick kill@30000"]);
    pod.until(5_000);
    assert_eq!(pod.asked(), ["stop slow kill@30000"]);
    assert_eq!(hook_outcome(&pod, "slow"), HookOutcome::Succeeded);
}

/// 2.3.7
#[test]
fn the_node_sleeps_for_whatever_it_finds_whether_the_gate_is_on_or_off() {
    let lifecycle = Lifecycle {
        pre_stop: Some(LifecycleHandler { sleep: Some(SleepAction { seconds: 0 }), ..Default::default() }),
        ..Default::default()
    };
    let container = Container { name: "web".into(), lifecycle: Some(lifecycle), ..Default::default() };
    let spec = PodSpec { containers: vec![container], ..Default::default() };
    let pod = Pod { spec: Some(spec), ..Default::default() };
    let off = FeatureGates::ALL_ON.without(Gate::PodLifecycleSleepActionAllowZero);
    let plan = Plan::of_pod(&pod, PlanSettings { gates: off, ..PlanSettings::default() });
    let running = Driver::running(&plan);
    let mut pod = Driver::begin(plan, Request::delete(super::driver::grace(30)), &running, Recovery::Anew);
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
}

/// 4.4.4
#[test]
fn a_sleep_longer_than_the_grace_is_given_up_at_the_deadline() {
    let mut pod = Driver::delete(vec![regular("web").sleeping(60)], 30);
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop web kill@32000"]);
    assert_eq!(hook_outcome(&pod, "web"), HookOutcome::TimedOut);
}

/// A sleep as long as the grace ends in time, but leaves only the floor.
#[test]
fn a_sleep_equal_to_the_grace_leaves_the_floor() {
    let mut pod = Driver::delete(vec![regular("web").sleeping(30)], 30);
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop web kill@32000"]);
    assert_eq!(hook_outcome(&pod, "web"), HookOutcome::Succeeded);
}

/// The decision on preStop with a grace period of zero (upstream: 3.4.8).
#[test]
fn no_hook_runs_with_a_grace_of_zero() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 0);
    assert_eq!(pod.asked(), ["stop web kill@2000"]);
    assert_eq!(hook_outcome(&pod, "web"), HookOutcome::Skipped(SkipReason::ZeroGrace));
    assert_eq!(verdict(&pod), Verdict::ForceDeleted);
}

/// 8.5
#[test]
fn a_grace_of_one_second_runs_hooks_and_stops_with_the_floor() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 1);
    assert_eq!(pod.asked(), ["hook web"]);
    pod.until(1_000);
    assert_eq!(pod.asked(), ["stop web kill@3000"]);
}

/// 4.4.5, 3.5.6
#[test]
fn no_hook_runs_for_a_container_that_had_already_exited() {
    let plan = Driver::plan(vec![regular("done").exec(), regular("web")]);
    let observed = [Observation { slot: plan.find("web").unwrap(), attempt: 0, state: Observed::Running }];
    let mut pod = Driver::begin(plan, Request::delete(super::driver::grace(30)), &observed, Recovery::Anew);
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
}

/// Ours: upstream waits for the hook of a dead container (4.4.3).
#[test]
fn a_container_that_exits_during_its_hook_is_gone_at_once() {
    let mut pod = Driver::delete(vec![regular("web").sleeping(20)], 30);
    pod.until(2_000);
    pod.exit("web", 0);
    assert_eq!(pod.asked(), ["stop sandbox"]);
    assert_eq!(hook_outcome(&pod, "web"), HookOutcome::CutShort);
}

/// 4.1.5, 3.6.1
#[test]
fn hooks_of_different_containers_run_side_by_side() {
    let mut pod = Driver::delete(vec![regular("a").exec(), regular("b").exec(), sidecar("s").exec()], 30);
    assert_eq!(pod.asked(), ["hook a", "hook b", "hook s"]);
}

/// 3.4.3, 3.6.7: the deadline stays, unlike upstream's full grace per try.
#[test]
fn a_failed_stop_is_tried_again_within_the_same_deadline() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.asked();
    pod.stop_fails("web");
    assert_eq!(pod.asked(), ["event kill failed"]);
    pod.until(1_000);
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
    pod.stop_fails("web");
    pod.until(3_000);
    assert_eq!(pod.asked(), ["event kill failed", "stop web kill@30000"]);
    pod.until(35_000);
    pod.stop_fails("web");
    pod.until(39_000);
    assert_eq!(pod.asked(), ["event kill failed", "stop web kill@41000"]);
}

/// An intention is not an observation: only an observed exit counts.
#[test]
fn a_successful_stop_call_is_not_yet_an_exit() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.asked();
    pod.stop_succeeds("web");
    assert_eq!(pod.asked(), ["list"]);
    pod.listed(vec![]);
    assert_eq!(pod.asked(), ["stop sandbox"]);
}

/// 3.4.5
#[test]
fn a_container_that_runs_although_stopped_is_stopped_again() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.asked();
    pod.stop_succeeds("web");
    let running = Driver::running(&pod.state().known().plan.clone());
    pod.listed(running);
    pod.until(1_000);
    assert_eq!(pod.asked(), ["list", "event kill failed", "stop web kill@30000"]);
}

/// 3.4.5
#[test]
fn a_container_found_running_by_the_last_look_is_stopped_before_anything_else() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.exit("web", 0);
    pod.feed(Input::SandboxStopped { call: pod.call("sandbox", None) });
    pod.asked();
    pod.listed(vec![Observation { slot: pod.slot("web"), attempt: 1, state: Observed::Running }]);
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
}

/// 3.10.8
#[test]
fn closing_steps_are_tried_until_they_work() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.exit("web", 0);
    pod.asked();
    for second in [1, 3, 7, 15, 25, 35] {
        pod.feed(Input::SandboxStopFailed { call: pod.call("sandbox", None), error: "boom".into() });
        pod.until(second * 1_000);
        assert_eq!(pod.asked(), ["event kill failed", "stop sandbox"], "{second}");
    }
    assert_eq!(pod.close(), ["list", "publish", "volumes", "delete object"]);
}

/// 3.9.5, 5.5.9
#[test]
fn a_pod_that_nobody_deleted_keeps_its_object_until_somebody_does() {
    let mut pod = Driver::request(vec![regular("web")], super::driver::cause(CauseKind::NodeShutdown, 10));
    pod.exit("web", 0);
    pod.asked();
    assert_eq!(pod.close(), ["list", "publish", "volumes"]);
    assert!(pod.state().is_finished());
    pod.shorten(0);
    assert_eq!(pod.asked(), ["delete object"]);
    pod.feed(Input::ObjectDeleted { call: pod.call("delete", None) });
    pod.shorten(0);
    assert_eq!(pod.asked(), [""; 0]);
}

/// 3.2.6
#[test]
fn a_pod_whose_object_vanished_is_ended_without_publishing_or_deleting() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.feed(Input::ObjectVanished);
    pod.exit("web", 0);
    pod.asked();
    assert_eq!(pod.close(), ["list", "volumes"]);
    assert!(pod.state().is_finished());
}

/// 3.5.1, 8.7: the one stop routine, for one container of a living pod.
#[test]
fn one_container_of_a_living_pod_is_stopped_by_the_same_routine() {
    let whole = Driver::plan(vec![regular("web").exec(), regular("other")]);
    let plan = whole.of_container(whole.find("web").unwrap());
    let grace = crate::grace::of_container(None, Some(60), Some(10));
    let asked = Asked { override_seconds: i64::try_from(grace.requested_seconds()).ok(), ..Asked::default() };
    let running = Driver::running(&plan);
    let mut pod = Driver::begin(plan, Request::new(CauseKind::LivenessFailed, asked), &running, Recovery::Anew);
    pod.hook_ends("web", Ok(()));
    assert_eq!(pod.asked(), ["hook web", "stop web kill@10000"]);
    pod.exit("web", 0);
    assert!(pod.state().is_finished() && pod.asked().is_empty());
}

/// W4
#[test]
fn a_delete_during_the_stop_of_one_container_takes_that_stop_over() {
    let plan = Driver::plan(vec![regular("web").exec(), regular("other")]);
    let mut observed = Driver::running(&plan);
    observed[0].state =
        Observed::AlreadyStopping { since: Moment::from_millis(-5_000), kill_at: Moment::from_millis(25_000) };
    let mut pod = Driver::begin(plan, Request::delete(super::driver::grace(10)), &observed, Recovery::Anew);
    assert_eq!(pod.asked(), ["stop web kill@10000", "stop other kill@10000"]);
}

#[test]
fn a_pod_without_running_containers_closes_at_once() {
    let plan = Plan::new(Scope::WholePod, vec![], Reserve::default());
    let mut pod = Driver::begin(plan, Request::delete(super::driver::grace(30)), &[], Recovery::Anew);
    assert_eq!(pod.asked(), ["stop sandbox"]);
}

/// 3.8.9
#[test]
fn a_kill_before_the_deadline_came_from_outside_and_memory_is_told_apart() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.until(1_000);
    pod.exit("web", 137);
    assert_eq!(verdict(&pod), Verdict::KilledFromOutside);

    let mut pod = Driver::delete(vec![super::driver::container("web", Role::Regular)], 30);
    let mut exit = crate::termination::Exit::with_code(137, Moment::from_millis(1_000));
    exit.out_of_memory = true;
    pod.feed(Input::ContainerExited { slot: pod.slot("web"), attempt: 0, exit });
    assert_eq!(verdict(&pod), Verdict::OomKilled);
}
