//! What the generator makes: pods that the API server would have accepted, and every case it is meant to make.

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, Pod};
use lifecycle::exit_order::{EFFECTIVE_ANNOTATION, PRIORITY_ANNOTATION, PRIORITY_ENV, settle};
use lifecycle::hook::Hook;
use lifecycle::termination::Recovery;
use model::defaults::default_pod;
use model::gates::FeatureGates;
use model::validation::validate_pod;
use sim::{Caller, Faults, HookRun, Process, Reaction, Scenario, Summary, pod_of_seed, simulate};

const SEEDS: u64 = 2_000;

fn scenarios() -> impl Iterator<Item = Scenario> {
    (0..SEEDS).map(Scenario::of_seed)
}

#[test]
fn every_generated_pod_would_have_been_created() {
    for seed in 0..SEEDS {
        let mut pod = pod_of_seed(seed);
        let spec = pod.spec.as_mut().expect("a spec");
        // They come later, by a request of their own.
        spec.ephemeral_containers = None;
        default_pod(&mut pod);
        let errors = validate_pod(&pod, FeatureGates::ALL_ON);
        assert!(errors.is_empty(), "seed {seed}: {errors}");
        assert_eq!(settle(&pod).errors, [], "seed {seed}");
    }
}

/// Whatever the generator is changed to, each of these must still come up this often in the first seeds.
fn occurs(what: &str, least: usize, found: usize) {
    assert!(found >= least, "{what}: {found} of {SEEDS} seeds, expected at least {least}");
}

fn count_pods(what: &str, least: usize, has: impl Fn(&Pod) -> bool) {
    occurs(what, least, scenarios().filter(|scenario| has(&scenario.pod)).count());
}

fn init(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default()
}

fn ephemeral(pod: &Pod) -> &[EphemeralContainer] {
    pod.spec.as_ref().and_then(|spec| spec.ephemeral_containers.as_deref()).unwrap_or_default()
}

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    init(pod).iter().chain(pod.spec.iter().flat_map(|spec| &spec.containers))
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn has_annotation(pod: &Pod, key: &str) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(key))
}

#[test]
fn every_shape_of_pod_occurs() {
    count_pods("a sidecar", 500, |pod| init(pod).iter().any(is_sidecar));
    count_pods("several sidecars", 300, |pod| init(pod).iter().filter(|c| is_sidecar(c)).count() > 1);
    count_pods("a plain init container", 200, |pod| init(pod).iter().any(|c| !is_sidecar(c)));
    count_pods("an ephemeral container", 100, |pod| !ephemeral(pod).is_empty());
    count_pods("a finalizer", 100, |pod| pod.metadata.finalizers.is_some());
    count_pods("ranks in the annotation", 100, |pod| has_annotation(pod, PRIORITY_ANNOTATION));
    count_pods("settled ranks", 50, |pod| has_annotation(pod, EFFECTIVE_ANNOTATION));
    let by_variable = |c: &Container| c.env.iter().flatten().any(|env| env.name == PRIORITY_ENV);
    count_pods("ranks in variables", 50, |pod| containers(pod).any(by_variable));
    for os in ["linux", "windows"] {
        let named = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.os.as_ref()).is_some_and(|o| o.name == os);
        count_pods(os, 100, named);
    }
    for grace in [0, 1, 30, 3_600] {
        let given = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds) == Some(grace);
        count_pods(&format!("a grace period of {grace}"), 50, given);
    }
}

#[test]
fn every_kind_of_hook_and_signal_occurs() {
    for kind in ["exec", "httpGet", "sleep", "invalid"] {
        let is = |c: &Container| Hook::pre_stop(c.lifecycle.as_ref()).is_some_and(|hook| hook.kind() == kind);
        count_pods(kind, 100, |pod| containers(pod).any(is));
    }
    let no_op = |c: &Container| Hook::pre_stop(c.lifecycle.as_ref()) == Some(Hook::Sleep { seconds: 0 });
    count_pods("a sleep of zero", 20, |pod| containers(pod).any(no_op));
    for signal in ["SIGQUIT", "SIGKILL", "SIGWINCH", "SIGRTMIN+3", "SIGTERM"] {
        let named = |c: &Container| c.lifecycle.as_ref().and_then(|l| l.stop_signal.as_deref()) == Some(signal);
        count_pods(signal, 20, |pod| containers(pod).any(named));
    }
}

