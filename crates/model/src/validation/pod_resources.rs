//! When the resources of the pod as a whole are valid: its own requests and limits, and its overhead.

use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};

use super::Options;
use super::aggregate::{self, Amounts};
use super::resource_names::is_huge_pages;
use super::resources::{ResourceNames, validate_requirements};
use super::surroundings::claim_names;
use crate::field::{Errors, Path};
use crate::signal::Os;

pub(super) fn validate_pod_resources(spec: &PodSpec, options: &Options, path: Path<'_>, errors: &mut Errors) {
    let Some(resources) = &spec.resources else { return };
    if spec.os.as_ref().is_some_and(|os| os.name == Os::Windows.name()) {
        errors.forbidden(path, "may not be set for a windows pod");
        return;
    }
    if resources.claims.is_some() {
        errors.forbidden(path.child("claims"), "claims may not be set for Resources at pod-level");
    }
    let claims = claim_names(spec);
    validate_requirements(resources, &ResourceNames::of_pods(&claims, options), path, errors);
    validate_sums(spec, resources, path, errors);
    validate_containers_within(spec, resources, path, errors);
}

/// The overhead is checked like the limits of a container, and reported as such.
pub(super) fn validate_overhead(spec: &PodSpec, options: &Options, path: Path<'_>, errors: &mut Errors) {
    if spec.overhead.is_some() {
        let limits = ResourceRequirements { limits: spec.overhead.clone(), ..ResourceRequirements::default() };
        let claims = claim_names(spec);
        validate_requirements(&limits, &ResourceNames::of_containers(&claims, options), path, errors);
    }
}

/// The pod is promised at least what its containers are promised; huge pages cannot be overcommitted at all.
fn validate_sums(spec: &PodSpec, resources: &ResourceRequirements, path: Path<'_>, errors: &mut Errors) {
    let of_pod = aggregate::read(resources.requests.as_ref());
    report_exceeded(&of_pod, &aggregate::requests(spec), "requests", path, errors);
    let of_pod = aggregate::read(resources.limits.as_ref());
    let mut sums = aggregate::limits(spec);
    sums.retain(|name, _| is_huge_pages(name));
    report_exceeded(&of_pod, &sums, "limits", path, errors);
}

fn report_exceeded(of_pod: &Amounts<'_>, sums: &Amounts<'_>, list: &str, path: Path<'_>, errors: &mut Errors) {
    let path = path.child(list);
    for (name, sum) in sums {
        if let Some(amount) = of_pod.get(name).filter(|amount| sum > amount) {
            let detail = format!("must be greater than or equal to aggregate container {list} of {sum}");
            errors.invalid(path.key(name), amount.to_string(), &detail);
        }
    }
}

/// No container may use more than the pod.
fn validate_containers_within(spec: &PodSpec, resources: &ResourceRequirements, path: Path<'_>, errors: &mut Errors) {
    let of_pod = aggregate::read(resources.limits.as_ref());
    let containers = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        let limits = aggregate::read(container.resources.as_ref().and_then(|own| own.limits.as_ref()));
        for (name, limit) in limits {
            if let Some(most) = of_pod.get(name).filter(|most| limit > **most) {
                let path = containers.index(i);
                let detail = format!("must be less than or equal to pod limits of {most}");
                errors.invalid(path.key(name).child("limits"), limit.to_string(), &detail);
            }
        }
    }
}
