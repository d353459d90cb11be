//! Jobs: pods that run to an end.

mod failure_policy;
#[cfg(test)]
mod tests;
mod validation;

use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use lifecycle::deletion::Propagation;
use lifecycle::moment::Moment;
use model::defaults::{default_template, fill};
use model::field::Errors;
use model::prepare::prepare_template;

use super::workload;
use crate::kind::{Facts, Kind, Part, Scene, SelectableFields, Subresource, bump_generation};
use crate::table::{Column, Row, age_cell, container_cells, human, name_cell, selector_cell};

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const UID_LABEL: &str = UID_LABELS[1];

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Status", "How far the job is, in one word."),
    Column::text("Completions", "Pods that succeeded, of those that have to."),
    Column::text("Duration", "How long the job has been running, or ran."),
    Column::AGE,
    Column::CONTAINERS,
    Column::IMAGES,
    Column::SELECTOR,
];

pub struct Jobs;

impl Kind for Jobs {
    type Object = Job;

    const FACTS: Facts = Facts {
        categories: &["all"],
        subresources: &[Subresource::STATUS],
        propagation: Some(Propagation::Orphan),
        ..Facts::namespaced("batch", "v1", "Job", "jobs", "job")
    };

    fn default(job: &mut Job) {
        let spec = job.spec.get_or_insert_default();
        if spec.completions.is_none() && spec.parallelism.is_none() {
            spec.completions = Some(1);
        }
        spec.parallelism.get_or_insert(1);
        spec.backoff_limit.get_or_insert(if spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 });
        let labels = spec.template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
        if job.metadata.labels.as_ref().is_none_or(std::collections::BTreeMap::is_empty) && labels.is_some() {
            job.metadata.labels = labels.cloned();
        }
        spec.completion_mode.get_or_insert_with(|| "NonIndexed".to_owned());
        spec.suspend.get_or_insert(false);
        let replacement = if spec.pod_failure_policy.is_some() { "Failed" } else { "TerminatingOrFailed" };
        spec.pod_replacement_policy.get_or_insert_with(|| replacement.to_owned());
        spec.manual_selector.get_or_insert(false);
        let rules = spec.pod_failure_policy.iter_mut().flat_map(|policy| policy.rules.iter_mut());
        for pattern in rules.flat_map(|rule| rule.on_pod_conditions.iter_mut().flatten()) {
            fill(&mut pattern.status, "True");
        }
        default_template(&mut spec.template);
    }

    fn prepare_for_create(job: &mut Job, _scene: &Scene) {
        let (name, uid) = (job.metadata.name.clone(), job.metadata.uid.clone());
        let spec = job.spec.get_or_insert_default();
        if spec.manual_selector != Some(true) {
            generate_selector(spec, &name.unwrap_or_default(), &uid.unwrap_or_default());
        }
        spec.scheduling = None;
        prepare_template(&mut spec.template, None);
        job.status = Some(JobStatus::default());
        job.metadata.generation = Some(1);
    }

    fn validate(job: &Job, scene: &Scene, errors: &mut Errors) {
        validation::validate_new(job, scene, errors);
    }

    fn prepare_for_update(new: &mut Job, old: &Job, _scene: &Scene) {
        new.status.clone_from(&old.status);
        let (spec, no_spec) = (new.spec.get_or_insert_default(), JobSpec::default());
        let old_spec = old.spec.as_ref().unwrap_or(&no_spec);
        if old_spec.scheduling.is_none() {
            spec.scheduling = None;
        }
        prepare_template(&mut spec.template, Some(&old_spec.template));
        bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
    }

    fn validate_update(new: &Job, old: &Job, scene: &Scene, errors: &mut Errors) {
        validation::validate_update(new, old, scene, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut Job, old: &Job, _scene: &Scene) {
        new.spec.clone_from(&old.spec);
    }

    fn validate_part_update(_part: Part, new: &Job, old: &Job, _scene: &Scene, errors: &mut Errors) {
        validation::validate_status(new, old, errors);
    }

    fn warnings(new: &Job, old: Option<&Job>) -> Vec<String> {
        let mut warnings = if old.is_none() { workload::name_warnings(&new.metadata) } else { Vec::new() };
        let template = new.spec.clone().unwrap_or_default().template;
        warnings.extend(workload::warnings(&new.metadata, old.map(|old| &old.metadata), &template));
        warnings
    }

    fn selectable_fields(job: &Job) -> SelectableFields {
        let succeeded = job.status.as_ref().and_then(|status| status.succeeded).unwrap_or_default();
        vec![("status.successful", succeeded.to_string().into())]
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(job: &Job, now: Moment) -> Row {
        let metadata = &job.metadata;
        let (spec, status) = (job.spec.clone().unwrap_or_default(), job.status.clone().unwrap_or_default());
        let [names, images] = container_cells(Some(&spec.template));
        Row::of([
            name_cell(metadata),
            state(job, &status).into(),
            completions(&spec, &status).into(),
            duration(&status, now).into(),
            age_cell(metadata, now),
            names,
            images,
            selector_cell(spec.selector.as_ref()),
        ])
    }
}

/// The pods of a job are known by labels that no other job has. What the client set stays, and is judged later.
fn generate_selector(spec: &mut JobSpec, name: &str, uid: &str) {
    let labels = spec.template.metadata.get_or_insert_default().labels.get_or_insert_default();
    for (keys, value) in [(NAME_LABELS, name), (UID_LABELS, uid)] {
        for key in keys {
            labels.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    let selected = spec.selector.get_or_insert_default().match_labels.get_or_insert_default();
    selected.entry(UID_LABEL.to_owned()).or_insert_with(|| uid.to_owned());
}

fn has_condition(status: &JobStatus, kind: &str) -> bool {
    status.conditions.iter().flatten().any(|condition| condition.type_ == kind && condition.status == "True")
}

fn state(job: &Job, status: &JobStatus) -> &'static str {
    let deleted = job.metadata.deletion_timestamp.is_some();
    match () {
        () if has_condition(status, "Complete") => "Complete",
        () if has_condition(status, "Failed") => "Failed",
        () if deleted => "Terminating",
        () if has_condition(status, "Suspended") => "Suspended",
        () if has_condition(status, "FailureTarget") => "FailureTarget",
        () if has_condition(status, "SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(spec: &JobSpec, status: &JobStatus) -> String {
    let succeeded = status.succeeded.unwrap_or_default();
    match (spec.completions, spec.parallelism.unwrap_or_default()) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn duration(status: &JobStatus, now: Moment) -> String {
    let Some(start) = &status.start_time else { return String::new() };
    let end = status.completion_time.as_ref().map_or(now.millis(), |end| end.0.as_millisecond());
    human(end.saturating_sub(start.0.as_millisecond()))
}
