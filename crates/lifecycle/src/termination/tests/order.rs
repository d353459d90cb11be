//! Who waits for whom: sidecars, ranks, reserve, expiry.

use super::driver::{Driver, container, regular, sidecar};
use crate::exit_order::stages::{Reserve, Role};
use crate::moment::Moment;
use crate::termination::{Observation, Observed, Plan, Recovery, Request, Scope, TurnReason};

fn turn(driver: &Driver, name: &str) -> Option<TurnReason> {
    let slot = driver.slot(name);
    driver.state().known().containers[slot.index()].ledger.turn.map(|turn| turn.reason)
}

/// 3.6.4, 3.6.12
#[test]
fn sidecars_go_one_by_one_in_reverse_after_the_last_regular_container() {
    let mut pod = Driver::delete(vec![sidecar("a"), sidecar("b"), sidecar("c"), regular("m")], 30);
    assert_eq!(pod.asked(), ["stop m kill@30000"]);
    pod.until(5_000);
    pod.exit("m", 0);
    assert_eq!(pod.asked(), ["stop c kill@30000"]);
    pod.exit("c", 0);
    assert_eq!(pod.asked(), ["stop b kill@30000"]);
    pod.exit("b", 0);
    assert_eq!(pod.asked(), ["stop a kill@30000"]);
    pod.exit("a", 0);
    assert_eq!(pod.asked(), ["stop sandbox"]);
}

/// 3.6.6
#[test]
fn when_regular_containers_never_exit_all_sidecars_go_together_at_the_deadline() {
    let mut pod = Driver::delete(vec![sidecar("a"), sidecar("b"), regular("m")], 30);
    pod.asked();
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop b kill@32000", "stop a kill@32000"]);
    assert_eq!(turn(&pod, "a"), Some(TurnReason::Deadline));
}

/// 3.6.5, I2, 3.6.13
#[test]
fn sidecar_hooks_start_at_once_and_their_stop_waits_for_the_turn() {
    let mut pod = Driver::delete(vec![sidecar("a").exec(), sidecar("b").exec(), regular("m")], 30);
    assert_eq!(pod.asked(), ["stop m kill@30000", "hook a", "hook b"]);
    pod.until(1_000);
    pod.hook_ends("b", Ok(()));
    assert_eq!(pod.asked(), [""; 0]);
    pod.exit("m", 0);
    assert_eq!(pod.asked(), ["stop b kill@30000"]);
    pod.exit("b", 0);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop a kill@32000"]);
}

/// 3.6.9, I9
#[test]
fn during_initialization_running_sidecars_go_right_away_beside_the_init_container() {
    let plan = Driver::plan(vec![sidecar("a"), container("setup", Role::Init), sidecar("b"), regular("m").ranked(3)]);
    let running = ["a", "setup"].map(|name| plan.find(name).unwrap());
    let observed = running.map(|slot| Observation { slot, attempt: 0, state: Observed::Running });
    let mut pod = Driver::begin(plan, Request::delete(super::driver::grace(30)), &observed, Recovery::Anew);
    assert_eq!(pod.asked(), ["stop setup kill@30000", "stop a kill@30000"]);
}

/// 3.6.2
#[test]
fn nobody_waits_for_plain_init_or_ephemeral_containers() {
    let containers =
        vec![sidecar("s"), container("setup", Role::Init), regular("m"), container("debug", Role::Ephemeral)];
    let mut pod = Driver::delete(containers, 30);
    assert_eq!(pod.asked(), ["stop m kill@30000", "stop setup kill@30000", "stop debug kill@30000"]);
    pod.exit("m", 0);
    assert_eq!(pod.asked(), ["stop s kill@30000"]);
    pod.exit("s", 0);
    assert_eq!(pod.asked(), [""; 0]);
    pod.exit("debug", 0);
    pod.exit("setup", 0);
    assert_eq!(pod.asked(), ["stop sandbox"]);
}

/// D-1, D-4, I2: ranks ascend, equal ranks go together, hooks run on the turn.
#[test]
fn ranks_go_in_order_with_their_hooks_on_their_turn() {
    let containers = vec![regular("log").ranked(2), regular("envoy").ranked(1).exec(), regular("m"), regular("n")];
    let mut pod = Driver::delete(containers, 60);
    assert_eq!(pod.asked(), ["stop m kill@60000", "stop n kill@60000"]);
    pod.exit("m", 0);
    assert_eq!(pod.asked(), [""; 0]);
    pod.exit("n", 0);
    assert_eq!(pod.asked(), ["hook envoy"]);
    pod.hook_ends("envoy", Ok(()));
    assert_eq!(pod.asked(), ["stop envoy kill@60000"]);
    pod.exit("envoy", 0);
    assert_eq!(pod.asked(), ["stop log kill@60000"]);
}

