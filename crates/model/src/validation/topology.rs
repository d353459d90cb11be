//! When topology spread constraints are valid.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{PodSpec, TopologySpreadConstraint};

use super::affinity::{LabelKeys, validate_label_keys};
use super::formats;
use super::kept::Kept;
use super::labels::{self, InvalidValues, validate_selector};
use crate::field::{Errors, Path};

pub(super) fn validate_spread(
    constraints: &[TopologySpreadConstraint],
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let repeated = repeated_later(constraints);
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.index(i);
        validate_distribution(constraint, path, errors);
        if repeated.contains(&i) {
            let pair = format!("{{{}, {}}}", constraint.topology_key, constraint.when_unsatisfiable);
            errors.duplicate(path.child("{topologyKey, whenUnsatisfiable}"), pair);
        }
        validate_counting(constraint, kept, path, errors);
    }
}

fn validate_distribution(constraint: &TopologySpreadConstraint, path: Path<'_>, errors: &mut Errors) {
    formats::positive(constraint.max_skew.into(), path.child("maxSkew"), errors);
    if constraint.topology_key.is_empty() {
        errors.required(path.child("topologyKey"), "can not be empty");
    }
    let actions = ["DoNotSchedule", "ScheduleAnyway"];
    formats::choice(&constraint.when_unsatisfiable, &actions, path.child("whenUnsatisfiable"), errors);
}

/// Which domains count, and which pods.
fn validate_counting(constraint: &TopologySpreadConstraint, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    validate_min_domains(constraint, path.child("minDomains"), errors);
    let policies = [
        ("nodeAffinityPolicy", &constraint.node_affinity_policy),
        ("nodeTaintsPolicy", &constraint.node_taints_policy),
    ];
    for (field, policy) in policies {
        if let Some(policy) = policy {
            formats::choice(policy, &["Honor", "Ignore"], path.child(field), errors);
        }
    }
    validate_spread_keys(constraint, kept, path, errors);
    if !kept.invalid_spread_selector {
        let selector = constraint.label_selector.as_ref();
        validate_selector(selector, InvalidValues::Refused, path.child("labelSelector"), errors);
    }
}

/// The indexes of constraints whose topology key and action come again further on.
fn repeated_later(constraints: &[TopologySpreadConstraint]) -> HashSet<usize> {
    let mut seen = HashSet::new();
    let from_the_end = constraints.iter().enumerate().rev();
    from_the_end.filter(|(_, c)| !seen.insert((&c.topology_key, &c.when_unsatisfiable))).map(|(i, _)| i).collect()
}

fn validate_min_domains(constraint: &TopologySpreadConstraint, path: Path<'_>, errors: &mut Errors) {
    let Some(domains) = constraint.min_domains else { return };
    formats::positive(domains.into(), path, errors);
    let action = &constraint.when_unsatisfiable;
    if action != "DoNotSchedule" {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.invalid(path, domains, &detail);
    }
}

fn validate_spread_keys(constraint: &TopologySpreadConstraint, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let matching = constraint.match_label_keys.as_deref().unwrap_or_default();
    if kept.invalid_spread_keys {
        validate_spread_keys_of_old(constraint, matching, path.child("matchLabelKeys"), errors);
    } else {
        let keys = LabelKeys { matching, mismatching: &[] };
        validate_label_keys(&keys, constraint.label_selector.as_ref(), path, errors);
    }
}

/// The rule before keys were merged into the selector: none of them may be in it.
fn validate_spread_keys_of_old(
    constraint: &TopologySpreadConstraint,
    keys: &[String],
    path: Path<'_>,
    errors: &mut Errors,
) {
    if keys.is_empty() {
        return;
    }
    if constraint.label_selector.is_none() {
        errors.forbidden(path, "must not be specified when labelSelector is not set");
    }
    let selector = constraint.label_selector.iter();
    let labels = selector.clone().flat_map(|s| s.match_labels.iter().flatten()).map(|(key, _)| key);
    let expressions = selector.flat_map(|s| s.match_expressions.iter().flatten()).map(|requirement| &requirement.key);
    let selected: HashSet<&String> = labels.chain(expressions).collect();
    for (i, key) in keys.iter().enumerate() {
        formats::qualified_name(key, path.index(i), errors);
        if selected.contains(key) {
            errors.invalid(path.index(i), key.as_str(), "exists in both matchLabelKeys and labelSelector");
        }
    }
}

pub(super) fn has_invalid_spread_selector(spec: &PodSpec) -> bool {
    constraints(spec).any(|constraint| labels::is_invalid(constraint.label_selector.as_ref()))
}

pub(super) fn has_invalid_spread_keys(spec: &PodSpec) -> bool {
    let mut errors = Errors::new();
    for constraint in constraints(spec) {
        validate_spread_keys(constraint, &Kept::for_create(), Path::root(), &mut errors);
    }
    !errors.is_empty()
}

fn constraints(spec: &PodSpec) -> impl Iterator<Item = &TopologySpreadConstraint> {
    spec.topology_spread_constraints.iter().flatten()
}
