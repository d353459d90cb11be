//! When a job is valid, and what of it may change.
//!
//! Lists of indexes, which only the job's controller writes, are stored as they come.

use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::{Affinity, PodTemplateSpec};
use model::field::{Errors, Path};
use model::selector::Labels;
use model::text;
use model::validation::formats::{self, IMMUTABLE};
use model::validation::{self, InvalidValues, Workload, same, shown_selector};
use serde_json::{Value, json};

use super::failure_policy::validate_failure_policy;
use super::{NAME_LABELS, UID_LABELS, has_condition};
use crate::kind::Scene;
use crate::kinds::workload;

const INDEXED: &str = "Indexed";
const INDEXED_PARALLELISM_MAX: i32 = 100_000;
const FAILED_INDEXES_MAX: i32 = 100_000;
const SUCCESS_RULES_MAX: usize = 20;

pub(super) fn validate_new(job: &Job, scene: &Scene, errors: &mut Errors) {
    let no_spec = JobSpec::default();
    let spec = job.spec.as_ref().unwrap_or(&no_spec);
    if spec.manual_selector != Some(true) {
        validate_generated(job, spec, errors);
    }
    validate_spec(spec, None, scene, errors);
    validate_host_names(job, spec, errors);
}

pub(super) fn validate_update(new: &Job, old: &Job, scene: &Scene, errors: &mut Errors) {
    let (root, no_spec) = (Path::root(), JobSpec::default());
    let path = root.child("spec");
    let spec = new.spec.as_ref().unwrap_or(&no_spec);
    let before = old.spec.as_ref().unwrap_or(&no_spec);
    validate_spec(spec, Some(&before.template), scene, errors);
    validate_completions_change(spec, before, path.child("completions"), errors);
    if !same(&spec.selector, &before.selector) {
        let shown = spec.selector.as_ref().map_or(Value::Null.into(), shown_selector);
        errors.invalid(path.child("selector"), shown, IMMUTABLE);
    }
    if !same(&spec.template, &with_scheduling_of(&spec.template, old, before)) {
        errors.invalid(path.child("template"), json!(spec.template), IMMUTABLE);
    }
    let fixed = [
        ("completionMode", json!(spec.completion_mode), json!(before.completion_mode)),
        ("podFailurePolicy", json!(spec.pod_failure_policy), json!(before.pod_failure_policy)),
        ("backoffLimitPerIndex", json!(spec.backoff_limit_per_index), json!(before.backoff_limit_per_index)),
        ("managedBy", json!(spec.managed_by), json!(before.managed_by)),
        ("successPolicy", json!(spec.success_policy), json!(before.success_policy)),
    ];
    for (field, new, old) in fixed {
        if new != old {
            errors.invalid(path.child(field), new, IMMUTABLE);
        }
    }
    validate_host_names(new, spec, errors);
}

/// Until a suspended job has started, where its pods go may change.
fn with_scheduling_of(new: &PodTemplateSpec, old: &Job, before: &JobSpec) -> PodTemplateSpec {
    let mut template = before.template.clone();
    let started = old.status.as_ref().is_some_and(|status| status.start_time.is_some());
    let (Some(pod), Some(from)) = (&mut template.spec, &new.spec) else { return template };
    if before.suspend != Some(true) || started {
        return template;
    }
    let node_affinity = from.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
    let mut affinity = pod.affinity.take().unwrap_or_default();
    affinity.node_affinity = node_affinity;
    pod.affinity = (from.affinity.is_some() || affinity != Affinity::default()).then_some(affinity);
    pod.node_selector.clone_from(&from.node_selector);
    pod.tolerations.clone_from(&from.tolerations);
    pod.scheduling_gates.clone_from(&from.scheduling_gates);
    let (metadata, given) = (template.metadata.get_or_insert_default(), new.metadata.clone().unwrap_or_default());
    metadata.labels = given.labels;
    metadata.annotations = given.annotations;
    template
}

fn validate_completions_change(new: &JobSpec, old: &JobSpec, path: Path<'_>, errors: &mut Errors) {
    if new.completions == old.completions {
        return;
    }
    if new.completion_mode.as_deref() != Some(INDEXED) {
        errors.invalid(path, json!(new.completions), IMMUTABLE);
    } else if new.completions.is_some() && new.completions != new.parallelism {
        errors.invalid(path, json!(new.completions), "can only be modified in tandem with spec.parallelism");
    }
}

