//! When a pod's spec is valid, in a pod and in a template. The rules for its parts are in the modules beside this one.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{PodSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::affinity::validate_affinity;
use super::annotations::is_mirror;
use super::containers::validate_containers;
use super::ephemeral_containers::validate_ephemeral_containers;
use super::host_process::validate_host_process;
use super::init_containers::validate_init_containers;
use super::kept::Kept;
use super::labels::validate_labels;
use super::os::validate_os;
use super::pod_resources::{validate_overhead, validate_pod_resources};
use super::resource_claims::{Origin, validate_resource_claims};
use super::topology::validate_spread;
use super::visit::all_containers;
use super::volumes::validate_volumes;
use super::{Options, formats, network, scheduling, security};
use crate::field::{Errors, Path};

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// Whose spec is validated: a template may leave more to defaulting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Pod,
    Template,
}

/// What a spec is validated against, besides the rules.
pub(super) struct Context<'a> {
    pub(super) subject: Subject,
    pub(super) options: &'a Options,
    pub(super) kept: &'a Kept,
    /// The pod's metadata; templates have none that matters to the spec.
    pub(super) meta: Option<&'a ObjectMeta>,
}

pub(super) fn validate_pod_spec(spec: &PodSpec, context: &Context<'_>, path: Path<'_>, errors: &mut Errors) {
    if spec.termination_grace_period_seconds.is_none() {
        errors.required(path.child("terminationGracePeriodSeconds"), "");
    }
    validate_contents(spec, context, path, errors);
    network::validate_host_ports(spec, context.subject, path, errors);
    let restart_policy = spec.restart_policy.as_deref().unwrap_or_default();
    formats::required_choice(restart_policy, &RESTART_POLICIES, path.child("restartPolicy"), errors);
    network::validate_dns_policy(spec, path, errors);
    validate_labels(spec.node_selector.as_ref(), path.child("nodeSelector"), errors);
    if let Some(security_context) = &spec.security_context {
        let path = path.child("securityContext");
        security::validate_security_context(security_context, spec, context.kept, path, errors);
    }
    security::validate_shared_processes(spec, path, errors);
    validate_placement(spec, context.kept, path, errors);
    validate_host_process(spec, path, errors);
    security::validate_host_users(spec, context.kept, path, errors);
    network::validate_hostname_override(spec, path, errors);
    validate_names(spec, path, errors);
    network::validate_hostname(spec, path, errors);
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    scheduling::validate_tolerations(tolerations, context.kept, path.child("tolerations"), errors);
    let aliases = spec.host_aliases.as_deref().unwrap_or_default();
    network::validate_host_aliases(aliases, path.child("hostAliases"), errors);
    scheduling::validate_priority(spec, path, errors);
    validate_overhead(spec, context.options, path.child("overhead"), errors);
    validate_os(spec, path, errors);
    if context.kept.scheduling_group {
        scheduling::validate_group(spec, path.child("schedulingGroup"), errors);
    }
    validate_env_files(spec, path, errors);
}

/// Volumes, claims, containers, and the resources of the pod as a whole.
fn validate_contents(spec: &PodSpec, context: &Context<'_>, path: Path<'_>, errors: &mut Errors) {
    let pod_name = context.meta.and_then(|meta| meta.name.as_deref()).filter(|name| !name.is_empty());
    let volumes = spec.volumes.as_deref().unwrap_or_default();
    let volumes = validate_volumes(volumes, pod_name, context.kept, path.child("volumes"), errors);
    let origin = if context.meta.is_some_and(is_mirror) { Origin::File } else { Origin::Api };
    let claims = spec.resource_claims.as_deref().unwrap_or_default();
    validate_resource_claims(claims, origin, path.child("resourceClaims"), errors);
    let options = context.options;
    validate_containers(spec, &volumes, path.child("containers"), options, errors);
    validate_init_containers(spec, &volumes, path.child("initContainers"), options, errors);
    validate_ephemeral_containers(spec, &volumes, path.child("ephemeralContainers"), options, errors);
    validate_pod_resources(spec, options, path.child("resources"), errors);
}

/// Where the pod may run, and when.
fn validate_placement(spec: &PodSpec, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    if let Some(affinity) = &spec.affinity {
        validate_affinity(affinity, kept, path.child("affinity"), errors);
    }
    network::validate_dns_config(spec, path.child("dnsConfig"), errors);
    let gates = spec.readiness_gates.as_deref().unwrap_or_default();
    scheduling::validate_readiness_gates(gates, path.child("readinessGates"), errors);
    let gates = spec.scheduling_gates.as_deref().unwrap_or_default();
    scheduling::validate_scheduling_gates(gates, path.child("schedulingGates"), errors);
    let constraints = spec.topology_spread_constraints.as_deref().unwrap_or_default();
    validate_spread(constraints, kept, path.child("topologySpreadConstraints"), errors);
}

fn validate_names(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let account = spec.service_account_name.as_deref().unwrap_or_default();
    if !account.is_empty() {
        formats::dns_subdomain(account, path.child("serviceAccountName"), errors);
    }
    let alias = spec.service_account.as_deref().unwrap_or_default();
    if alias != account {
        let detail = format!("must be the same as serviceAccountName: {account:?}");
        errors.invalid(path.child("deprecatedServiceAccount"), alias, &detail);
    }
    if let Some(node) = spec.node_name.as_deref().filter(|node| !node.is_empty()) {
        formats::dns_subdomain(node, path.child("nodeName"), errors);
    }
    if let Some(seconds) = spec.active_deadline_seconds {
        formats::in_range(seconds, 1, i32::MAX.into(), path.child("activeDeadlineSeconds"), errors);
    }
}

/// A variable read from a file needs a volume that ends with the pod.
fn validate_env_files(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let mut volumes: Option<HashMap<&str, &Volume>> = None;
    for container in all_containers(spec) {
        for (i, variable) in container.env.iter().enumerate() {
            let Some(file) = variable.value_from.as_ref().and_then(|source| source.file_key_ref.as_ref()) else {
                continue;
            };
            let volumes = volumes.get_or_insert_with(|| {
                spec.volumes.iter().flatten().map(|volume| (volume.name.as_str(), volume)).collect()
            });
            let list = path.child(container.list);
            let at = list.index(container.index);
            let at = at.child("env");
            let at = at.index(i);
            let at = at.child("valueFrom.fileKeyRef.volumeName");
            let name = file.volume_name.as_str();
            match volumes.get(name) {
                None => errors.not_found(at, name),
                Some(volume) if volume.empty_dir.is_none() => {
                    errors.invalid(at, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    }
}
