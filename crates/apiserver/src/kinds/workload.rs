//! What the kinds that make pods from a template share: selectors, templates, counts in their status.
//!
//! A selector that is left out cannot be told from an empty one by its type; both are refused as one that is missing.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use model::defaults::template_warnings;
use model::field::{Errors, Path};
use model::selector::Labels;
use model::text;
use model::validation::formats::{self, IMMUTABLE};
use model::validation::{self, InvalidValues, Workload, same, shown_selector};
use serde_json::json;

use crate::kind::{Scale, Scene};

const MISMATCH: &str = "`selector` does not match template `labels`";

/// A template together with the selector that has to match it.
pub struct Subject<'a> {
    pub selector: &'a LabelSelector,
    pub template: &'a PodTemplateSpec,
    /// The template it replaces.
    pub old: Option<&'a PodTemplateSpec>,
    pub workload: Workload,
}

pub fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(std::collections::BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// The selector is there and matches the template, and the template is valid.
pub fn validate_subject(subject: &Subject<'_>, scene: &Scene, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("spec.selector");
    if is_empty(subject.selector) && subject.workload != Workload::DaemonSet {
        errors.required(path, "");
    }
    validation::validate_selector(Some(subject.selector), InvalidValues::Refused, path, errors);
    match Labels::from_object(Some(subject.selector)) {
        Err(_) if subject.workload != Workload::DaemonSet => {
            let detail = if subject.workload == Workload::StatefulSet { "" } else { "invalid label selector" };
            errors.invalid(path, shown_selector(subject.selector), detail);
            return;
        }
        Err(_) => {}
        Ok(labels) => validate_match(&labels, subject.template, errors),
    }
    let template = root.child("spec.template");
    errors.extend(validation::validate_template(
        subject.template,
        subject.old,
        subject.workload,
        template,
        scene.gates,
    ));
}

/// Nothing is selected by a selector that is missing, so no template matches it.
pub fn validate_match(selector: &Labels, template: &PodTemplateSpec, errors: &mut Errors) {
    let labels = template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    if selector.is_everything() || !selector.matches(labels.unwrap_or(&Default::default())) {
        errors.invalid(Path::root().child("spec.template.metadata.labels"), json!(labels), MISMATCH);
    }
}

pub fn validate_same_selector(new: &LabelSelector, old: &LabelSelector, errors: &mut Errors) {
    if !same(new, old) {
        errors.invalid(Path::root().child("spec.selector"), shown_selector(new), IMMUTABLE);
    }
}

/// Numbers that must not be negative, by their fields below `path`.
pub fn validate_counts(counts: &[(&str, Option<i64>)], path: Path<'_>, errors: &mut Errors) {
    for (field, count) in counts {
        formats::not_negative(count.unwrap_or_default(), path.child(field), errors);
    }
}

/// Pods that are counted for some reason are pods that are counted at all.
pub fn validate_at_most_replicas(counts: &[(&str, Option<i32>)], replicas: i32, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("status");
    for (field, count) in counts.iter().map(|(field, count)| (field, count.unwrap_or_default())) {
        if count > replicas {
            errors.invalid(path.child(field), count, "cannot be greater than status.replicas");
        }
    }
}

pub fn validate_available(available: Option<i32>, ready: Option<i32>, ready_name: &str, errors: &mut Errors) {
    let available = available.unwrap_or_default();
    if available > ready.unwrap_or_default() {
        let detail = format!("cannot be greater than {ready_name}");
        errors.invalid(Path::root().child("status.availableReplicas"), available, &detail);
    }
}

/// How often names of the next generation were taken only grows.
pub fn validate_collisions(new: Option<i32>, old: Option<i32>, errors: &mut Errors) {
    if old.is_some_and(|old| new.is_none_or(|new| new < old)) {
        let root = Path::root();
        errors.invalid(root.child("status.collisionCount"), new.unwrap_or_default(), "cannot be decremented");
    }
}

/// About the name, which becomes part of the names of pods.
pub fn name_warnings(metadata: &ObjectMeta) -> Vec<String> {
    let complaints = text::dns_label(metadata.name.as_deref().unwrap_or_default());
    if complaints.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
        complaints.join(" ")
    )]
}

/// About the template of a new object, or of one whose spec changed.
pub fn warnings(new: &ObjectMeta, old: Option<&ObjectMeta>, template: &PodTemplateSpec) -> Vec<String> {
    if old.is_some_and(|old| old.generation == new.generation) {
        return Vec::new();
    }
    template_warnings(template, "spec.template")
}

pub fn scale(desired: Option<i32>, observed: i32, selector: &LabelSelector) -> Scale {
    let selector = Labels::from_object(Some(selector)).map(|labels| labels.to_string()).unwrap_or_default();
    Scale { desired: desired.unwrap_or_default(), observed, selector }
}