/// The labels and the selector are the ones that the server makes.
fn validate_generated(job: &Job, spec: &JobSpec, errors: &mut Errors) {
    let root = Path::root();
    let Some(selector) = &spec.selector else { return };
    let name = job.metadata.name.clone().unwrap_or_default();
    let uid = job.metadata.uid.clone().unwrap_or_default();
    if uid.is_empty() {
        errors.required(root.child("metadata.uid"), "");
    }
    let labels = spec.template.metadata.as_ref().and_then(|metadata| metadata.labels.clone()).unwrap_or_default();
    let path = root.child("spec.template.metadata.labels");
    let mut expected = std::collections::BTreeMap::new();
    for (key, value) in [(UID_LABELS[0], &uid), (NAME_LABELS[0], &name), (UID_LABELS[1], &uid), (NAME_LABELS[1], &name)]
    {
        expected.insert(key.to_owned(), value.clone());
        match labels.get(key) {
            None => errors.required(path.key(key), &format!("must be '{value}'")),
            Some(actual) if actual != value => {
                errors.invalid(path.key(key), json!(labels), &format!("must be '{value}'"));
            }
            Some(_) => {}
        }
    }
    if Labels::from_object(Some(selector)).is_ok_and(|selector| !selector.matches(&expected)) {
        errors.invalid(root.child("spec.selector"), shown_selector(selector), "`selector` not auto-generated");
    }
}

/// Every index becomes part of a host name.
fn validate_host_names(job: &Job, spec: &JobSpec, errors: &mut Errors) {
    let Some(completions) = spec.completions.filter(|count| *count > 0) else { return };
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let longest = format!("{name}-{}", completions - 1);
    if spec.completion_mode.as_deref() == Some(INDEXED) && !text::dns_label(&longest).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {longest}");
        errors.invalid(Path::root().child("metadata.name"), name, &detail);
    }
}

fn validate_spec(spec: &JobSpec, old: Option<&PodTemplateSpec>, scene: &Scene, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("spec");
    let counts = [
        ("parallelism", spec.parallelism.map(i64::from)),
        ("completions", spec.completions.map(i64::from)),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit.map(i64::from)),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished.map(i64::from)),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index.map(i64::from)),
        ("maxFailedIndexes", spec.max_failed_indexes.map(i64::from)),
    ];
    workload::validate_counts(&counts, path, errors);
    if spec.max_failed_indexes.is_some() && spec.backoff_limit_per_index.is_none() {
        errors.required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    let mode = spec.completion_mode.as_deref().unwrap_or("NonIndexed");
    formats::choice(mode, &["NonIndexed", INDEXED], path.child("completionMode"), errors);
    validate_indexes(spec, mode, path, errors);
    validate_failure_policy(spec, path.child("podFailurePolicy"), errors);
    validate_success_policy(spec, mode, path.child("successPolicy"), errors);
    if let Some(policy) = &spec.pod_replacement_policy {
        let all = ["Failed", "TerminatingOrFailed"];
        let supported = if spec.pod_failure_policy.is_some() { &all[..1] } else { &all[..] };
        formats::choice(policy, supported, path.child("podReplacementPolicy"), errors);
    }
    let template = path.child("template");
    errors.extend(validation::validate_template(&spec.template, old, Workload::Job, template, scene.gates));
    let restart = spec.template.spec.as_ref().and_then(|pod| pod.restart_policy.as_deref());
    if spec.pod_failure_policy.is_some() && restart == Some("OnFailure") {
        let detail = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.invalid(template.child("spec.restartPolicy"), Value::from("OnFailure"), detail);
    }
    if spec.selector.is_none() {
        errors.required(path.child("selector"), "");
    }
    validation::validate_selector(spec.selector.as_ref(), InvalidValues::Refused, path.child("selector"), errors);
    if let Ok(selector) = Labels::from_object(spec.selector.as_ref())
        && !selector.is_everything()
    {
        workload::validate_match(&selector, &spec.template, errors);
    }
}

fn validate_indexes(spec: &JobSpec, mode: &str, path: Path<'_>, errors: &mut Errors) {
    let failed = path.child("maxFailedIndexes");
    if mode != INDEXED {
        let per_index =
            [("backoffLimitPerIndex", spec.backoff_limit_per_index), ("maxFailedIndexes", spec.max_failed_indexes)];
        for (field, value) in per_index.into_iter().filter_map(|(field, value)| Some((field, value?))) {
            errors.invalid(path.child(field), value, "requires indexed completion mode");
        }
        return;
    }
    if spec.completions.is_none() {
        errors.required(path.child("completions"), "when completion mode is Indexed");
    }
    if let Some(parallelism) = spec.parallelism.filter(|count| *count > INDEXED_PARALLELISM_MAX) {
        let detail =
            format!("must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is {INDEXED}");
        errors.invalid(path.child("parallelism"), parallelism, &detail);
    }
    let Some(most) = spec.max_failed_indexes else { return };
    if spec.completions.is_some_and(|completions| most > completions) {
        errors.invalid(failed, most, "must be less than or equal to completions");
    }
    if most > FAILED_INDEXES_MAX {
        errors.invalid(failed, most, &format!("must be less than or equal to {FAILED_INDEXES_MAX}"));
    }
}

