//! Rules for references to fields of the pod itself, as environment variables and downward API volumes use them.

use k8s_openapi::api::core::v1::{ObjectFieldSelector, ResourceFieldSelector};

use crate::field::{Errors, Path};
use crate::quantity::Quantity;
use crate::text;

/// The fields an environment variable may show.
pub(super) const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Every field that has a name of its own in the downward API, whoever may use it.
const KNOWN_FIELDS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const BYTE_DIVISORS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Checks a reference to a field of the pod; `supported` are the fields without a subscript that may be named.
pub(crate) fn validate_field_ref(
    reference: &ObjectFieldSelector,
    supported: &[&str],
    path: Path<'_>,
    errors: &mut Errors,
) {
    let version = reference.api_version.as_deref().unwrap_or_default();
    if version.is_empty() {
        errors.required(path.child("apiVersion"), "");
        return;
    }
    let field = reference.field_path.as_str();
    if field.is_empty() {
        errors.required(path.child("fieldPath"), "");
        return;
    }
    match resolve(version, field) {
        Err(reason) => {
            let detail = format!("error converting fieldPath: {reason}");
            errors.invalid(path.child("fieldPath"), field, &detail);
        }
        Ok(Field::Annotation(key)) => {
            let key = key.to_lowercase();
            errors.invalid_each(path, &key, &text::qualified_name(&key));
        }
        Ok(Field::Label(key)) => errors.invalid_each(path, key, &text::qualified_name(key)),
        Ok(Field::Named(name)) if supported.contains(&name) => {}
        Ok(Field::Named(name)) => errors.not_supported(path.child("fieldPath"), name, supported),
    }
}

enum Field<'a> {
    Named(&'a str),
    Annotation(&'a str),
    Label(&'a str),
}

fn resolve<'a>(version: &str, field: &'a str) -> Result<Field<'a>, String> {
    if version != "v1" {
        return Err(format!("unsupported pod version: {version}"));
    }
    match split_subscript(field) {
        Some(("metadata.annotations", key)) => Ok(Field::Annotation(key)),
        Some(("metadata.labels", key)) => Ok(Field::Label(key)),
        Some(_) => Err(format!("field label does not support subscript: {field}")),
        // An old name, still accepted.
        None if field == "spec.host" => Ok(Field::Named("spec.nodeName")),
        None if KNOWN_FIELDS.contains(&field) => Ok(Field::Named(field)),
        None => Err(format!("field label not supported: {field}")),
    }
}

/// `metadata.labels['a']` is the label `a`.
fn split_subscript(field: &str) -> Option<(&str, &str)> {
    field.strip_suffix("']")?.split_once("['").filter(|(path, _)| !path.is_empty())
}

/// Where a reference to a container's resources stands. Only a volume has to say which container is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceRefOwner {
    Env,
    Volume,
}

/// Checks a reference to a request or limit of a container.
pub(crate) fn validate_resource_field_ref(
    reference: &ResourceFieldSelector,
    owner: ResourceRefOwner,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let resource = reference.resource.as_str();
    let names_container = reference.container_name.as_deref().is_some_and(|name| !name.is_empty());
    if owner == ResourceRefOwner::Volume && !names_container {
        errors.required(path.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(path.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !is_huge_pages(resource) {
        errors.not_supported(path.child("resource"), resource, &RESOURCES);
    }
    validate_divisor(reference, path.child("divisor"), errors);
}

fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-")
}

fn validate_divisor(reference: &ResourceFieldSelector, path: Path<'_>, errors: &mut Errors) {
    let Some(divisor) = &reference.divisor else { return };
    let resource = reference.resource.as_str();
    let divisor = match Quantity::read(divisor) {
        Ok(divisor) => divisor,
        Err(error) => {
            errors.invalid(path, &divisor.0, &error.to_string());
            return;
        }
    };
    if divisor.is_zero() {
        return;
    }
    let divisor = divisor.to_string();
    let (supported, words): (&[&str], &str) = match resource {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (&BYTE_DIVISORS, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (&BYTE_DIVISORS, "local ephemeral storage"),
        _ if is_huge_pages(resource) => (&BYTE_DIVISORS, "hugepages"),
        _ => return,
    };
    if !supported.contains(&divisor.as_str()) {
        let list = if words == "cpu" { "1m and 1".to_owned() } else { BYTE_DIVISORS.join(", ") };
        let detail = format!("only divisor's values {list} are supported with the {words} resource");
        errors.invalid(path, resource, &detail);
    }
}
