//! Phases and conditions, one test per documented rule.

mod conditions;
mod containers;
mod outcome;

use k8s_openapi::api::core::v1::{ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting};

use super::*;
use crate::moment::Moment;
use crate::termination::{Cause, CauseKind, Exit};

#[derive(Clone, Copy)]
enum Is {
    Running,
    /// Running and past its startup probe.
    Started,
    Waiting,
    Exited(i32),
    /// Waiting to be started again after this exit code.
    Restarting(i32),
}

fn status(name: &str, is: Is) -> ContainerStatus {
    let running = ContainerState { running: Some(ContainerStateRunning::default()), ..ContainerState::default() };
    let waiting = ContainerState { waiting: Some(ContainerStateWaiting::default()), ..ContainerState::default() };
    let exited = |exit_code| ContainerState {
        terminated: Some(ContainerStateTerminated { exit_code, ..ContainerStateTerminated::default() }),
        ..ContainerState::default()
    };
    let (state, last_state, started) = match is {
        Is::Running => (running, None, None),
        Is::Started => (running, None, Some(true)),
        Is::Waiting => (waiting, None, None),
        Is::Exited(code) => (exited(code), None, None),
        Is::Restarting(code) => (waiting, Some(exited(code)), None),
    };
    ContainerStatus { name: name.into(), state: Some(state), last_state, started, ..ContainerStatus::default() }
}

struct Builder(Pod);

impl Builder {
    fn new(policy: &str) -> Builder {
        let spec = PodSpec { restart_policy: Some(policy.into()), ..PodSpec::default() };
        Builder(Pod { spec: Some(spec), status: Some(PodStatus::default()), ..Pod::default() })
    }

    fn main(mut self, name: &str, is: impl Into<Option<Is>>) -> Builder {
        let container = Container { name: name.into(), ..Container::default() };
        self.0.spec.as_mut().unwrap().containers.push(container);
        let statuses = self.0.status.as_mut().unwrap().container_statuses.get_or_insert_default();
        statuses.extend(is.into().map(|is| status(name, is)));
        self
    }

    fn init(self, name: &str, is: impl Into<Option<Is>>) -> Builder {
        self.init_with(name, None, is.into())
    }

    fn sidecar(self, name: &str, is: impl Into<Option<Is>>) -> Builder {
        self.init_with(name, Some("Always"), is.into())
    }

    fn init_with(mut self, name: &str, policy: Option<&str>, is: Option<Is>) -> Builder {
        let container = Container { name: name.into(), restart_policy: policy.map(Into::into), ..Container::default() };
        self.0.spec.as_mut().unwrap().init_containers.get_or_insert_default().push(container);
        let statuses = self.0.status.as_mut().unwrap().init_container_statuses.get_or_insert_default();
        statuses.extend(is.map(|is| status(name, is)));
        self
    }

    fn phase(&self, view: View) -> Phase {
        of_pod(&self.0, view)
    }
}

/// 3.8.1
#[test]
fn an_ended_pod_succeeded_only_if_all_main_containers_exited_zero_whatever_the_policy() {
    for policy in ["Always", "OnFailure", "Never"] {
        let good = Builder::new(policy).main("a", Is::Exited(0)).main("b", Is::Exited(0));
        assert_eq!(good.phase(View::Ended), Phase::Succeeded, "{policy}");
        let bad = Builder::new(policy).main("a", Is::Exited(0)).main("b", Is::Exited(143));
        assert_eq!(bad.phase(View::Ended), Phase::Failed, "{policy}");
    }
}

/// 3.8.1, 3.6.11
#[test]
fn exit_codes_of_sidecars_never_count() {
    let pod = Builder::new("Never").sidecar("s", Is::Exited(137)).main("a", Is::Exited(0));
    assert_eq!(pod.phase(View::Ended), Phase::Succeeded);
    let pod = Builder::new("Never").sidecar("s", Is::Started).main("a", Is::Exited(0));
    assert_eq!(pod.phase(View::Ongoing), Phase::Running);
}

/// 3.8.2
#[test]
fn a_failed_init_container_fails_the_pod_and_an_unfinished_one_keeps_it_pending() {
    let failed = Builder::new("Never").init("i", Is::Exited(1)).main("a", Is::Waiting);
    assert_eq!(failed.phase(View::Ended), Phase::Failed);
    let retried = Builder::new("Always").init("i", Is::Exited(1)).main("a", Is::Waiting);
    assert_eq!(retried.phase(View::Ongoing), Phase::Pending);
    let unfinished = Builder::new("Never").init("i", Is::Running).main("a", Is::Waiting);
    assert_eq!(unfinished.phase(View::Ended), Phase::Pending);
    let never_started = Builder::new("Never").main("a", Is::Waiting).main("b", Is::Exited(0));
    assert_eq!(never_started.phase(View::Ended), Phase::Pending);
}

/// 3.8.3
#[test]
fn while_a_pod_lives_its_policy_decides_whether_it_is_over() {
    let over = |policy, code| Builder::new(policy).main("a", Is::Exited(code)).phase(View::Ongoing);
    assert_eq!(over("Always", 0), Phase::Running);
    assert_eq!(over("OnFailure", 1), Phase::Running);
    assert_eq!(over("OnFailure", 0), Phase::Succeeded);
    assert_eq!(over("Never", 1), Phase::Failed);
    let restarting = Builder::new("Always").main("a", Is::Restarting(1));
    assert_eq!(restarting.phase(View::Ongoing), Phase::Running);
    let missing = Builder::new("Always").main("a", None);
    assert_eq!(missing.phase(View::Ongoing), Phase::Pending);
}