fn validate_success_policy(spec: &JobSpec, mode: &str, path: Path<'_>, errors: &mut Errors) {
    let Some(policy) = &spec.success_policy else { return };
    if mode != INDEXED {
        errors.invalid(path, json!(policy), "requires indexed completion mode");
        return;
    }
    let rules = path.child("rules");
    match policy.rules.len() {
        0 => errors.required(rules, "at least one rules must be specified when the successPolicy is specified"),
        1..=SUCCESS_RULES_MAX => {}
        count => errors.too_many(rules, count, SUCCESS_RULES_MAX),
    }
    for (i, rule) in policy.rules.iter().enumerate() {
        let path = rules.index(i);
        if rule.succeeded_count.is_none() && rule.succeeded_indexes.is_none() {
            errors.required(path, "at least one of succeededCount or succeededIndexes must be specified");
        }
        let Some(count) = rule.succeeded_count else { continue };
        formats::not_negative(count.into(), path.child("succeededCount"), errors);
        if let Some(completions) = spec.completions.filter(|completions| count > *completions) {
            let detail = format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.invalid(path.child("succeededCount"), count, &detail);
        }
    }
}

/// A job that has ended stays ended, and counts only go up.
pub(super) fn validate_status(new: &Job, old: &Job, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("status");
    let (status, before) = (new.status.clone().unwrap_or_default(), old.status.clone().unwrap_or_default());
    let counts = [
        ("active", status.active.map(i64::from)),
        ("succeeded", status.succeeded.map(i64::from)),
        ("failed", status.failed.map(i64::from)),
        ("ready", status.ready.map(i64::from)),
        ("terminating", status.terminating.map(i64::from)),
    ];
    workload::validate_counts(&counts, path, errors);
    validate_end(&status, path, errors);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if has_condition(&before, kind) && !has_condition(&status, kind) {
            let detail = format!("cannot disable the terminal {kind}=True condition");
            errors.invalid(path.child("conditions"), Value::Null, &detail);
        }
    }
    let spec = new.spec.clone().unwrap_or_default();
    let elastic = spec.completion_mode.as_deref() == Some(INDEXED) && spec.completions == spec.parallelism;
    let counters =
        [("failed", status.failed, before.failed, true), ("succeeded", status.succeeded, before.succeeded, !elastic)];
    for (field, new, old, _) in counters.into_iter().filter(|(.., grows)| *grows) {
        if new.unwrap_or_default() < old.unwrap_or_default() {
            let detail = format!("cannot decrease the {field} counter");
            errors.invalid(path.child(field), new.unwrap_or_default(), &detail);
        }
    }
    let moved = |new: &Option<_>, old: &Option<_>| new.is_some() && old.is_some() && new != old;
    if moved(&status.completion_time, &before.completion_time) {
        errors.invalid(path.child("completionTime"), json!(status.completion_time), IMMUTABLE);
    }
}

fn validate_end(status: &JobStatus, path: Path<'_>, errors: &mut Errors) {
    let (complete, failed) = (has_condition(status, "Complete"), has_condition(status, "Failed"));
    if complete && failed {
        let detail = "cannot set Complete=True and Failed=true conditions";
        errors.invalid(path.child("conditions"), Value::Null, detail);
    }
    match (&status.completion_time, complete) {
        (None, true) => errors.required(path.child("completionTime"), "completionTime is required for Complete jobs"),
        (Some(time), false) => {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            errors.invalid(path.child("completionTime"), json!(time), detail);
        }
        (None, false) | (Some(_), true) => {}
    }
    if (complete || failed) && status.active.unwrap_or_default() > 0 {
        let active = status.active.unwrap_or_default();
        errors.invalid(path.child("active"), active, "active>0 is invalid for finished job");
    }
    if (complete || failed) && status.start_time.is_none() {
        errors.required(path.child("startTime"), "startTime is required for finished job");
    }
}
