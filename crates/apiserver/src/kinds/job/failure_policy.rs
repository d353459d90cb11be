//! When the rules of a job about pods that fail are valid.

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::{JobSpec, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule};
use model::field::{Errors, Path};
use model::validation::formats;
use serde_json::{Value, json};

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const CONDITIONS_MAX: usize = 20;

pub(super) fn validate_failure_policy(spec: &JobSpec, path: Path<'_>, errors: &mut Errors) {
    let Some(policy) = &spec.pod_failure_policy else { return };
    let rules = path.child("rules");
    if policy.rules.len() > RULES_MAX {
        errors.too_many(rules, policy.rules.len(), RULES_MAX);
    }
    for (i, rule) in policy.rules.iter().enumerate() {
        validate_rule(spec, rule, rules.index(i), errors);
    }
}

fn validate_rule(spec: &JobSpec, rule: &PodFailurePolicyRule, path: Path<'_>, errors: &mut Errors) {
    match rule.action.as_str() {
        "" => {
            let detail = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]";
            errors.required(path.child("action"), detail);
        }
        "FailIndex" if spec.backoff_limit_per_index.is_none() => {
            let detail = "requires the backoffLimitPerIndex to be set";
            errors.invalid(path.child("action"), Value::from("FailIndex"), detail);
        }
        action => formats::choice(action, &ACTIONS, path.child("action"), errors),
    }
    if let Some(codes) = &rule.on_exit_codes {
        validate_exit_codes(spec, codes, path.child("onExitCodes"), errors);
    }
    let conditions = rule.on_pod_conditions.as_deref().unwrap_or_default();
    let list = path.child("onPodConditions");
    if conditions.len() > CONDITIONS_MAX {
        errors.too_many(list, conditions.len(), CONDITIONS_MAX);
    }
    for (i, pattern) in conditions.iter().enumerate() {
        let path = list.index(i);
        formats::qualified_name(&pattern.type_, path.child("type"), errors);
        let status = pattern.status.as_deref().unwrap_or_default();
        formats::required_choice(status, &STATUSES, path.child("status"), errors);
    }
    match (rule.on_exit_codes.is_some(), conditions.is_empty()) {
        (true, false) => {
            errors.invalid(path, Value::Null, "specifying both OnExitCodes and OnPodConditions is not supported");
        }
        (false, true) => {
            errors.invalid(path, Value::Null, "specifying one of OnExitCodes and OnPodConditions is required");
        }
        (true, true) | (false, false) => {}
    }
}

fn validate_exit_codes(
    spec: &JobSpec,
    codes: &PodFailurePolicyOnExitCodesRequirement,
    path: Path<'_>,
    errors: &mut Errors,
) {
    match codes.operator.as_str() {
        "" => errors.required(path.child("operator"), "valid values: [\"In\" \"NotIn\"]"),
        operator => formats::choice(operator, &["In", "NotIn"], path.child("operator"), errors),
    }
    if let Some(name) = codes.container_name.as_ref().filter(|name| !has_container(spec, name)) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.invalid(path.child("containerName"), name.as_str(), detail);
    }
    let values = path.child("values");
    match codes.values.len() {
        0 => errors.invalid(values, json!(codes.values), "at least one value is required"),
        1..=EXIT_CODES_MAX => {}
        count => errors.too_many(values, count, EXIT_CODES_MAX),
    }
    let mut seen = BTreeSet::new();
    for (i, code) in codes.values.iter().enumerate() {
        if codes.operator == "In" && *code == 0 {
            errors.invalid(values.index(i), 0, "must not be 0 for the In operator");
        }
        if !seen.insert(code) {
            errors.duplicate(values.index(i), *code);
        }
    }
    if !codes.values.is_sorted() {
        errors.invalid(values, json!(codes.values), "must be ordered");
    }
}

fn has_container(spec: &JobSpec, name: &str) -> bool {
    let pod = spec.template.spec.iter();
    let mut containers = pod.flat_map(|pod| pod.containers.iter().chain(pod.init_containers.iter().flatten()));
    containers.any(|container| container.name == name)
}
