//! When node affinity, pod affinity and pod anti-affinity are valid.

use std::collections::{HashMap, HashSet};

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm,
    PreferredSchedulingTerm, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use super::formats;
use super::kept::Kept;
use super::labels::{Expression, InvalidValues, Operators, validate_expression, validate_selector};
use crate::field::{Errors, Path};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn validate_affinity(affinity: &Affinity, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    if let Some(node) = &affinity.node_affinity {
        validate_node_affinity(node, kept.node_affinity_values(), path.child("nodeAffinity"), errors);
    }
    if let Some(near) = &affinity.pod_affinity {
        let path = path.child("podAffinity");
        let required = near.required_during_scheduling_ignored_during_execution.as_deref();
        validate_pod_terms(required, kept.selector_values(), path.child(REQUIRED), errors);
        let preferred = near.preferred_during_scheduling_ignored_during_execution.as_deref();
        validate_weighted_terms(preferred, kept.selector_values(), path.child(PREFERRED), errors);
    }
    if let Some(far) = &affinity.pod_anti_affinity {
        let path = path.child("podAntiAffinity");
        let required = far.required_during_scheduling_ignored_during_execution.as_deref();
        validate_pod_terms(required, kept.selector_values(), path.child(REQUIRED), errors);
        let preferred = far.preferred_during_scheduling_ignored_during_execution.as_deref();
        validate_weighted_terms(preferred, kept.selector_values(), path.child(PREFERRED), errors);
    }
}

fn validate_node_affinity(affinity: &NodeAffinity, values: InvalidValues, path: Path<'_>, errors: &mut Errors) {
    if let Some(selector) = &affinity.required_during_scheduling_ignored_during_execution {
        validate_node_selector(selector, values, path.child(REQUIRED), errors);
    }
    let preferred = path.child(PREFERRED);
    let terms = affinity.preferred_during_scheduling_ignored_during_execution.iter().flatten();
    for (i, term) in terms.enumerate() {
        validate_preferred_term(term, preferred.index(i), errors);
    }
}

fn validate_node_selector(selector: &NodeSelector, values: InvalidValues, path: Path<'_>, errors: &mut Errors) {
    let path = path.child("nodeSelectorTerms");
    if selector.node_selector_terms.is_empty() {
        errors.required(path, "must have at least one node selector term");
    }
    for (i, term) in selector.node_selector_terms.iter().enumerate() {
        validate_node_term(term, values, path.index(i), errors);
    }
}

/// Preferred terms may hold values that are no label values.
fn validate_preferred_term(term: &PreferredSchedulingTerm, path: Path<'_>, errors: &mut Errors) {
    validate_weight(term.weight, path, errors);
    validate_node_term(&term.preference, InvalidValues::Kept, path.child("preference"), errors);
}

