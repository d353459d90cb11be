//! What may change in a pod's status.
//!
//! What device drivers and volume plugins report (`extendedResourceClaimStatus`,
//! `nodeAllocatableResourceClaimStatuses`, `volumeHealth`, `allocatedResourcesStatus`) is stored as it comes: nothing here
//! writes or reads it.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{
    Container, ContainerRestartRule, ContainerStatus, Pod, PodCondition, PodResourceClaim, PodResourceClaimStatus,
    PodSpec, PodStatus,
};
use serde_json::json;

use super::annotations::validate_pod_annotations_update;
use super::formats::{self, IMMUTABLE};
use super::kept::Kept;
use super::metadata::validate_metadata_update;
use crate::field::{Errors, Path};
use crate::signal::Os;
use crate::text;

/// Conditions whose types are no qualified names.
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
const RESTART_ALL: &str = "RestartAllContainers";

/// An update through the `status` subresource. The request's spec counts only where it says which containers exist.
pub fn validate_pod_status_update(new: &Pod, old: &Pod) -> Errors {
    let mut errors = Errors::new();
    let (no_spec, no_status) = (PodSpec::default(), PodStatus::default());
    let (new_spec, old_spec) = (new.spec.as_ref().unwrap_or(&no_spec), old.spec.as_ref().unwrap_or(&no_spec));
    let kept = Kept::for_update(&old.metadata, old_spec);
    let root = Path::root();
    let meta_path = root.child("metadata");
    validate_metadata_update(&new.metadata, &old.metadata, meta_path, &mut errors);
    validate_pod_annotations_update(new, old, &kept, meta_path.child("annotations"), &mut errors);
    let path = root.child("status");
    let status = new.status.as_ref().unwrap_or(&no_status);
    let old_status = old.status.as_ref().unwrap_or(&no_status);
    let conditions = status.conditions.as_deref().unwrap_or_default();
    validate_conditions(conditions, path.child("conditions"), &mut errors);
    if text_of(&new_spec.node_name) != text_of(&old_spec.node_name) {
        errors.forbidden(path.child("nodeName"), "may not be changed directly");
    }
    validate_nomination(status, old_status, old_spec, path.child("nominatedNodeName"), &mut errors);
    validate_scalars(status, old_status, path, &mut errors);
    validate_transitions(status, old_status, old_spec, path, &mut errors);
    let claims = new_spec.resource_claims.as_deref().unwrap_or_default();
    validate_claim_statuses(status, claims, path.child("resourceClaimStatuses"), &mut errors);
    validate_pod_ips(status, old_status, path.child("podIPs"), &mut errors);
    validate_host_ips(status, old_status, path.child("hostIPs"), &mut errors);
    validate_users(status, new_spec, path, &mut errors);
    errors
}

fn text_of(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn validate_conditions(conditions: &[PodCondition], path: Path<'_>, errors: &mut Errors) {
    for (i, condition) in conditions.iter().enumerate() {
        let path = path.index(i);
        validate_observed_generation(condition.observed_generation, path, errors);
        if !SYSTEM_CONDITIONS.contains(&condition.type_.as_str()) {
            formats::qualified_name(&condition.type_, path.child("Type"), errors);
        }
    }
}

fn validate_observed_generation(generation: Option<i64>, path: Path<'_>, errors: &mut Errors) {
    if let Some(generation) = generation.filter(|generation| *generation < 0) {
        errors.invalid(path.child("observedGeneration"), generation, "must be a non-negative integer");
    }
}

fn validate_nomination(
    status: &PodStatus,
    old_status: &PodStatus,
    old_spec: &PodSpec,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let node = text_of(&status.nominated_node_name);
    if node.is_empty() || node == text_of(&old_status.nominated_node_name) {
        return;
    }
    formats::dns_subdomain(node, path, errors);
    if !text_of(&old_spec.node_name).is_empty() {
        errors.forbidden(path, "may not be set on pods that are already bound to a node");
    }
}

fn validate_scalars(status: &PodStatus, old_status: &PodStatus, path: Path<'_>, errors: &mut Errors) {
    validate_observed_generation(status.observed_generation, path, errors);
    let class = text_of(&status.qos_class);
    if class != text_of(&old_status.qos_class) {
        errors.invalid(path.child("qosClass"), class, IMMUTABLE);
    }
}

/// A container that has ended stays so, unless it may be restarted.
fn validate_transitions(
    status: &PodStatus,
    old_status: &PodStatus,
    spec: &PodSpec,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let revived = Revived { spec, all_may_restart: all_containers_may_restart(spec) };
    let init_containers = spec.init_containers.as_deref().unwrap_or_default();
    let lists = [
        ("containerStatuses", &status.container_statuses, &old_status.container_statuses, Some(&spec.containers[..])),
        (
            "initContainerStatuses",
            &status.init_container_statuses,
            &old_status.init_container_statuses,
            Some(init_containers),
        ),
        (
            "ephemeralContainerStatuses",
            &status.ephemeral_container_statuses,
            &old_status.ephemeral_container_statuses,
            None,
        ),
    ];
    for (field, new, old, containers) in lists {
        let (new, old) = (new.as_deref().unwrap_or_default(), old.as_deref().unwrap_or_default());
        for i in revived.forbidden(new, old, containers) {
            let path = path.child(field);
            errors.forbidden(path.index(i).child("state"), "may not be transitioned to non-terminated state");
        }
    }
}

struct Revived<'a> {
    spec: &'a PodSpec,
    all_may_restart: bool,
}

