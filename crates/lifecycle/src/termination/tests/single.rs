//! Ends in which the pod lives on, and ends of pods that only the runtime knows.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Probe};

use super::driver::{Driver, cause, deletion, grace, regular, sidecar};
use crate::termination::{CauseKind, Input, Plan, PlanSettings, PlannedContainer, Recovery, Request};

/// One container of a living pod, stopped for `kind`. The pod's grace period is 30 s, its probes' are 5 s and 90 s.
fn one(container: PlannedContainer, kind: CauseKind) -> Driver {
    let probe = |seconds| Some(Probe { termination_grace_period_seconds: Some(seconds), ..Probe::default() });
    let spec = Container { liveness_probe: probe(5), startup_probe: probe(90), ..Container::default() };
    let whole = Driver::plan(vec![container, regular("other")]);
    let plan = whole.of_container(whole.slots().next().unwrap());
    let running = Driver::running(&plan);
    Driver::begin(plan, Request::stop_container(kind, &pod(), &spec), &running, Recovery::Anew)
}

fn pod() -> Pod {
    let spec = PodSpec { termination_grace_period_seconds: Some(30), ..PodSpec::default() };
    Pod { spec: Some(spec), ..Pod::default() }
}

/// 3.5.1
#[test]
fn a_single_container_gets_the_deletes_grace_else_the_failed_probes_else_the_pods() {
    let rows = [(CauseKind::LivenessFailed, 5), (CauseKind::StartupFailed, 90), (CauseKind::DefinitionChanged, 30)];
    for (kind, seconds) in rows {
        assert_eq!(one(regular("web"), kind).deadline(), seconds * 1_000, "{kind:?}");
    }
    let mut deleted = pod();
    deleted.metadata.deletion_grace_period_seconds = Some(40);
    let request = Request::stop_container(CauseKind::LivenessFailed, &deleted, &Container::default());
    assert_eq!(request.asked.override_seconds, Some(40));
}

/// 3.7.5
#[test]
fn a_restart_of_all_containers_runs_no_hook_and_leaves_only_the_floor() {
    let mut pod = one(regular("web").exec(), CauseKind::RestartAllContainers);
    assert_eq!(pod.asked(), ["stop web kill@2000"]);
    pod.exit("web", 137);
    assert!(pod.state().is_finished() && pod.asked().is_empty());
}

/// 3.7.8
#[test]
fn after_a_failed_post_start_hook_the_pre_stop_hook_runs_within_the_pods_grace() {
    let mut pod = one(regular("web").exec(), CauseKind::PostStartFailed);
    pod.until(29_999);
    assert_eq!(pod.asked(), ["hook web"]);
    pod.until(30_000);
    assert_eq!(pod.asked(), ["stop web kill@32000"]);
}

/// 3.7.3
#[test]
fn a_sidecar_of_a_living_pod_waits_for_nobody() {
    let mut pod = one(sidecar("s"), CauseKind::DefinitionChanged);
    assert_eq!(pod.trace(), ["save", "event killing s", "stop s kill@30000"]);
}

/// 3.7.7
#[test]
fn a_lost_sandbox_ends_every_container_in_order_with_the_pods_own_grace_and_the_pod_lives_on() {
    let containers = vec![sidecar("s"), regular("web").exec()];
    let mut pod = Driver::request(containers, Request::new(CauseKind::SandboxChanged, grace(30)));
    assert_eq!((pod.asked(), pod.deadline()), (vec!["hook web".to_owned()], 30_000));
    pod.hook_ends("web", Ok(()));
    pod.exit("web", 0);
    pod.exit("s", 0);
    assert_eq!(pod.asked(), ["stop web kill@30000", "stop s kill@30000", "stop sandbox"]);
    assert_eq!(pod.close(), ["list"]);
    assert!(pod.state().is_finished());
    pod.shorten(0);
    assert_eq!(pod.asked(), [""; 0]);
}

/// 3.7.7, 3.1.2
#[test]
fn a_delete_while_the_sandbox_is_being_lost_ends_the_pod_for_good() {
    let mut pod = Driver::request(vec![regular("web")], Request::new(CauseKind::SandboxChanged, grace(30)));
    pod.feed(Input::Requested(Request::delete(deletion(10))));
    pod.exit("web", 0);
    pod.asked();
    assert_eq!(pod.close(), ["list", "publish", "volumes", "delete object"]);
}

/// 3.1.11, 3.10.6, 3.5.6
#[test]
fn an_orphan_gets_one_second_no_hook_and_no_status() {
    let plan = Plan::of_orphan(&["web", "proxy"], PlanSettings::default());
    assert!(plan.slots().all(|slot| plan.container(slot).hook.is_none()));
    let running = Driver::running(&plan);
    let request = Request::new(CauseKind::Orphaned, grace(30));
    let mut pod = Driver::begin(plan, request, &running, Recovery::Anew);
    assert_eq!(
        (pod.asked(), pod.deadline()),
        (vec!["stop web kill@2000".into(), "stop proxy kill@2000".into()], 1_000)
    );
    pod.exit("web", 0);
    pod.exit("proxy", 137);
    pod.asked();
    assert_eq!(pod.close(), ["list", "volumes"]);
}

/// 3.13.2, 3.13.1
#[test]
fn an_eviction_that_cannot_wait_runs_hooks_for_one_second() {
    for request in [cause(CauseKind::Evict, 1), Request::new(CauseKind::StorageLimitExceeded, grace(30))] {
        let mut pod = Driver::request(vec![regular("web").exec()], request);
        pod.until(1_000);
        assert_eq!(pod.asked(), ["hook web", "stop web kill@3000"]);
    }
}
