//! Rules for requests, limits, resource claims and resize policies.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, ResourceClaim, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde_json::Value;

use super::Options;
use super::resource_names::{
    is_huge_pages, is_integer, may_be_overcommitted, validate_container_resource_name, validate_pod_resource_name,
};
use crate::field::{Errors, Path};
use crate::quantity::Quantity;
use crate::text;

/// Which names may stand in a list of resources.
pub(crate) struct ResourceNames<'a> {
    validate: fn(&str, Path<'_>, &mut Errors),
    claims: &'a BTreeSet<&'a str>,
    options: &'a Options,
}

impl<'a> ResourceNames<'a> {
    /// What containers may ask for; a pod's overhead follows the same rules.
    pub(crate) fn of_containers(claims: &'a BTreeSet<&'a str>, options: &'a Options) -> ResourceNames<'a> {
        ResourceNames { validate: validate_container_resource_name, claims, options }
    }

    /// What a pod may ask for as a whole.
    pub(crate) fn of_pods(claims: &'a BTreeSet<&'a str>, options: &'a Options) -> ResourceNames<'a> {
        ResourceNames { validate: validate_pod_resource_name, claims, options }
    }
}

/// Checks requests, limits and claims.
pub(crate) fn validate_requirements(
    requirements: &ResourceRequirements,
    names: &ResourceNames<'_>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let limits = read(requirements.limits.as_ref(), path.child("limits"), errors);
    let requests = read(requirements.requests.as_ref(), path.child("requests"), errors);
    for (name, amount) in &limits {
        validate_amount(name, amount, names, path.child("limits").key(name), errors);
    }
    for (name, amount) in &requests {
        let path_of_amount = path.child("requests");
        let path_of_amount = path_of_amount.key(name);
        (names.validate)(name, path_of_amount, errors);
        validate_number(name, amount, path_of_amount, errors);
        validate_against_limit(name, amount, limits.get(name), path, errors);
        validate_page_multiple(name, amount, names.options, path_of_amount, errors);
    }
    let all = || limits.keys().chain(requests.keys());
    if all().any(|name| is_huge_pages(name)) && !all().any(|name| matches!(*name, "cpu" | "memory")) {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
    let claims = requirements.claims.as_deref().unwrap_or_default();
    validate_claims(claims, names.claims, path.child("claims"), errors);
}

/// Amounts that are no quantities never get this far through an API server; here they are reported and left out.
fn read<'a>(
    list: Option<&'a BTreeMap<String, Text>>,
    path: Path<'_>,
    errors: &mut Errors,
) -> BTreeMap<&'a str, Quantity> {
    let mut amounts = BTreeMap::new();
    for (name, amount) in list.into_iter().flatten() {
        match Quantity::read(amount) {
            Ok(amount) => {
                amounts.insert(name.as_str(), amount);
            }
            Err(error) => errors.invalid(path.key(name), &amount.0, &error.to_string()),
        }
    }
    amounts
}

fn validate_amount(name: &str, amount: &Quantity, names: &ResourceNames<'_>, path: Path<'_>, errors: &mut Errors) {
    (names.validate)(name, path, errors);
    validate_number(name, amount, path, errors);
    validate_page_multiple(name, amount, names.options, path, errors);
}

fn validate_number(name: &str, amount: &Quantity, path: Path<'_>, errors: &mut Errors) {
    if amount.is_negative() {
        errors.invalid(path, amount.to_string(), "must be greater than or equal to 0");
    }
    if is_integer(name) && !amount.is_integer() {
        errors.invalid(path, Value::from(amount.to_string()), "must be an integer");
    }
}

/// Upstream reports these on the list of requests or limits, not on the entry.
fn validate_against_limit(
    name: &str,
    amount: &Quantity,
    limit: Option<&Quantity>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let overcommit = may_be_overcommitted(name);
    match limit {
        Some(limit) if amount != limit && !overcommit => {
            let detail = format!("must be equal to {name} limit of {limit}");
            errors.invalid(path.child("requests"), amount.to_string(), &detail);
        }
        Some(limit) if amount > limit => {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.invalid(path.child("requests"), amount.to_string(), &detail);
        }
        Some(_) => {}
        None if !overcommit => {
            errors.required(path.child("limits"), "Limit must be set for non overcommitable resources");
        }
        None => {}
    }
}

fn validate_page_multiple(name: &str, amount: &Quantity, options: &Options, path: Path<'_>, errors: &mut Errors) {
    if !options.indivisible_huge_pages && is_divisible_huge_page(name, amount) == Some(false) {
        let detail = format!("{amount} is not positive integer multiple of {name}");
        errors.invalid(path, amount.to_string(), &detail);
    }
}

/// Whether an amount of huge pages is a multiple of the page size in its name; nothing for other resources.
pub(super) fn is_divisible_huge_page(name: &str, amount: &Quantity) -> Option<bool> {
    let size = name.strip_prefix("hugepages-")?;
    let size = size.parse::<Quantity>().ok().filter(|size| !size.is_negative() && size.is_integer());
    let is_multiple = size.and_then(|size| amount.rounded_to_i64().checked_rem(size.rounded_to_i64()));
    Some(is_multiple == Some(0))
}

fn validate_claims(claims: &[ResourceClaim], of_pod: &BTreeSet<&str>, path: Path<'_>, errors: &mut Errors) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let path = path.index(i);
        if claim.name.is_empty() {
            errors.required(path, "");
            continue;
        }
        validate_claim_once(claim, &mut seen, path, errors);
        if !of_pod.contains(claim.name.as_str()) {
            let known = match of_pod.is_empty() {
                true => " which is empty".to_owned(),
                false => format!(": {}", of_pod.iter().copied().collect::<Vec<_>>().join(", ")),
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            errors.not_found_because(path, &claim.name, &detail);
        }
    }
}

/// A claim may be named once as a whole, or several times with different requests, but not both.
fn validate_claim_once(claim: &ResourceClaim, seen: &mut BTreeSet<String>, path: Path<'_>, errors: &mut Errors) {
    let name = claim.name.as_str();
    if seen.contains(name) {
        errors.duplicate(path, name);
        return;
    }
    let request = claim.request.as_deref().unwrap_or_default();
    let key = if request.is_empty() {
        for _ in seen.iter().filter(|key| key.split_once('/').is_some_and(|(claim, _)| claim == name)) {
            errors.duplicate(path, name);
        }
        name.to_owned()
    } else {
        errors.invalid_each(path.child("request"), request, &text::dns_label(request));
        let key = format!("{name}/{request}");
        if seen.contains(&key) {
            errors.duplicate(path, &key);
        }
        key
    };
    seen.insert(key);
}

/// Checks how a container's resources may be changed while it runs. Upstream reports most of this on the list.
pub(super) fn validate_resize_policy(
    container: &Container,
    pod_restart_policy: &str,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let mut seen = BTreeSet::new();
    for (i, policy) in container.resize_policy.iter().flatten().enumerate() {
        let (resource, restart) = (policy.resource_name.as_str(), policy.restart_policy.as_str());
        if !seen.insert(resource) {
            errors.duplicate(path.index(i), Value::from(resource));
        }
        match resource {
            "cpu" | "memory" => {}
            "" => errors.required(path, ""),
            _ => errors.not_supported(path, Value::from(resource), &["cpu", "memory"]),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.required(path, ""),
            _ => errors.not_supported(path, Value::from(restart), &["NotRequired", "RestartContainer"]),
        }
        if pod_restart_policy == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.invalid(path, Value::from(restart), detail);
        }
    }
}
