//! What happens to an end whose containers are gone already.

use super::driver::{Driver, deletion, grace, regular};
use crate::moment::Moment;
use crate::termination::{Exit, Input, Observation, Observed, Recovery, Request};

/// Any fact makes up for a late alarm, as while containers are stopping.
#[test]
fn a_closing_call_that_is_due_is_tried_again_whatever_the_fact() {
    let mut pod = Driver::delete(vec![regular("web")], 30);
    pod.exit("web", 0);
    pod.feed(Input::SandboxStopFailed { call: pod.call("sandbox", None), error: "boom".into() });
    assert_eq!(pod.wake_at, Some(Moment::from_millis(1_000)));
    pod.asked();
    pod.now = 1_000;
    pod.feed(Input::RuntimeRestarted { epoch: 1 });
    assert_eq!((pod.asked(), pod.wake_at), (vec!["stop sandbox".to_owned()], None));
}

/// The exit of one container and the return of another, in one list.
#[test]
fn a_list_that_reopens_an_end_counts_as_a_whole() {
    let mut pod = Driver::delete(vec![regular("web"), regular("other")], 30);
    pod.exit("web", 0);
    pod.exit("other", 0);
    pod.asked();
    let exited = Observed::Exited(Exit::with_code(1, Moment::from_millis(0)));
    let observations = vec![
        Observation { slot: pod.slot("web"), attempt: 1, state: Observed::Running },
        Observation { slot: pod.slot("other"), attempt: 2, state: exited },
    ];
    let list = Input::ContainersObserved { call: None, observations };
    pod.feed(list.clone());
    assert_eq!(pod.asked(), ["stop web kill@30000"]);
    let once = pod.state().clone();
    pod.feed(list);
    assert_eq!((pod.asked(), pod.state()), (vec![], &once));
}

/// 3.5.1: whoever asks, and however often.
#[test]
fn the_end_of_one_container_never_deletes_the_object() {
    let whole = Driver::plan(vec![regular("web"), regular("other")]);
    let plan = whole.of_container(whole.find("web").unwrap());
    let running = Driver::running(&plan);
    let mut pod = Driver::begin(plan, Request::delete(grace(30)), &running, Recovery::Anew);
    pod.exit("web", 0);
    pod.asked();
    pod.feed(Input::Requested(Request::delete(deletion(5))));
    assert_eq!(pod.asked(), [""; 0]);
    assert!(pod.state().is_finished());
}

/// A stop that was taken over late and is then shortened.
#[test]
fn a_stop_is_never_shortened_to_a_moment_that_is_over() {
    let plan = Driver::plan(vec![regular("web")]);
    let mut observed = Driver::running(&plan);
    let since = Moment::from_millis(95_000);
    observed[0].state = Observed::AlreadyStopping { since, kill_at: Moment::from_millis(200_000) };
    let progress = Driver::begin(plan, Request::delete(grace(30)), &observed, Recovery::Resume).state().progress();
    let late = Moment::from_millis(100_000);
    let step = crate::termination::resume(&progress, Request::delete(grace(30)), &observed, late);
    let mut pod = Driver::from_step(step, late.millis());
    assert_eq!(pod.asked(), ["stop web kill@100000"]);
    pod.shorten(5);
    assert_eq!(pod.asked(), [""; 0]);
}
