//! The conditions a node writes.

use k8s_openapi::api::core::v1::{PodCondition, PodReadinessGate};

use super::{Builder, Is, Moment, Phase, Pod, PodStatus};
use crate::phase::conditions::{Facts, Sandbox, of_pod};
use crate::phase::{Containers, Disruption};

impl Builder {
    /// Marks containers as ready.
    fn ready(mut self, names: &[&str]) -> Builder {
        let status = self.0.status.as_mut().unwrap();
        let lists = [&mut status.init_container_statuses, &mut status.container_statuses];
        for status in lists.into_iter().flatten().flatten().filter(|status| names.contains(&status.name.as_str())) {
            status.ready = true;
        }
        self
    }

    fn gated(mut self, name: &str) -> Builder {
        let gate = PodReadinessGate { condition_type: name.into() };
        self.0.spec.as_mut().unwrap().readiness_gates.get_or_insert_default().push(gate);
        self
    }
}

fn facts<'a>(pod: &'a Pod, phase: Phase, shown: &'a PodStatus) -> Facts<'a> {
    Facts { pod, phase, shown, sandbox: Sandbox::Ready, containers: Containers::MayRun, disruption: None }
}

fn at(seconds: i64) -> Moment {
    Moment::from_millis(seconds * 1000 + 250)
}

fn find<'a>(conditions: &'a [PodCondition], name: &str) -> Option<&'a PodCondition> {
    conditions.iter().find(|condition| condition.type_ == name)
}

/// Status, reason and message of a condition, as one line.
fn line(conditions: &[PodCondition], name: &str) -> String {
    let condition = find(conditions, name).expect(name);
    let words = [Some(&condition.status), condition.reason.as_ref(), condition.message.as_ref()];
    words.into_iter().flatten().cloned().collect::<Vec<_>>().join(" | ")
}

fn lines(pod: &Builder, phase: Phase, name: &str) -> String {
    line(&of_pod(facts(&pod.0, phase, &PodStatus::default()), at(0)), name)
}

fn condition(name: &str, status: &str) -> PodCondition {
    PodCondition { type_: name.into(), status: status.into(), ..PodCondition::default() }
}

fn with_conditions(conditions: Vec<PodCondition>) -> PodStatus {
    PodStatus { phase: Some("Running".into()), conditions: Some(conditions), ..PodStatus::default() }
}

/// 3.8.13a
#[test]
fn a_living_pod_whose_containers_are_ready_is_ready() {
    let pod = Builder::new("Always").sidecar("s", Is::Started).main("a", Is::Running).ready(&["s", "a"]);
    let conditions = of_pod(facts(&pod.0, Phase::Running, &PodStatus::default()), at(0));
    let names: Vec<&str> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
    let expected = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    assert_eq!(names, expected);
    assert!(conditions.iter().all(|condition| condition.status == "True" && condition.reason.is_none()));
}

/// 3.8.13a
#[test]
fn unready_and_unknown_containers_are_named_in_order_of_declaration() {
    let pod = Builder::new("Always")
        .sidecar("s", Is::Running)
        .main("a", Is::Running)
        .main("b", None)
        .main("c", Is::Running)
        .ready(&["c"]);
    let expected = "False | ContainersNotReady | \
                    containers with unknown status: [b], containers with unready status: [s a]";
    assert_eq!(lines(&pod, Phase::Running, "ContainersReady"), expected);
    assert_eq!(lines(&pod, Phase::Running, "Ready"), expected);
    let two = Builder::new("Always").main("a", Is::Running).main("b", Is::Running);
    let expected = "False | ContainersNotReady | containers with unready status: [a b]";
    assert_eq!(lines(&two, Phase::Running, "Ready"), expected);
}

/// 3.8.13a
#[test]
fn without_any_status_nothing_is_known() {
    let pod = Builder::new("Always").init("i", None).main("a", None);
    for name in ["Initialized", "ContainersReady", "Ready"] {
        assert_eq!(lines(&pod, Phase::Pending, name), "False | UnknownContainerStatuses", "{name}");
    }
}

/// 3.8.5
#[test]
fn a_terminal_pod_is_unready_for_that_reason_even_if_its_containers_say_otherwise() {
    let pod = Builder::new("Never").gated("x").main("a", Is::Running).ready(&["a"]);
    for name in ["ContainersReady", "Ready"] {
        assert_eq!(lines(&pod, Phase::Failed, name), "False | PodFailed");
        assert_eq!(lines(&pod, Phase::Succeeded, name), "False | PodCompleted");
    }
    let unknown = Builder::new("Never").main("a", Is::Exited(0)).main("b", None);
    assert!(lines(&unknown, Phase::Succeeded, "Ready").starts_with("False | ContainersNotReady"));
    assert_eq!(lines(&unknown, Phase::Failed, "Ready"), "False | PodFailed");
}

/// 3.8.13a
#[test]
fn readiness_gates_keep_a_pod_unready_but_not_its_containers() {
    let pod = Builder::new("Always").gated("example.com/a").gated("example.com/b").main("a", Is::Running).ready(&["a"]);
    let shown = with_conditions(vec![condition("example.com/b", "False")]);
    let conditions = of_pod(facts(&pod.0, Phase::Running, &shown), at(0));
    let expected = "False | ReadinessGatesNotReady | corresponding condition of pod readiness gate \"example.com/a\" \
                    does not exist., the status of pod readiness gate \"example.com/b\" is not \"True\", but False";
    assert_eq!(line(&conditions, "Ready"), expected);
    assert_eq!(line(&conditions, "ContainersReady"), "True");
    let shown = with_conditions(vec![condition("example.com/a", "True"), condition("example.com/b", "True")]);
    assert_eq!(line(&of_pod(facts(&pod.0, Phase::Running, &shown), at(0)), "Ready"), "True");
}

