//! Restarts of agent and runtime in the middle of an end.

use super::driver::{Driver, grace, regular, sidecar};
use crate::moment::Moment;
use crate::termination::{Input, Observation, Observed, Plan, Progress, Recovery, Request, resume, resume_until};

/// 3.10.6: the default, as upstream documents it.
#[test]
fn by_default_a_restarted_agent_gives_the_full_grace_again() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 30);
    pod.until(20_000);
    let plan = pod.state().known().plan.clone();
    let observed = Driver::running(&plan);
    let mut pod = Driver::begin(plan, Request::delete(grace(30)), &observed, Recovery::Anew);
    assert_eq!((pod.asked(), pod.deadline()), (vec!["hook web".to_owned()], 30_000));
}

fn resumed(progress: &Progress, now: i64) -> Driver {
    let observed = Driver::running(&progress.plan);
    let step = resume(progress, Request::delete(grace(30)), &observed, Moment::from_millis(now));
    Driver::from_step(step, now)
}

#[test]
fn a_resumed_end_keeps_its_deadline_and_does_not_repeat_finished_hooks() {
    let mut pod = Driver::delete(vec![regular("done").exec(), regular("busy").exec()], 30);
    pod.until(4_000);
    pod.hook_ends("done", Ok(()));
    let mut pod = resumed(&pod.state().progress(), 10_000);
    assert_eq!(pod.asked(), ["stop done kill@30000", "hook busy"]);
    assert_eq!(pod.deadline(), 30_000);
}

#[test]
fn a_resumed_end_whose_time_is_over_stops_everyone_with_the_floor() {
    let pod = Driver::delete(vec![sidecar("s"), regular("web").exec()], 30);
    let mut pod = resumed(&pod.state().progress(), 50_000);
    assert_eq!(pod.asked(), ["stop web kill@52000", "stop s kill@52000"]);
}

/// R10: the plan is frozen when the end begins.
#[test]
fn progress_survives_being_written_and_read() {
    let pod = Driver::delete(vec![sidecar("s").sleeping(3), regular("web").ranked(-2).exec()], 30);
    let progress = pod.state().progress();
    let text = serde_json::to_string(&progress).unwrap();
    assert_eq!(serde_json::from_str::<Progress>(&text).unwrap(), progress);
}

/// Without saved progress the object's own deadline is what is left.
#[test]
fn without_saved_progress_the_objects_deadline_is_resumed() {
    let plan = Driver::plan(vec![regular("web")]);
    let observed = Driver::running(&plan);
    let deadline = Moment::from_millis(12_000);
    let step = resume_until(plan, Request::delete(grace(30)), deadline, &observed, Moment::from_millis(0));
    assert_eq!(Driver::from_step(step, 0).asked(), ["stop web kill@12000"]);
}

/// The source document: a restarted runtime means the full grace again, too.
#[test]
fn by_default_a_restarted_runtime_begins_a_new_attempt_once() {
    let mut pod = Driver::delete(vec![regular("web").exec()], 30);
    pod.until(4_000);
    pod.hook_ends("web", Ok(()));
    pod.asked();
    pod.until(10_000);
    pod.feed(Input::RuntimeRestarted { epoch: 1 });
    assert_eq!((pod.asked(), pod.deadline()), (vec!["hook web".to_owned(), "list".to_owned()], 40_000));
    pod.feed(Input::RuntimeRestarted { epoch: 1 });
    assert_eq!(pod.asked(), [""; 0]);
}

#[test]
fn a_resuming_agent_only_looks_again_after_a_runtime_restart() {
    let plan: Plan = Driver::plan(vec![regular("web")]);
    let observed = Driver::running(&plan);
    let mut pod = Driver::begin(plan, Request::delete(grace(30)), &observed, Recovery::Resume);
    pod.asked();
    pod.until(10_000);
    pod.feed(Input::RuntimeRestarted { epoch: 1 });
    assert_eq!((pod.asked(), pod.deadline()), (vec!["list".to_owned()], 30_000));
}

/// 3.1.11: what no event told, a list does.
#[test]
fn an_exit_whose_event_was_lost_is_found_by_a_list() {
    let mut pod = Driver::delete(vec![sidecar("s"), regular("web")], 30);
    pod.asked();
    let slot = pod.slot("s");
    let observations = vec![Observation { slot, attempt: 0, state: Observed::Running }];
    pod.stop_succeeds("web");
    pod.listed(observations);
    assert_eq!(pod.asked(), ["list", "stop s kill@30000"]);
}

/// 3.6.10: nothing is started by the machine, and what starts by itself is stopped.
#[test]
fn a_new_instance_that_appears_is_stopped_like_any_other() {
    let mut pod = Driver::delete(vec![regular("web"), regular("other")], 30);
    pod.exit("web", 0);
    pod.asked();
    let slot = pod.slot("web");
    let observations = vec![Observation { slot, attempt: 1, state: Observed::Running }];
    pod.feed(Input::ContainersObserved { call: None, observations });
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
}

#[test]
fn a_list_older_than_an_exit_does_not_bring_the_container_back() {
    let mut pod = Driver::delete(vec![regular("web"), regular("other")], 30);
    pod.exit("web", 0);
    pod.asked();
    let slot = pod.slot("web");
    let observations = vec![Observation { slot, attempt: 0, state: Observed::Running }];
    pod.feed(Input::ContainersObserved { call: None, observations });
    assert_eq!(pod.asked(), [""; 0]);
}
