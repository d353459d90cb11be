//! Which resources exist: those Kubernetes knows by name, huge pages, and extended resources under a domain.

use serde_json::Value;

use crate::field::{Errors, Path};
use crate::text;

/// The names without a domain that mean something somewhere, in quotas for instance.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Counted things.
const INTEGERS: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// A resource a container may ask for.
pub(super) fn validate_container_resource_name(name: &str, path: Path<'_>, errors: &mut Errors) {
    validate_resource_name(name, path, errors);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
            errors.invalid(path, Value::from(name), "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(path, Value::from(name), "doesn't follow extended resource name standard");
    }
}

/// A resource a pod may ask for as a whole.
pub(super) fn validate_pod_resource_name(name: &str, path: Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    validate_resource_name(name, path, errors);
    if errors.len() == before && !matches!(name, "cpu" | "memory") && !is_huge_pages(name) {
        errors.not_supported(path, Value::from(name), &["cpu", "hugepages-", "memory"]);
    }
}

fn validate_resource_name(name: &str, path: Path<'_>, errors: &mut Errors) {
    let complaints = text::qualified_name(name);
    for complaint in &complaints {
        errors.invalid(path, Value::from(name), complaint);
    }
    let is_standard = STANDARD.contains(&name) || is_huge_pages(name) || name.starts_with("requests.hugepages-");
    if complaints.is_empty() && !name.contains('/') && !is_standard {
        errors.invalid(path, Value::from(name), "must be a standard resource type or fully qualified");
    }
}

pub(super) fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether amounts of it must be whole.
pub(super) fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name) || is_extended(name)
}

/// Whether a container may be promised less than it may use.
pub(super) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    let is_free = !is_native(name) && !name.starts_with("requests.");
    is_free && text::qualified_name(&format!("requests.{name}")).is_empty()
}