/// 3.10.4
#[test]
fn a_static_pods_phase_is_not_forced() {
    let pod = Builder::new("Always").main("a", Is::Exited(0));
    assert_eq!(pod.phase(View::EndedStatic), Phase::Running);
}

#[test]
fn a_sidecar_that_has_not_started_keeps_a_new_pod_pending_but_not_an_initialized_one() {
    let fresh = Builder::new("Always").sidecar("s", Is::Running).main("a", Is::Waiting);
    assert_eq!(fresh.phase(View::Ongoing), Phase::Pending);
    let old = Builder::new("Always").sidecar("s", Is::Running).main("a", Is::Running);
    assert_eq!(old.phase(View::Ongoing), Phase::Running);
}

/// 3.8.3, 3.8.3a, 8.8
#[test]
fn a_terminal_phase_never_changes_and_a_decided_one_yields_only_to_a_computed_terminal_one() {
    use Phase::{Failed, Pending, Running, Succeeded};
    assert_eq!(merged(Failed, None, Some(Succeeded)), Succeeded);
    assert_eq!(merged(Running, Some(Failed), Some(Running)), Failed);
    assert_eq!(merged(Succeeded, Some(Failed), Some(Running)), Succeeded);
    assert_eq!(merged(Running, Some(Pending), None), Running);
}

/// 3.8.4
#[test]
fn a_terminal_phase_is_not_shown_while_containers_may_run() {
    assert_eq!(published(Phase::Running, Phase::Failed, Containers::MayRun), Phase::Running);
    assert_eq!(published(Phase::Running, Phase::Failed, Containers::AllGone), Phase::Failed);
    assert_eq!(published(Phase::Pending, Phase::Running, Containers::MayRun), Phase::Running);
}

/// 3.8.5
#[test]
fn a_pod_in_a_terminal_phase_is_never_ready() {
    for (phase, reason) in [(Phase::Failed, "PodFailed"), (Phase::Succeeded, "PodCompleted")] {
        assert_eq!(ready_when_over(phase), Some(ReadyCondition { ready: false, reason }));
    }
    assert_eq!(ready_when_over(Phase::Running), None);
}

/// 3.8.6
#[test]
fn the_final_pass_ends_what_nobody_saw_and_forces_a_terminal_phase() {
    let mut pod = Builder::new("Always").main("a", Is::Running).main("b", Is::Exited(0)).0;
    final_pass(&mut pod, View::Ended);
    let status = pod.status.unwrap();
    let codes: Vec<i32> = status.container_statuses.as_deref().unwrap().iter().map(exit_code).collect();
    assert_eq!((codes, status.phase.as_deref()), (vec![137, 0], Some("Failed")));

    let not_initialized = Builder::new("Always").init("i", Is::Running).init("j", Is::Waiting).main("a", Is::Waiting).0;
    let mut pod = not_initialized;
    final_pass(&mut pod, View::EndedStatic);
    let status = pod.status.unwrap();
    let is_over = |status: &ContainerStatus| status.state.as_ref().unwrap().terminated.is_some();
    let over = |statuses: Option<Vec<ContainerStatus>>| statuses.unwrap().iter().map(is_over).collect::<Vec<_>>();
    assert_eq!(over(status.init_container_statuses), [true, false]);
    assert_eq!(over(status.container_statuses), [false]);
    assert_eq!(status.phase, None);
}

fn exit_code(status: &ContainerStatus) -> i32 {
    status.state.as_ref().unwrap().terminated.as_ref().unwrap().exit_code
}

/// 3.8.14, 1.13.2, 1.13.3
#[test]
fn causes_on_the_node_leave_their_reason_and_condition_and_a_plain_delete_does_not() {
    let shutdown = cause_status(&Cause::new(CauseKind::NodeShutdown)).unwrap();
    assert_eq!((shutdown.phase, shutdown.reason), (Phase::Failed, "Terminated"));
    assert_eq!(shutdown.disruption.unwrap().reason, "TerminationByKubelet");
    let evicted = Cause { kind: CauseKind::Evict, message: "The node was low on resource: memory. ".into() };
    let evicted = cause_status(&evicted).unwrap();
    assert_eq!((evicted.reason, evicted.message.as_str()), ("Evicted", "The node was low on resource: memory. "));
    assert_eq!(cause_status(&Cause::new(CauseKind::DeadlineExceeded)).unwrap().disruption, None);
    assert_eq!(cause_status(&Cause::new(CauseKind::Delete)), None);
}

/// 3.8.9
#[test]
fn exit_reasons_are_the_runtimes() {
    let reason = |code| exit_reason(&Exit::with_code(code, Moment::from_millis(0)));
    assert_eq!([reason(0), reason(143), reason(137)], ["Completed", "Error", "Error"]);
    let oom = Exit { out_of_memory: true, ..Exit::with_code(137, Moment::from_millis(0)) };
    assert_eq!(exit_reason(&oom), "OOMKilled");
}