/// D-6, D-5
#[test]
fn a_crashed_middle_rank_holds_nobody() {
    let mut pod = Driver::delete(vec![regular("log").ranked(2), regular("envoy").ranked(1), regular("m")], 60);
    pod.exit("envoy", 1);
    pod.asked();
    pod.exit("m", 0);
    assert_eq!(pod.asked(), ["stop log kill@60000"]);
}

/// R7
#[test]
fn with_a_negative_rank_everyone_at_zero_waits() {
    let mut pod = Driver::delete(vec![regular("m"), regular("first").ranked(-1)], 60);
    assert_eq!(pod.asked(), ["stop first kill@60000"]);
    pod.exit("first", 0);
    assert_eq!(pod.asked(), ["stop m kill@60000"]);
}

/// G3: nothing is killed early for it; the next rank is only let go.
#[test]
fn at_its_reserve_point_a_rank_lets_the_next_one_go() {
    let mut pod = Driver::delete(vec![regular("c").ranked(2), regular("b").ranked(1), regular("a")], 60);
    assert_eq!(pod.asked(), ["stop a kill@60000"]);
    pod.until(55_999);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(56_000);
    assert_eq!(pod.asked(), ["event gate timed out b", "stop b kill@60000"]);
    pod.until(58_000);
    assert_eq!(pod.asked(), ["event gate timed out c", "stop c kill@60000"]);
    assert_eq!(turn(&pod, "c"), Some(TurnReason::Reserve));
}

/// G3: a reserve of zero is the proposal's own behaviour.
#[test]
fn without_reserve_a_rank_may_use_all_the_time() {
    let plan = Plan::new(Scope::WholePod, vec![regular("b").ranked(1), regular("a")], Reserve::NONE);
    let running = Driver::running(&plan);
    let mut pod = Driver::begin(plan, Request::delete(super::driver::grace(60)), &running, Recovery::Anew);
    pod.asked();
    pod.until(59_999);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(60_000);
    assert_eq!(pod.asked(), ["event gate timed out b", "stop b kill@62000"]);
}

/// G4
#[test]
fn reserve_points_follow_a_shorter_deadline() {
    let mut pod = Driver::delete(vec![regular("b").ranked(1), regular("a")], 60);
    pod.asked();
    pod.shorten(5);
    assert_eq!(pod.asked(), ["stop a kill@5000"]);
    pod.until(2_999);
    assert_eq!(pod.asked(), [""; 0]);
    pod.until(3_000);
    assert_eq!(pod.asked(), ["event gate timed out b", "stop b kill@5000"]);
}

/// G1, G2
#[test]
fn after_the_deadline_everyone_left_goes_at_once_with_the_floor() {
    let mut pod = Driver::delete(vec![sidecar("s"), regular("b").ranked(1).exec(), regular("a").exec()], 6);
    pod.asked();
    pod.until(6_000);
    let asked = pod.asked();
    assert_eq!(asked, ["event gate timed out b", "hook b", "stop s kill@8000", "stop b kill@8000", "stop a kill@8000"]);
    assert_eq!(pod.wake_at, None);
}

/// I8
#[test]
fn ephemeral_containers_go_with_the_last_rank() {
    let containers = vec![regular("a"), regular("b").ranked(1), container("debug", Role::Ephemeral)];
    let mut pod = Driver::delete(containers, 60);
    assert_eq!(pod.asked(), ["stop a kill@60000"]);
    pod.exit("a", 0);
    assert_eq!(pod.asked(), ["stop b kill@60000", "stop debug kill@60000"]);
}

/// I1
#[test]
fn sidecars_wait_for_all_ranks() {
    let mut pod = Driver::delete(vec![sidecar("s"), regular("a"), regular("b").ranked(1)], 60);
    pod.exit("a", 0);
    pod.asked();
    pod.until(59_999);
    assert_eq!(pod.asked(), [""; 0]);
    pod.exit("b", 0);
    assert_eq!(pod.asked(), ["stop s kill@61999"]);
    assert_eq!(pod.wake_at, Some(Moment::from_millis(60_000)));
}