fn validate_weight(weight: i32, path: Path<'_>, errors: &mut Errors) {
    if !(1..=100).contains(&weight) {
        errors.invalid(path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn validate_node_term(term: &NodeSelectorTerm, values: InvalidValues, path: Path<'_>, errors: &mut Errors) {
    let expressions = path.child("matchExpressions");
    for (i, requirement) in term.match_expressions.iter().flatten().enumerate() {
        validate_node_requirement(requirement, values, expressions.index(i), errors);
    }
    let fields = path.child("matchFields");
    for (i, requirement) in term.match_fields.iter().flatten().enumerate() {
        validate_node_field(requirement, fields.index(i), errors);
    }
}

fn validate_node_requirement(
    requirement: &NodeSelectorRequirement,
    values: InvalidValues,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let expression = Expression {
        key: &requirement.key,
        operator: &requirement.operator,
        values: requirement.values.as_deref().unwrap_or_default(),
        operators: Operators::OfNodes,
    };
    validate_expression(&expression, values, path, errors);
}

/// The only field to select by is the node's name.
fn validate_node_field(requirement: &NodeSelectorRequirement, path: Path<'_>, errors: &mut Errors) {
    let given = requirement.values.as_deref().unwrap_or_default();
    let values_path = path.child("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if given.len() != 1 => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(values_path, detail);
        }
        "In" | "NotIn" => {}
        other => errors.invalid(path.child("operator"), Value::from(other), "not a valid selector operator"),
    }
    if requirement.key != "metadata.name" {
        errors.invalid(path.child("key"), requirement.key.as_str(), "not a valid field selector key");
        return;
    }
    for (i, value) in given.iter().enumerate() {
        formats::dns_subdomain(value, values_path.index(i), errors);
    }
}

fn validate_pod_terms(terms: Option<&[PodAffinityTerm]>, values: InvalidValues, path: Path<'_>, errors: &mut Errors) {
    for (i, term) in terms.unwrap_or_default().iter().enumerate() {
        validate_pod_term(term, values, path.index(i), errors);
    }
}

fn validate_weighted_terms(
    terms: Option<&[WeightedPodAffinityTerm]>,
    values: InvalidValues,
    path: Path<'_>,
    errors: &mut Errors,
) {
    for (i, term) in terms.unwrap_or_default().iter().enumerate() {
        let path = path.index(i);
        validate_weight(term.weight, path, errors);
        validate_pod_term(&term.pod_affinity_term, values, path.child("podAffinityTerm"), errors);
    }
}

fn validate_pod_term(term: &PodAffinityTerm, values: InvalidValues, path: Path<'_>, errors: &mut Errors) {
    validate_selector(term.label_selector.as_ref(), values, path.child("labelSelector"), errors);
    validate_selector(term.namespace_selector.as_ref(), values, path.child("namespaceSelector"), errors);
    for namespace in term.namespaces.iter().flatten() {
        formats::dns_label(namespace, path.child("namespace"), errors);
    }
    let keys = LabelKeys {
        matching: term.match_label_keys.as_deref().unwrap_or_default(),
        mismatching: term.mismatch_label_keys.as_deref().unwrap_or_default(),
    };
    validate_label_keys(&keys, term.label_selector.as_ref(), path, errors);
    if term.topology_key.is_empty() {
        errors.required(path.child("topologyKey"), "can not be empty");
    }
    formats::qualified_name(&term.topology_key, path.child("topologyKey"), errors);
}

/// The keys whose values, taken from the pod's own labels, a selector is narrowed by.
pub(super) struct LabelKeys<'a> {
    pub(super) matching: &'a [String],
    pub(super) mismatching: &'a [String],
}

/// The selector is the one into which the keys were already merged, so a key that comes a second time in it was also
/// given by the user.
pub(super) fn validate_label_keys(
    keys: &LabelKeys<'_>,
    selector: Option<&LabelSelector>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    validate_key_list(keys.matching, selector, path.child("matchLabelKeys"), errors);
    validate_key_list(keys.mismatching, selector, path.child("mismatchLabelKeys"), errors);
    if let Some(selector) = selector {
        validate_keys_unselected(keys.matching, selector, path, errors);
    }
    let mismatching: HashSet<&String> = keys.mismatching.iter().collect();
    let matching_path = path.child("matchLabelKeys");
    for (i, key) in keys.matching.iter().enumerate().filter(|(_, key)| mismatching.contains(key)) {
        errors.invalid(matching_path.index(i), key.as_str(), "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

fn validate_key_list(keys: &[String], selector: Option<&LabelSelector>, path: Path<'_>, errors: &mut Errors) {
    if keys.is_empty() {
        return;
    }
    if selector.is_none() {
        errors.forbidden(path, "must not be specified when labelSelector is not set");
        return;
    }
    for (i, key) in keys.iter().enumerate() {
        formats::qualified_name(key, path.index(i), errors);
    }
}

fn validate_keys_unselected(keys: &[String], selector: &LabelSelector, path: Path<'_>, errors: &mut Errors) {
    let index: HashMap<&str, usize> = keys.iter().enumerate().map(|(i, key)| (key.as_str(), i)).collect();
    let labels = selector.match_labels.iter().flatten();
    let mut selected: HashSet<&str> = labels.map(|(key, _)| key.as_str()).collect();
    for requirement in selector.match_expressions.iter().flatten() {
        let key = requirement.key.as_str();
        if !selected.insert(key)
            && let Some(&i) = index.get(key)
        {
            errors.invalid(path.index(i), key, "exists in both matchLabelKeys and labelSelector");
        }
    }
}
