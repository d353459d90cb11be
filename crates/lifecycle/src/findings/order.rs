//! Exit ranks that are refused, odd, or have less time than they need.

use std::collections::HashMap;
use std::time::Duration;

use super::Severity;
use super::facts::{ContainerFacts, Draft, PodFacts, in_seconds, whole_seconds};
use crate::exit_order::stages::Role;
use crate::exit_order::{EFFECTIVE_ANNOTATION, PRIORITY_ANNOTATION, PRIORITY_ENV, RankError, RankWarning};

const GRACE_FIELD: &str = "spec.terminationGracePeriodSeconds";

fn annotation(key: &str) -> String {
    format!("metadata.annotations[{key}]")
}

/// Regular containers by name; of several the first.
fn by_name<'a>(pod: &'a PodFacts<'a>) -> HashMap<&'a str, ContainerFacts<'a>> {
    let regular = pod.containers().filter(|container| container.role == Role::Regular);
    let mut containers = HashMap::new();
    for container in regular {
        containers.entry(container.name()).or_insert(container);
    }
    containers
}

/// A finding about the variable of `container`.
fn about_env(
    container: Option<&ContainerFacts<'_>>,
    severity: Severity,
    message: String,
    remedy: String,
) -> Option<Draft> {
    let container = container?;
    let env = container.container.env.as_deref().unwrap_or_default();
    let index = env.iter().rposition(|env| env.name == PRIORITY_ENV)?;
    Some(container.draft(severity, &format!("env[{index}]"), message, remedy))
}

pub(super) fn refused(pod: &PodFacts<'_>) -> Vec<Draft> {
    if pod.settled.errors.is_empty() {
        return vec![];
    }
    let containers = by_name(pod);
    pod.settled.errors.iter().filter_map(|error| one_refused(pod, &containers, error)).collect()
}

fn one_refused(pod: &PodFacts<'_>, containers: &HashMap<&str, ContainerFacts<'_>>, error: &RankError) -> Option<Draft> {
    let message = format!("The pod is refused: {error}.");
    let (remedy, container) = match error {
        RankError::Annotation(_) => {
            let text = "Write one JSON object from container name to whole number, e.g. '{\"envoy\": 1}' (rank 0 exits \
                        first; containers that are not named have rank 0).";
            (text.to_owned(), None)
        }
        RankError::UnknownContainer { container } => {
            (format!("Correct the name {container:?} to one under spec.containers, or drop it."), Some(container))
        }
        RankError::InitContainer { container } | RankError::EphemeralContainer { container } => {
            (format!("Drop {container:?} from the annotation; only regular containers have ranks."), Some(container))
        }
        RankError::EnvNotAnInteger { container, .. }
        | RankError::EnvOutOfRange { container, .. }
        | RankError::EnvNotLiteral { container } => {
            let remedy = format!(
                "Write {{name: {PRIORITY_ENV}, value: \"1\"}}: a whole number of 32 bits without sign + or leading \
                 zeros (rank 0 exits first)."
            );
            return about_env(containers.get(container.as_str()), Severity::Error, message, remedy);
        }
    };
    let mut draft = pod.draft(Severity::Error, &annotation(PRIORITY_ANNOTATION), message, remedy);
    draft.container = container.cloned();
    Some(draft)
}

pub(super) fn odd(pod: &PodFacts<'_>) -> Vec<Draft> {
    let unreadable = |warning: &&RankWarning| matches!(warning, RankWarning::UnreadableSettledRanks { .. });
    let on_node = pod.on_node_warnings.iter().filter(unreadable);
    if pod.settled.warnings.is_empty() && pod.on_node_warnings.is_empty() {
        return vec![];
    }
    let containers = by_name(pod);
    pod.settled.warnings.iter().chain(on_node).filter_map(|warning| one_odd(pod, &containers, warning)).collect()
}

