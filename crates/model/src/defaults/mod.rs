//! Values the API server fills in where a pod leaves a field out.
//!
//! An empty text and a zero count as left out, as upstream has it. Pods get more defaults than the templates that pods
//! are made from: only in a pod is a negative grace period raised to one second, are requests taken from limits, and
//! are ports of the host filled in.

mod containers;
mod image;
mod resources;
mod volumes;
mod warnings;

use k8s_openapi::api::core::v1::{Container, Pod, PodIP, PodSecurityContext, PodSpec, PodStatus, PodTemplateSpec};

pub use warnings::{template_warnings, warnings};

/// How long a pod may take to end unless it says otherwise.
pub const GRACE_SECONDS: i64 = 30;
/// What a negative grace period of a pod becomes.
const LEAST_GRACE_SECONDS: i64 = 1;

/// Fills in the defaults of a pod. One without a spec has an empty one.
pub fn default_pod(pod: &mut Pod) {
    let spec = pod.spec.get_or_insert_default();
    default_spec_of_pod(spec);
    default_spec(spec);
    if let Some(status) = &mut pod.status {
        default_status(status);
    }
}

/// Fills in the defaults of a template from which pods are made. One without a spec has an empty one.
pub fn default_template(template: &mut PodTemplateSpec) {
    default_spec(template.spec.get_or_insert_default());
}

fn default_spec_of_pod(spec: &mut PodSpec) {
    if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        spec.termination_grace_period_seconds = Some(LEAST_GRACE_SECONDS);
    }
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        resources::default_requests(container.resources.as_mut());
    }
    spec.enable_service_links.get_or_insert(true);
    if spec.host_network == Some(true) {
        spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()).for_each(default_host_ports);
    }
}

/// On the host's network a port of the container is a port of the host.
fn default_host_ports(container: &mut Container) {
    for port in container.ports.iter_mut().flatten() {
        if port.host_port.unwrap_or_default() == 0 {
            port.host_port = Some(port.container_port);
        }
    }
}

fn default_spec(spec: &mut PodSpec) {
    default_service_account(spec);
    fill(&mut spec.dns_policy, "ClusterFirst");
    fill(&mut spec.restart_policy, "Always");
    spec.security_context.get_or_insert_with(PodSecurityContext::default);
    spec.termination_grace_period_seconds.get_or_insert(GRACE_SECONDS);
    fill(&mut spec.scheduler_name, "default-scheduler");
    spec.volumes.iter_mut().flatten().for_each(volumes::default_volume);
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        containers::default_container(container);
    }
    spec.ephemeral_containers.iter_mut().flatten().for_each(containers::default_ephemeral_container);
    resources::round(spec.overhead.as_mut());
    if let Some(resources) = &mut spec.resources {
        resources::round_requirements(resources);
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`; both hold the same, and the new name wins.
fn default_service_account(spec: &mut PodSpec) {
    if spec.service_account_name.as_deref().unwrap_or_default().is_empty() {
        spec.service_account_name = spec.service_account.take();
    }
    spec.service_account = spec.service_account_name.clone();
}

fn default_status(status: &mut PodStatus) {
    let first = status.pod_ips.iter().flatten().next().map(|address| address.ip.clone());
    let single = status.pod_ip.clone().filter(|ip| !ip.is_empty());
    match (single, first) {
        (None, Some(first)) => status.pod_ip = Some(first),
        // The single address wins, for agents that know no list.
        (Some(ip), first) if first.as_ref() != Some(&ip) => status.pod_ips = Some(vec![PodIP { ip }]),
        _ => {}
    }
    let statuses =
        [&mut status.init_container_statuses, &mut status.container_statuses, &mut status.ephemeral_container_statuses];
    for status in statuses.into_iter().flatten().flatten() {
        resources::round(status.allocated_resources.as_mut());
        if let Some(resources) = &mut status.resources {
            resources::round_requirements(resources);
        }
    }
    resources::round(status.allocated_resources.as_mut());
    if let Some(resources) = &mut status.resources {
        resources::round_requirements(resources);
    }
}

/// Sets a text that is missing or empty.
pub fn fill(field: &mut Option<String>, value: &str) {
    if field.as_deref().unwrap_or_default().is_empty() {
        *field = Some(value.to_owned());
    }
}

#[cfg(test)]
mod tests;
