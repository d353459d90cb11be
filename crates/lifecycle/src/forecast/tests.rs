//! Forecasts of pods people recognise.

use super::*;
use crate::exit_order::stages::Reserve;
use crate::hook::Hook;
use crate::stop::{SignalOrigin, StopSignal};
use crate::termination::Scope;

fn container(name: &str, role: Role, rank: i32, hook: Option<Hook>) -> PlannedContainer {
    let signal = StopSignal { signal: model::signal::Signal::TERM, origin: SignalOrigin::Default };
    PlannedContainer { name: name.into(), role, rank, hook, signal }
}

fn plan(containers: Vec<PlannedContainer>) -> Plan {
    Plan::new(Scope::WholePod, containers, Reserve::default())
}

fn web_with_sidecar() -> Plan {
    let sleep = Some(Hook::Sleep { seconds: 5 });
    plan(vec![
        container("setup", Role::Init, 0, None),
        container("proxy", Role::Sidecar, 0, None),
        container("web", Role::Regular, 0, sleep),
    ])
}

fn brief(forecast: &Forecast) -> Vec<(String, i64, i64, bool)> {
    let line = |line: &Line| (line.container.name.clone(), line.stop_millis, line.gone_millis, line.killed);
    forecast.containers.iter().map(line).collect()
}

#[test]
fn if_everything_exits_only_sleeps_cost_time() {
    let forecast = forecast(&web_with_sidecar(), Grace::from_seconds(30), &Assumptions::everything_exits());
    assert_eq!(brief(&forecast), [("web".into(), 5_000, 5_000, false), ("proxy".into(), 5_000, 5_000, false)]);
    assert_eq!((forecast.deadline_millis, forecast.end_millis), (30_000, 5_000));
}

#[test]
fn if_everything_hangs_the_sidecar_is_left_with_the_floor() {
    let forecast = forecast(&web_with_sidecar(), Grace::from_seconds(30), &Assumptions::everything_hangs());
    assert_eq!(brief(&forecast), [("web".into(), 5_000, 30_000, true), ("proxy".into(), 30_000, 32_000, true)]);
    let left: Vec<i64> = forecast.containers.iter().map(|line| line.least_time_millis).collect();
    assert_eq!(left, [25_000, 2_000]);
    assert_eq!(forecast.stages[1].waits_for, ["web"]);
    assert_eq!(forecast.stages[0].containers, ["web"]);
}

#[test]
fn exceptions_change_single_containers() {
    let assumptions = Assumptions::parse("hangs,web=4s").unwrap();
    let forecast = forecast(&web_with_sidecar(), Grace::from_seconds(30), &assumptions);
    assert_eq!(brief(&forecast), [("web".into(), 5_000, 9_000, false), ("proxy".into(), 9_000, 30_000, true)]);
}

#[test]
fn the_order_of_lines_is_the_order_of_events() {
    let ranked = plan(vec![
        container("last", Role::Regular, 5, None),
        container("first", Role::Regular, -5, None),
        container("middle", Role::Regular, 0, None),
    ]);
    let forecast = forecast(&ranked, Grace::from_seconds(30), &Assumptions::everything_hangs());
    let lines: Vec<(&str, i64)> =
        forecast.containers.iter().map(|l| (l.container.name.as_str(), l.stop_millis)).collect();
    assert_eq!(lines, [("first", 0), ("middle", 26_000), ("last", 28_000)]);
}

#[test]
fn an_endless_grace_is_foretold_too() {
    let forecast = forecast(&web_with_sidecar(), Grace::from_seconds(i64::MAX), &Assumptions::everything_exits());
    assert_eq!(forecast.end_millis, 5_000);
}

/// Nobody waits that long, but nobody is told that the container is gone at once either.
#[test]
fn a_hook_that_hangs_through_an_endless_grace_hangs_until_the_end_of_time() {
    let exec = Hook::Exec { command: vec!["/drain".into()] };
    let plan = plan(vec![container("web", Role::Regular, 0, Some(exec)), container("proxy", Role::Sidecar, 0, None)]);
    let forecast = forecast(&plan, Grace::from_seconds(i64::MAX), &Assumptions::everything_hangs());
    assert_eq!(
        brief(&forecast),
        [("web".into(), i64::MAX, i64::MAX, true), ("proxy".into(), i64::MAX, i64::MAX, true)]
    );
}

#[test]
fn a_pod_of_ten_thousand_containers_is_foretold() {
    let mut containers: Vec<PlannedContainer> = (0..5_000)
        .map(|n| container(&format!("s{n}"), Role::Sidecar, 0, Some(Hook::Sleep { seconds: n % 7 })))
        .collect();
    containers.extend((0..5_000_i32).map(|n| container(&format!("r{n}"), Role::Regular, n % 50, None)));
    let forecast = forecast(&plan(containers), Grace::from_seconds(600), &Assumptions::everything_exits());
    assert_eq!((forecast.containers.len(), forecast.end_millis), (10_000, 6_000));
}