fn one_odd(pod: &PodFacts<'_>, containers: &HashMap<&str, ContainerFacts<'_>>, warning: &RankWarning) -> Option<Draft> {
    match warning {
        RankWarning::EmptyAnnotation => {
            let remedy = "Write ranks ('{\"envoy\": 1}', rank 0 exits first) or drop the annotation.".to_owned();
            let message = format!("Nobody waits for anybody: {warning}.");
            Some(pod.draft(Severity::Warning, &annotation(PRIORITY_ANNOTATION), message, remedy))
        }
        RankWarning::AnnotationBeatsEnv { container, annotation, env } => {
            let message = format!(
                "{container} has rank {annotation} from the annotation and {env} from {PRIORITY_ENV}; the annotation \
                 counts (rank 0 exits first)."
            );
            let remedy = format!("Drop the variable {PRIORITY_ENV}, or give it the value \"{annotation}\".");
            about_env(containers.get(container.as_str()), Severity::Warning, message, remedy)
        }
        RankWarning::UnreadableSettledRanks { .. } => {
            let remedy = format!("Drop the annotation {EFFECTIVE_ANNOTATION}; admission writes it anew.");
            let message = format!("Ranks have no effect: {warning}.");
            Some(pod.draft(Severity::Warning, &annotation(EFFECTIVE_ANNOTATION), message, remedy))
        }
    }
}

pub(super) fn without_grace(pod: &PodFacts<'_>) -> Vec<Draft> {
    if !pod.has_ranks() || pod.grace.runs_hooks() {
        return vec![];
    }
    let message = format!(
        "The containers have {} exit ranks (rank 0 exits first) but the grace period is 0 s: the order has hardly any \
         effect, because all of them are stopped within a second.",
        pod.rank_values.len()
    );
    let remedy = format!("Write a terminationGracePeriodSeconds of at least {}, or drop the ranks.", least_grace(pod));
    vec![pod.draft(Severity::Warning, GRACE_FIELD, message, remedy)]
}

/// What each later rank would like to keep.
fn wish(pod: &PodFacts<'_>) -> Duration {
    pod.subject.reserve.share(Duration::MAX, 1)
}

/// The shortest grace period, in seconds, with which every rank keeps its reserve.
fn least_grace(pod: &PodFacts<'_>) -> u64 {
    let ranks = u32::try_from(pod.rank_values.len()).unwrap_or(u32::MAX);
    whole_seconds(wish(pod).saturating_mul(ranks)).max(1)
}

pub(super) fn short_grace(pod: &PodFacts<'_>) -> Vec<Draft> {
    let ranks = pod.rank_values.len();
    let share = pod.subject.reserve.share(pod.grace.effective(), ranks);
    if !pod.has_ranks() || !pod.grace.runs_hooks() || share >= wish(pod) {
        return vec![];
    }
    let message = format!(
        "{ranks} exit ranks (rank 0 exits first) share a grace period of {}: only {} are kept for each rank instead of \
         {}.",
        in_seconds(pod.grace.effective()),
        in_seconds(share),
        in_seconds(wish(pod))
    );
    let remedy = format!(
        "Write a terminationGracePeriodSeconds of at least {}, better much more, or fewer ranks.",
        least_grace(pod)
    );
    vec![pod.draft(Severity::Warning, GRACE_FIELD, message, remedy)]
}

pub(super) fn native_sidecars(pod: &PodFacts<'_>) -> Vec<Draft> {
    let sidecar = pod.containers().find(|container| container.role == Role::Sidecar);
    let Some(sidecar) = sidecar.filter(|_| pod.has_ranks()) else { return vec![] };
    let message = format!(
        "Ranks order the regular containers only (rank 0 exits first); native sidecars such as {} end after all of \
         them, whatever the ranks are.",
        sidecar.name()
    );
    let remedy = "Nothing to do if that is what you want; otherwise make the sidecar a regular container with a rank.";
    vec![pod.draft(Severity::Info, "spec.initContainers", message, remedy.to_owned())]
}