impl Revived<'_> {
    /// The indexes in `old` of containers that ended, run again, and may not. Without `containers` none may.
    fn forbidden(
        &self,
        new: &[ContainerStatus],
        old: &[ContainerStatus],
        containers: Option<&[Container]>,
    ) -> Vec<usize> {
        if self.all_may_restart && containers.is_some() {
            return Vec::new();
        }
        let mut running: HashMap<&str, usize> = HashMap::new();
        for status in new.iter().filter(|status| exit_code(status).is_none()) {
            *running.entry(&status.name).or_default() += 1;
        }
        let mut by_name: HashMap<&str, &Container> = HashMap::new();
        for container in containers.unwrap_or_default() {
            by_name.entry(&container.name).or_insert(container);
        }
        let ended = old.iter().enumerate().filter_map(|(i, status)| Some((i, status, exit_code(status)?)));
        let stuck = ended.filter(|(_, status, exit_code)| {
            let container = by_name.get(status.name.as_str());
            !container.is_some_and(|container| may_restart(container, self.spec, *exit_code))
        });
        // Upstream reports ephemeral containers once for every new status of that name, the others once.
        let most = if containers.is_some() { 1 } else { usize::MAX };
        let times = |name: &str| running.get(name).copied().unwrap_or_default().min(most);
        stuck.flat_map(|(i, status, _)| std::iter::repeat_n(i, times(&status.name))).collect()
    }
}

fn exit_code(status: &ContainerStatus) -> Option<i32> {
    Some(status.state.as_ref()?.terminated.as_ref()?.exit_code)
}

/// Whether an exit of any container can restart all of them.
fn all_containers_may_restart(spec: &PodSpec) -> bool {
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    containers.flat_map(rules).any(|rule| rule.action == RESTART_ALL)
}

fn rules(container: &Container) -> impl Iterator<Item = &ContainerRestartRule> {
    container.restart_policy_rules.iter().flatten()
}

/// Whether a container that ended with this code is started again: by its rules, its own policy, or the pod's.
fn may_restart(container: &Container, spec: &PodSpec, exit_code: i32) -> bool {
    let own = container.restart_policy.as_deref();
    let matching = rules(container).find(|rule| applies(rule, exit_code));
    if own.is_some() && matching.is_some_and(|rule| matches!(rule.action.as_str(), "Restart" | RESTART_ALL)) {
        return true;
    }
    let policy = match own {
        Some("Always" | "OnFailure" | "Never") => own,
        _ => spec.restart_policy.as_deref(),
    };
    match policy {
        Some("Never") => false,
        Some("OnFailure") => exit_code != 0,
        _ => true,
    }
}

fn applies(rule: &ContainerRestartRule, exit_code: i32) -> bool {
    rule.exit_codes.as_ref().is_some_and(|codes| {
        let listed = codes.values.iter().flatten().any(|code| *code == exit_code);
        match codes.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        }
    })
}

