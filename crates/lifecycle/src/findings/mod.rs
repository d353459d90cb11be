//! What in a pod's spec will make it end badly, in words for whoever is woken by it.
//!
//! A finding is one function and one line in `checks::CHECKS`, which also gives it its id. Ids are stable: people
//! write them into exceptions. A check sees one hook, one container or the whole pod and decides alone; none does more
//! work than the pod is long. The pod is taken to have passed validation, but nothing here relies on it.

mod checks;
mod command;
mod exec_hooks;
mod facts;
mod grace;
mod handlers;
mod image;
mod late;
mod lengths;
mod order;
mod script;
mod shells;
mod sidecars;
mod signals;
mod traffic;

use std::cmp::Reverse;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::field::Path;
use model::gates::FeatureGates;
use serde::Serialize;

use crate::exit_order::Reserve;
use checks::{CHECKS, Check};
use facts::{Draft, HookFacts, PodFacts};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Will go wrong under some circumstances.
    Warning,
    /// Goes wrong every time.
    Error,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One thing that makes a pod end badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable, in kebab case.
    pub id: &'static str,
    pub severity: Severity,
    /// The field's path in upstream's notation, from the root of the object that was given.
    pub field: String,
    /// The container it is about, if it is about one.
    pub container: Option<String>,
    /// What will happen.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
}

/// What the pod is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A pod by itself.
    Pod,
    /// Something that replaces its pods and is not expected to finish (Deployment, StatefulSet, DaemonSet and so on).
    LongRunning,
    /// Something that is over when its pods are (Job, CronJob).
    Job,
}

/// What is looked at, and under which settings.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub metadata: Option<&'a ObjectMeta>,
    pub spec: &'a PodSpec,
    pub workload: Workload,
    /// Where the pod or the pod template stands in its object.
    pub path: Path<'a>,
    pub gates: FeatureGates,
    pub reserve: Reserve,
    /// The grace period of the delete that is looked at, if it is not the pod's own.
    pub grace_seconds: Option<i64>,
}

/// Everything that will make the pod end badly: the worst first, then in the order of its fields.
pub fn of_pod(subject: &Subject<'_>) -> Vec<Finding> {
    let pod = PodFacts::of(subject);
    let mut drafts: Vec<(usize, Draft)> = vec![];
    for (line, (_, check)) in CHECKS.iter().enumerate() {
        match check {
            Check::Pod(check) => drafts.extend(check(&pod).into_iter().map(|draft| (line, draft))),
            Check::Container(_) | Check::Hook(_) => {}
        }
    }
    for container in pod.containers() {
        let hooks: Vec<HookFacts<'_>> = container.hooks().collect();
        for (line, (_, check)) in CHECKS.iter().enumerate() {
            match check {
                Check::Container(check) => drafts.extend(check(&container).map(|draft| (line, draft))),
                Check::Hook(check) => {
                    drafts.extend(hooks.iter().filter_map(check).map(|draft| (line, draft)));
                }
                Check::Pod(_) => {}
            }
        }
    }
    drafts.sort_by_key(|(line, draft)| (Reverse(draft.severity), draft.place, *line));
    drafts.into_iter().map(|(line, draft)| draft.into_finding(CHECKS[line].0)).collect()
}

/// The id of every finding there is.
pub fn ids() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(id, _)| *id)
}

#[cfg(test)]
mod tests;