/// 3.8.13a
#[test]
fn a_pod_is_initialized_once_its_init_containers_are_done_and_stays_so() {
    let fresh = || Builder::new("Always").init("i", Is::Exited(0)).init("j", Is::Running).sidecar("s", Is::Running);
    let pod = fresh().main("a", Is::Waiting).ready(&["i"]);
    let expected = "False | ContainersNotInitialized | containers with incomplete status: [j s]";
    assert_eq!(lines(&pod, Phase::Pending, "Initialized"), expected);
    assert_eq!(lines(&fresh().main("a", Is::Running), Phase::Running, "Initialized"), "True");
    let shown = with_conditions(vec![condition("Initialized", "True")]);
    assert_eq!(line(&of_pod(facts(&pod.0, Phase::Running, &shown), at(0)), "Initialized"), "True");
    assert_eq!(lines(&pod, Phase::Succeeded, "Initialized"), "True | PodCompleted");
    assert_eq!(lines(&Builder::new("Always").main("a", None), Phase::Pending, "Initialized"), "True");
}

/// 3.8.13a
#[test]
fn a_stopped_or_missing_sandbox_is_told_with_what_is_wrong_with_it() {
    let pod = Builder::new("Never").main("a", Is::Exited(0));
    let shown = PodStatus::default();
    let told = |sandbox| {
        let facts = Facts { sandbox, ..facts(&pod.0, Phase::Succeeded, &shown) };
        line(&of_pod(facts, at(0)), "PodReadyToStartContainers")
    };
    assert_eq!(told(Sandbox::NotReady), "False | PodSandboxNotReady | pod sandbox is not ready");
    assert_eq!(told(Sandbox::Absent), "False | PodSandboxNotReady | no pod sandbox exists");
    assert_eq!(told(Sandbox::NoAddress), "False | PodSandboxNotReady | pod sandbox has no IP address");
    assert_eq!(told(Sandbox::Ready), "True");
}

/// 1.13.1
#[test]
fn every_condition_carries_the_generation_it_was_decided_for() {
    let mut pod = Builder::new("Always").main("a", Is::Running).0;
    pod.metadata.generation = Some(7);
    let foreign = PodCondition { observed_generation: Some(3), ..condition("example.com/a", "True") };
    let shown = with_conditions(vec![foreign.clone()]);
    let conditions = of_pod(facts(&pod, Phase::Running, &shown), at(0));
    assert_eq!(conditions[0], foreign);
    assert!(conditions[1..].iter().all(|condition| condition.observed_generation == Some(7)));
}

/// 3.8.13a
#[test]
fn the_transition_time_changes_only_with_the_status() {
    let unready = Builder::new("Always").main("a", Is::Running);
    let ready = Builder::new("Always").main("a", Is::Running).ready(&["a"]);
    let first = of_pod(facts(&unready.0, Phase::Running, &PodStatus::default()), at(10));
    let shown = with_conditions(first);
    let failed = of_pod(facts(&unready.0, Phase::Failed, &shown), at(20));
    assert_eq!(line(&failed, "Ready"), "False | PodFailed");
    assert_eq!(find(&failed, "Ready").unwrap().last_transition_time, Some(at(10).whole_second()));
    let changed = of_pod(facts(&ready.0, Phase::Running, &shown), at(20));
    assert_eq!(find(&changed, "Ready").unwrap().last_transition_time, Some(at(20).whole_second()));
    assert_eq!(find(&changed, "Initialized").unwrap().last_transition_time, Some(at(10).whole_second()));
}

/// 3.8.13
#[test]
fn conditions_of_others_are_preserved() {
    let pod = Builder::new("Always").main("a", Is::Running);
    let foreign = [condition("example.com/a", "Unknown"), condition("DisruptionTarget", "True")];
    let mut all = foreign.to_vec();
    all.insert(1, condition("Ready", "True"));
    let shown = with_conditions(all);
    let conditions = of_pod(facts(&pod.0, Phase::Running, &shown), at(0));
    assert_eq!(conditions[..2], foreign);
    assert_eq!(conditions.iter().filter(|condition| condition.type_ == "Ready").count(), 1);
}

/// 1.13.2, 1.13.3
#[test]
fn a_disruption_is_told_only_with_the_terminal_phase() {
    let pod = Builder::new("Never").main("a", Is::Exited(143));
    let disruption = Disruption { reason: "TerminationByKubelet", message: "low on memory".into() };
    let running = with_conditions(vec![]);
    let told = |phase, shown, containers| {
        let facts = Facts { containers, disruption: Some(&disruption), ..facts(&pod.0, phase, shown) };
        let conditions = of_pod(facts, at(30));
        find(&conditions, "DisruptionTarget").map(|_| line(&conditions, "DisruptionTarget"))
    };
    assert_eq!(told(Phase::Failed, &running, Containers::MayRun), None);
    assert_eq!(told(Phase::Running, &running, Containers::AllGone), None);
    let expected = "True | TerminationByKubelet | low on memory".to_owned();
    assert_eq!(told(Phase::Failed, &running, Containers::AllGone), Some(expected.clone()));
    assert_eq!(told(Phase::Succeeded, &running, Containers::AllGone), Some(expected.clone()));
    let over = PodStatus { phase: Some("Failed".into()), ..PodStatus::default() };
    assert_eq!(told(Phase::Failed, &over, Containers::AllGone), None);
    let evicted = with_conditions(vec![condition("DisruptionTarget", "True")]);
    assert_eq!(told(Phase::Failed, &evicted, Containers::AllGone), Some(expected));
}