fn validate_claim_statuses(status: &PodStatus, claims: &[PodResourceClaim], path: Path<'_>, errors: &mut Errors) {
    let statuses: &[PodResourceClaimStatus] = status.resource_claim_statuses.as_deref().unwrap_or_default();
    let known: HashSet<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
    let mut seen = HashSet::new();
    for (i, status) in statuses.iter().enumerate() {
        let path = path.index(i);
        let name = status.name.as_str();
        if !known.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.invalid(path.child("name"), name, detail);
        }
        if !seen.insert(name) {
            errors.duplicate(path.child("name"), name);
        }
        if let Some(claim) = &status.resource_claim_name {
            formats::dns_subdomain(claim, path.child("resourceClaimName"), errors);
        }
    }
}

fn validate_pod_ips(status: &PodStatus, old_status: &PodStatus, path: Path<'_>, errors: &mut Errors) {
    let ips: Vec<&str> = status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
    let old: Vec<&str> = old_status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
    validate_ips(&ips, &old, path, errors);
    let first = text_of(&status.pod_ip);
    let shown = || json!(ips.iter().map(|ip| json!({ "IP": ip })).collect::<Vec<_>>());
    if first.is_empty() != ips.is_empty() {
        errors.invalid(path, shown(), "podIP and podIPs must either both be set or both be unset");
    } else if ips.first().is_some_and(|ip| *ip != first) {
        errors.invalid(path.index(0).child("ip"), ips[0], "must be equal to `podIP`");
    }
}

fn validate_host_ips(status: &PodStatus, old_status: &PodStatus, path: Path<'_>, errors: &mut Errors) {
    let ips: Vec<&str> = status.host_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
    let old: Vec<&str> = old_status.host_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
    if let Some(first) = ips.first().filter(|ip| **ip != text_of(&status.host_ip)) {
        errors.invalid(path.index(0).child("ip"), *first, "must be equal to `hostIP`");
    }
    validate_ips(&ips, &old, path, errors);
}

/// At most one address of each family. Addresses that were there before are not looked at again.
fn validate_ips(ips: &[&str], old: &[&str], path: Path<'_>, errors: &mut Errors) {
    for (i, ip) in ips.iter().enumerate().filter(|(_, ip)| !old.contains(ip)) {
        formats::report(text::ip_address(ip), ip, path.index(i), errors);
    }
    if ips.len() < 2 {
        return;
    }
    let families: Vec<Option<Family>> = ips.iter().map(|ip| Family::of(ip)).collect();
    if let Some(i) = families.iter().position(Option::is_none) {
        let detail = format!("failed to check for dual stack with error:invalid IP[{i}]: {}", ips[i]);
        errors.internal(path, &detail);
    }
    let dual_stack = families.contains(&Some(Family::V4)) && families.contains(&Some(Family::V6));
    if !dual_stack || families.contains(&None) || ips.len() > 2 {
        let shown = json!(ips.iter().map(|ip| json!({ "IP": ip })).collect::<Vec<_>>());
        errors.invalid(path, shown, "may specify no more than one IP for each IP family");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    /// Leading zeros do not matter here, and IPv4 inside IPv6 is IPv4.
    fn of(ip: &str) -> Option<Family> {
        match ip.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
            Ok(IpAddr::V4(_)) => Some(Family::V4),
            Ok(IpAddr::V6(_)) => Some(Family::V6),
            Err(_) if text::ip_address(ip).iter().any(|complaint| complaint == "must not have leading 0s") => {
                Some(if ip.contains(':') { Family::V6 } else { Family::V4 })
            }
            Err(_) => None,
        }
    }
}

fn validate_users(status: &PodStatus, spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let windows = spec.os.as_ref().is_some_and(|os| os.name == Os::Windows.name());
    let lists = [
        ("containerStatuses", &status.container_statuses),
        ("initContainerStatuses", &status.init_container_statuses),
        ("ephemeralContainerStatuses", &status.ephemeral_container_statuses),
    ];
    for (field, statuses) in lists {
        let list = path.child(field);
        for (i, status) in statuses.iter().flatten().enumerate() {
            let Some(user) = status.user.as_ref().and_then(|user| user.linux.as_ref()) else { continue };
            let path = list.index(i);
            let path = path.child("user.linux");
            if windows {
                errors.forbidden(path, "cannot be set for a windows pod");
                continue;
            }
            formats::in_range(user.uid, 0, u32::MAX.into(), path.child("uid"), errors);
            formats::group_id(Some(user.gid), path.child("gid"), errors);
            let groups = path.child("supplementalGroups");
            for (j, group) in user.supplemental_groups.iter().flatten().enumerate() {
                formats::group_id(Some(*group), groups.index(j), errors);
            }
        }
    }
}