#[test]
fn every_kind_of_process_occurs() {
    let count = |what: &str, least, is: fn(&Process) -> bool| {
        occurs(what, least, scenarios().filter(|scenario| scenario.processes.iter().any(is)).count());
    };
    count("one that obeys", 1_000, |p| matches!(p.on_signal, Reaction::Obeys(_)));
    count("one that ignores", 500, |p| matches!(p.on_signal, Reaction::Ignores));
    count("a hook that succeeds", 1_000, |p| matches!(p.hook, HookRun::Succeeds(_)));
    count("a hook that fails", 200, |p| matches!(p.hook, HookRun::Fails(_)));
    count("a hook that hangs", 200, |p| matches!(p.hook, HookRun::Hangs));
    count("one that exits early", 100, |p| p.leaves.is_some_and(|leaving| leaving.code == 0));
    count("one that crashes", 100, |p| p.leaves.is_some_and(|leaving| leaving.code == 1));
    count("one that runs out of memory", 100, |p| p.leaves.is_some_and(|leaving| leaving.out_of_memory));
    let initializing = |scenario: &Scenario| {
        let regular = scenario.pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
        let from = init(&scenario.pod).len();
        let running = &scenario.processes[from..from + regular];
        from > 0 && running.iter().all(|p| !p.runs_at_start) && scenario.processes.iter().any(|p| p.runs_at_start)
    };
    occurs("a pod that is initializing", 50, scenarios().filter(initializing).count());
}

#[test]
fn every_caller_occurs() {
    let count = |what: &str, least, is: fn(&Caller) -> bool| {
        occurs(what, least, scenarios().filter(|scenario| scenario.callers.iter().any(|(_, c)| is(c))).count());
    };
    count("a plain delete", 500, |c| matches!(c, Caller::Delete(None)));
    count("a force", 100, |c| matches!(c, Caller::Delete(Some(0))));
    count("a negative grace period", 50, |c| matches!(c, Caller::Delete(Some(seconds)) if *seconds < 0));
    count("a short grace period", 100, |c| matches!(c, Caller::Delete(Some(1..=5))));
    count("a long grace period", 100, |c| matches!(c, Caller::Delete(Some(60..))));
    count("an eviction", 100, |c| matches!(c, Caller::Evict(_)));
    count("a node shutdown", 100, |c| matches!(c, Caller::ShutDown(_)));
    count("a finalizer's owner", 100, |c| matches!(c, Caller::RemoveFinalizer));
    let deletes = |scenario: &Scenario| scenario.callers.iter().filter(|(_, c)| matches!(c, Caller::Delete(_))).count();
    occurs("several deletes", 500, scenarios().filter(|scenario| deletes(scenario) > 1).count());
}

#[test]
fn every_fault_is_planned() {
    let count = |what: &str, least, is: fn(&Faults) -> bool| {
        occurs(what, least, scenarios().filter(|scenario| is(&scenario.faults)).count());
    };
    count("calm", 400, |f| !f.any());
    count("failing calls", 300, |f| f.call_fails_percent > 0);
    count("slow answers", 200, |f| f.slow_percent > 0);
    count("lost events", 300, |f| f.event_lost_percent > 0);
    count("a lying runtime", 100, |f| f.lie_percent > 0);
    count("a killed agent", 300, |f| f.agent_dies_after.iter().any(Option::is_some));
    count("a restarted runtime", 200, |f| f.runtime_restarts.iter().any(Option::is_some));
    for recovery in [Recovery::Anew, Recovery::Resume] {
        occurs("a way to recover", 500, scenarios().filter(|scenario| scenario.recovery == recovery).count());
    }
}

/// What is planned also happens before the pod has ended.
#[test]
fn every_fault_happens() {
    let summaries: Vec<Summary> =
        (0..SEEDS).map(|seed| simulate(seed).unwrap_or_else(|failure| panic!("{failure}"))).collect();
    let count = |what: &str, least, is: fn(&Summary) -> bool| {
        occurs(what, least, summaries.iter().filter(|summary| is(summary)).count());
    };
    count("a killed agent", 300, |s| s.agent_deaths > 0);
    count("an agent killed twice", 100, |s| s.agent_deaths > 1);
    count("a restarted runtime", 100, |s| s.runtime_restarts > 0);
    count("a failed call", 300, |s| s.failed_calls > 0);
    count("a lost event", 300, |s| s.lost_events > 0);
    count("a kill", 500, |s| s.kills > 0);
    count("an end without a kill", 300, |s| s.kills == 0);
    count("a late start", 5, |s| s.late_starts > 0);
}
