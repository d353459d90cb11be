//! The decision on a delete request for a pod.
//!
//! | stored pod | request | outcome |
//! | --- | --- | --- |
//! | any | precondition does not hold | [`Conflict`] |
//! | not terminating | grace > 0 after resolution | marked: deadline = now + grace, generation + 1 |
//! | not terminating | grace 0 (asked, unscheduled, terminal, spec) | marked with 0 and removed, or kept for its finalizers |
//! | terminating, stored grace 0 or none | any | removed, or kept for its finalizers |
//! | terminating | no grace, or one not shorter | nothing changes |
//! | terminating | shorter, > 0 | deadline moved earlier, counted from the first request, never before now |
//! | terminating | 0 | marked with 0 and removed, or kept for its finalizers |

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use thiserror::Error;

use super::{DeleteOptions, Preconditions, finalizers};
use crate::moment::Moment;

/// What a delete request does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Nothing changes: the pod is already ending at least as soon.
    Pending,
    /// Store these marks; the object stays until its node, or its last finalizer, lets it go.
    Mark(Marks),
    /// Store these marks if there are any, then remove the object.
    Remove(Option<Marks>),
}

/// What is written into a pod's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The deadline, not the time of the request.
    pub deletion_timestamp: Moment,
    pub grace_seconds: i64,
    pub generation: Option<i64>,
    pub finalizers: Vec<String>,
}

impl Marks {
    /// Writes the marks. Times in objects are whole seconds.
    pub fn apply(&self, metadata: &mut ObjectMeta) {
        metadata.deletion_timestamp = Some(self.deletion_timestamp.whole_second());
        metadata.deletion_grace_period_seconds = Some(self.grace_seconds);
        metadata.generation = self.generation;
        metadata.finalizers = if self.finalizers.is_empty() { None } else { Some(self.finalizers.clone()) };
    }
}

/// Why a delete request does not apply to the stored object: a 409.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Conflict {
    #[error(
        "the UID in the precondition ({asked}) does not match the UID in record ({stored}). The object might have been deleted and then recreated"
    )]
    Uid { asked: String, stored: String },
    #[error(
        "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({stored}). The object might have been modified"
    )]
    ResourceVersion { asked: String, stored: String },
}

/// Decides on a delete request.
pub fn decide(pod: &Pod, options: &DeleteOptions, now: Moment) -> Result<Deletion, Conflict> {
    check_preconditions(&pod.metadata, &options.preconditions)?;
    let asked = options.grace_seconds.map(at_least_zero);
    let outcome = match &pod.metadata.deletion_timestamp {
        None => first_delete(pod, asked, options, now),
        Some(deadline) => repeated_delete(&pod.metadata, deadline, asked, options, now),
    };
    Ok(outcome)
}

pub(super) fn check_preconditions(metadata: &ObjectMeta, asked: &Preconditions) -> Result<(), Conflict> {
    let stored = |value: &Option<String>| value.clone().unwrap_or_default();
    if let Some(uid) = &asked.uid
        && *uid != stored(&metadata.uid)
    {
        return Err(Conflict::Uid { asked: uid.clone(), stored: stored(&metadata.uid) });
    }
    if let Some(version) = &asked.resource_version
        && *version != stored(&metadata.resource_version)
    {
        let stored = stored(&metadata.resource_version);
        return Err(Conflict::ResourceVersion { asked: version.clone(), stored });
    }
    Ok(())
}

fn first_delete(pod: &Pod, asked: Option<i64>, options: &DeleteOptions, now: Moment) -> Deletion {
    let grace_seconds = resolve_grace(pod, asked);
    let marks = Marks {
        deletion_timestamp: now + std::time::Duration::from_secs(grace_seconds.unsigned_abs()),
        grace_seconds,
        generation: pod.metadata.generation.map(|generation| if generation > 0 { generation + 1 } else { generation }),
        finalizers: finalizers_after(&pod.metadata, options),
    };
    mark_or_remove(marks)
}

/// The grace period of a first delete: the request's, else the spec's, but zero for a pod that no node runs.
fn resolve_grace(pod: &Pod, asked: Option<i64>) -> i64 {
    let spec = pod.spec.as_ref();
    let scheduled = spec.and_then(|spec| spec.node_name.as_deref()).is_some_and(|node| !node.is_empty());
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if !scheduled || matches!(phase, Some("Failed" | "Succeeded")) {
        return 0;
    }
    let from_spec = || spec.and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(0);
    at_least_zero(asked.unwrap_or_else(from_spec))
}

fn repeated_delete(
    metadata: &ObjectMeta,
    deadline: &Time,
    asked: Option<i64>,
    options: &DeleteOptions,
    now: Moment,
) -> Deletion {
    let deadline = Moment::from_millis(deadline.0.as_millisecond());
    let stored = metadata.deletion_grace_period_seconds.map_or(0, at_least_zero);
    if stored == 0 {
        return let_go(metadata, deadline, options, now);
    }
    let Some(asked) = asked.filter(|asked| *asked < stored) else {
        return Deletion::Pending;
    };
    let requested_at = deadline.minus(std::time::Duration::from_secs(stored.unsigned_abs()));
    let shortened = requested_at + std::time::Duration::from_secs(asked.unsigned_abs());
    let expired = shortened < now;
    let marks = Marks {
        deletion_timestamp: shortened.max(now),
        // The time is already up, but the caller asked for a graceful end: the node still owns the last delete.
        grace_seconds: if expired && asked != 0 { 1 } else { asked },
        generation: metadata.generation,
        finalizers: finalizers_after(metadata, options),
    };
    mark_or_remove(marks)
}

/// A pod that was already to be removed: remove it, or keep it only for its finalizers.
fn let_go(metadata: &ObjectMeta, deadline: Moment, options: &DeleteOptions, now: Moment) -> Deletion {
    let finalizers = finalizers_after(metadata, options);
    if finalizers.is_empty() {
        return Deletion::Remove(None);
    }
    let generation = metadata.generation;
    Deletion::Mark(Marks { deletion_timestamp: deadline.min(now), grace_seconds: 0, generation, finalizers })
}

fn mark_or_remove(marks: Marks) -> Deletion {
    if marks.grace_seconds == 0 && marks.finalizers.is_empty() {
        Deletion::Remove(Some(marks))
    } else {
        Deletion::Mark(marks)
    }
}

fn finalizers_after(metadata: &ObjectMeta, options: &DeleteOptions) -> Vec<String> {
    finalizers::after_request(metadata.finalizers.as_deref().unwrap_or_default(), options.propagation, None)
}

const fn at_least_zero(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
