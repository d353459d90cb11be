//! Rules for a container's own restart policy and for the rules that refine it by exit code.

use k8s_openapi::api::core::v1::{Container, ContainerRestartRule};
use serde_json::Value;

use crate::field::{Errors, Path};

/// The most rules a container may have.
const RULES_MAX: usize = 20;
/// The most exit codes a rule may list.
const EXIT_CODES_MAX: usize = 255;

const POLICY_MISSING: &str = "must specify restartPolicy when restart rules are used";

/// Checks `restartPolicy` and `restartPolicyRules` of the init container that `path` names. Without a policy its rules
/// are not looked at.
pub(super) fn validate_init_restart_policy(container: &Container, path: Path<'_>, errors: &mut Errors) {
    if container.restart_policy.is_some() {
        validate_restart_policy(container, path, errors);
    } else if !container.restart_policy_rules.as_deref().unwrap_or_default().is_empty() {
        errors.required(path.child("restartPolicy"), POLICY_MISSING);
    }
}

/// Checks `restartPolicy` and `restartPolicyRules` of the main container that `path` names.
pub(super) fn validate_restart_policy(container: &Container, path: Path<'_>, errors: &mut Errors) {
    let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
    match container.restart_policy.as_deref() {
        None if rules.is_empty() => return,
        None => errors.required(path.child("restartPolicy"), POLICY_MISSING),
        Some("Always" | "Never" | "OnFailure") => {}
        Some(policy) => {
            let supported = ["Always", "Never", "OnFailure"];
            errors.not_supported(path.child("restartPolicy"), Value::from(policy), &supported);
        }
    }
    let list = path.child("restartPolicyRules");
    if rules.len() > RULES_MAX {
        errors.too_many(list, rules.len(), RULES_MAX);
    }
    for (i, rule) in rules.iter().enumerate() {
        validate_rule(rule, list.index(i), errors);
    }
}

fn validate_rule(rule: &ContainerRestartRule, path: Path<'_>, errors: &mut Errors) {
    if !matches!(rule.action.as_str(), "Restart" | "RestartAllContainers") {
        let action = Value::from(rule.action.as_str());
        errors.not_supported(path.child("action"), action, &["Restart", "RestartAllContainers"]);
    }
    let path = path.child("exitCodes");
    let Some(exit_codes) = &rule.exit_codes else {
        errors.required(path, "must be specified");
        return;
    };
    if !matches!(exit_codes.operator.as_str(), "In" | "NotIn") {
        let operator = Value::from(exit_codes.operator.as_str());
        errors.not_supported(path.child("operator"), operator, &["In", "NotIn"]);
    }
    let count = exit_codes.values.as_deref().unwrap_or_default().len();
    if count > EXIT_CODES_MAX {
        errors.too_many(path.child("values"), count, EXIT_CODES_MAX);
    }
}
