//! Grace periods that are too short, too long, or not what they seem.

use k8s_openapi::api::core::v1::Probe;

use super::Severity;
use super::facts::{ContainerFacts, Draft, HookFacts, HookMoment, PodFacts, in_seconds};
use crate::grace::STOP_FLOOR;
use crate::hook::Hook;

/// Cluster autoscalers wait ten minutes for a pod by default, node shutdowns less.
const LONG_SECONDS: u64 = 600;

const FIELD: &str = "spec.terminationGracePeriodSeconds";

pub(super) fn zero(pod: &PodFacts<'_>) -> Vec<Draft> {
    if pod.grace.runs_hooks() {
        return vec![];
    }
    let message = format!(
        "The grace period is 0 s: no preStop hook runs, and every process has {} between its stop signal and SIGKILL.",
        in_seconds(STOP_FLOOR)
    );
    let remedy = match pod.subject.grace_seconds {
        Some(_) => "Delete without a grace period of 0; the pod's own then counts.",
        None => "Write terminationGracePeriodSeconds: 30, or whatever the slowest container needs.",
    };
    vec![pod.draft(Severity::Warning, FIELD, message, remedy.to_owned())]
}

pub(super) fn hook_never_runs(hook: &HookFacts<'_>) -> Option<Draft> {
    let does_nothing = hook.hook == Hook::Sleep { seconds: 0 };
    if hook.moment != HookMoment::PreStop || hook.container.pod.grace.runs_hooks() || does_nothing {
        return None;
    }
    let message = format!(
        "The preStop hook of {} never runs, because the grace period is 0 s: the stop signal is sent at once.",
        hook.container.name()
    );
    let remedy = "Write a terminationGracePeriodSeconds long enough for the hook and the process, e.g. 30, or drop the \
                  hook.";
    Some(hook.draft(Severity::Error, message, remedy.to_owned()))
}

pub(super) fn very_long(pod: &PodFacts<'_>) -> Vec<Draft> {
    let seconds = pod.grace_seconds();
    if seconds <= LONG_SECONDS {
        return vec![];
    }
    let message = format!(
        "The grace period is {seconds} s, but cluster autoscalers (by default {LONG_SECONDS} s), node shutdowns and \
         drains with a timeout give a pod less: then SIGKILL comes sooner than this pod expects."
    );
    let remedy = format!(
        "Make the pod able to end within {LONG_SECONDS} s, or set the autoscaler's --max-graceful-termination-sec and \
         the kubelet's shutdownGracePeriod to at least {seconds} s."
    );
    vec![pod.draft(Severity::Info, FIELD, message, remedy)]
}

pub(super) fn probe_grace_longer(container: &ContainerFacts<'_>) -> Option<Draft> {
    let pods = container.pod.subject.spec.termination_grace_period_seconds?;
    let own = |probe: Option<&Probe>| probe.and_then(|probe| probe.termination_grace_period_seconds);
    let probes = [
        ("livenessProbe", own(container.container.liveness_probe.as_ref())),
        ("startupProbe", own(container.container.startup_probe.as_ref())),
    ];
    let longer: Vec<(&str, i64)> =
        probes.into_iter().filter_map(|(name, own)| Some((name, own?))).filter(|(_, own)| *own > pods).collect();
    let (first, _) = longer.first()?;
    let times = longer.iter().map(|(name, own)| format!("{own} s when its {name} fails")).collect::<Vec<_>>();
    let message = format!(
        "{} has {} to end, longer than the {pods} s it has when its pod is deleted.",
        container.name(),
        times.join(" and ")
    );
    let remedy = format!(
        "A container that fails its probe is rarely worth waiting for: write a terminationGracePeriodSeconds of at \
         most {pods} there, or drop it."
    );
    let below = format!("{first}.terminationGracePeriodSeconds");
    Some(container.draft(Severity::Info, &below, message, remedy))
}
