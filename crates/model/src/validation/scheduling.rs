//! When tolerations, readiness gates, scheduling gates, priorities and the scheduling group are valid.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{PodReadinessGate, PodSchedulingGate, PodSpec, Toleration};
use serde_json::Value;

use super::formats;
use super::kept::Kept;
use crate::field::{Errors, Path};

const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn validate_tolerations(tolerations: &[Toleration], kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    for (i, toleration) in tolerations.iter().enumerate() {
        validate_toleration(toleration, kept, path.index(i), errors);
    }
}

fn validate_toleration(toleration: &Toleration, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let key = toleration.key.as_deref().unwrap_or_default();
    let operator = toleration.operator.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    if !key.is_empty() {
        formats::qualified_name(key, path.child("key"), errors);
    } else if operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(path.child("operator"), operator, detail);
    }
    if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.invalid(path.child("effect"), effect, detail);
    }
    validate_comparison(operator, toleration.value.as_deref().unwrap_or_default(), kept, path, errors);
    if !effect.is_empty() {
        formats::choice(effect, &TAINT_EFFECTS, path.child("effect"), errors);
    }
}

fn validate_comparison(operator: &str, value: &str, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let at = path.child("operator");
    match operator {
        "" | "Equal" => {
            let complaints = crate::text::label_value(value);
            if !complaints.is_empty() {
                errors.invalid(at, value, &complaints.join(";"));
            }
        }
        "Exists" if value.is_empty() => {}
        "Exists" => errors.invalid(at, value, "value must be empty when `operator` is 'Exists'"),
        "Lt" | "Gt" if kept.toleration_comparison => validate_number(value, path.child("value"), errors),
        "Lt" | "Gt" => errors.not_supported(at, operator, &["Equal", "Exists", "Lt", "Gt"]),
        _ => errors.not_supported(at, operator, &["Equal", "Exists"]),
    }
}

/// A decimal 64-bit integer in its shortest form.
fn validate_number(value: &str, path: Path<'_>, errors: &mut Errors) {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let shortest = value == "0"
        || (digits.starts_with(|c: char| ('1'..='9').contains(&c)) && digits.bytes().all(|b| b.is_ascii_digit()));
    if value.is_empty() {
        errors.invalid(path, value, "must be non-empty");
    } else if !shortest {
        errors.invalid(path, value, "must be a valid decimal integer in canonical form");
    }
    if value.parse::<i64>().is_err() {
        let fault = if shortest { "value out of range" } else { "invalid syntax" };
        errors.invalid(path, value, &format!("strconv.ParseInt: parsing {value:?}: {fault}"));
    }
}

pub(super) fn validate_readiness_gates(gates: &[PodReadinessGate], path: Path<'_>, errors: &mut Errors) {
    for (i, gate) in gates.iter().enumerate() {
        formats::qualified_name(&gate.condition_type, path.index(i).child("conditionType"), errors);
    }
}

pub(super) fn validate_scheduling_gates(gates: &[PodSchedulingGate], path: Path<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (i, gate) in gates.iter().enumerate() {
        formats::qualified_name(&gate.name, path.index(i), errors);
        if !seen.insert(&gate.name) {
            errors.duplicate(path.index(i), gate.name.as_str());
        }
    }
}

pub(super) fn validate_priority(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    if let Some(class) = spec.priority_class_name.as_deref().filter(|class| !class.is_empty()) {
        formats::dns_subdomain(class, path.child("priorityClassName"), errors);
    }
    if let Some(class) = &spec.runtime_class_name {
        formats::dns_subdomain(class, path.child("runtimeClassName"), errors);
    }
    if let Some(policy) = &spec.preemption_policy {
        let path = path.child("preemptionPolicy");
        formats::required_choice(policy, &["PreemptLowerPriority", "Never"], path, errors);
    }
}

/// The group is named after the pod group it is scheduled with, the only choice there is so far.
pub(super) fn validate_group(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let Some(group) = &spec.scheduling_group else { return };
    match &group.pod_group_name {
        None => {
            errors.invalid(path.child("podGroupName"), Value::Null, "must specify one of: `podGroupName`");
        }
        Some(name) => formats::dns_subdomain(name, path.child("podGroupName"), errors),
    }
}
