//! What an update may keep although a new object may not have it: upstream became stricter over time and must still
//! let old objects be changed.

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::annotations::has_valid_deletion_cost;
use super::formats;
use super::labels::{self, InvalidValues};
use super::security::host_sysctl_fault;
use super::topology::{has_invalid_spread_keys, has_invalid_spread_selector};
use super::visit::all_containers;

/// Each field says that a mistake of that kind is let through.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    pub(super) invalid_deletion_cost: bool,
    pub(super) invalid_selector_values: bool,
    pub(super) invalid_node_affinity_values: bool,
    pub(super) invalid_spread_selector: bool,
    pub(super) invalid_spread_keys: bool,
    pub(super) foreign_token_path: bool,
    pub(super) host_sysctls: bool,
    pub(super) toleration_comparison: bool,
    pub(super) user_namespace_on_host_network: bool,
    pub(super) user_namespace_with_devices: bool,
    pub(super) empty_image_reference: bool,
    /// Not a mistake: the field counts only where it was in use before its gate went off.
    pub(super) scheduling_group: bool,
}

impl Kept {
    /// A new object keeps nothing.
    pub(super) fn for_create() -> Kept {
        Kept::default()
    }

    /// An update keeps the kinds of mistakes that the stored object has.
    pub(super) fn for_update(meta: &ObjectMeta, spec: &PodSpec) -> Kept {
        let own_users = spec.host_users == Some(false);
        Kept {
            invalid_deletion_cost: meta.annotations.as_ref().is_some_and(|all| !has_valid_deletion_cost(all)),
            invalid_selector_values: spec.affinity.as_ref().is_some_and(affinity_has_invalid_values),
            invalid_node_affinity_values: spec.affinity.as_ref().is_some_and(node_affinity_has_invalid_values),
            invalid_spread_selector: has_invalid_spread_selector(spec),
            invalid_spread_keys: has_invalid_spread_keys(spec),
            foreign_token_path: has_foreign_token_path(spec),
            host_sysctls: has_host_sysctls(spec),
            toleration_comparison: compares_tolerations(spec),
            user_namespace_on_host_network: own_users && spec.host_network == Some(true),
            user_namespace_with_devices: own_users && all_containers(spec).any(|c| !c.volume_devices.is_empty()),
            empty_image_reference: has_empty_image_reference(spec),
            scheduling_group: spec.scheduling_group.is_some(),
        }
    }

    pub(super) fn selector_values(&self) -> InvalidValues {
        InvalidValues::kept_if(self.invalid_selector_values)
    }

    pub(super) fn node_affinity_values(&self) -> InvalidValues {
        InvalidValues::kept_if(self.invalid_node_affinity_values)
    }
}

fn affinity_has_invalid_values(affinity: &Affinity) -> bool {
    pod_affinity_terms(affinity).any(|term| {
        labels::is_invalid(term.label_selector.as_ref()) || labels::is_invalid(term.namespace_selector.as_ref())
    })
}

/// Every term of pod affinity and anti-affinity, required or preferred.
fn pod_affinity_terms(affinity: &Affinity) -> impl Iterator<Item = &PodAffinityTerm> {
    let near = affinity.pod_affinity.iter().flat_map(|affinity| {
        let required = affinity.required_during_scheduling_ignored_during_execution.iter().flatten();
        let preferred = affinity.preferred_during_scheduling_ignored_during_execution.iter().flatten();
        required.chain(preferred.map(|weighted| &weighted.pod_affinity_term))
    });
    let far = affinity.pod_anti_affinity.iter().flat_map(|affinity| {
        let required = affinity.required_during_scheduling_ignored_during_execution.iter().flatten();
        let preferred = affinity.preferred_during_scheduling_ignored_during_execution.iter().flatten();
        required.chain(preferred.map(|weighted| &weighted.pod_affinity_term))
    });
    near.chain(far)
}

fn node_affinity_has_invalid_values(affinity: &Affinity) -> bool {
    affinity
        .node_affinity
        .iter()
        .flat_map(|affinity| affinity.required_during_scheduling_ignored_during_execution.iter())
        .flat_map(|selector| selector.node_selector_terms.iter())
        .flat_map(|term| term.match_expressions.iter().flatten())
        .flat_map(|requirement| requirement.values.iter().flatten())
        .any(|value| !formats::is_label_value(value))
}

fn has_foreign_token_path(spec: &PodSpec) -> bool {
    spec.volumes
        .iter()
        .flatten()
        .filter_map(|volume| volume.projected.as_ref())
        .flat_map(|projected| projected.sources.iter().flatten())
        .filter_map(|source| source.service_account_token.as_ref())
        .any(|token| !crate::text::unreserved_path(&token.path).is_empty())
}

fn has_host_sysctls(spec: &PodSpec) -> bool {
    spec.security_context
        .iter()
        .flat_map(|context| context.sysctls.iter().flatten())
        .any(|sysctl| host_sysctl_fault(&sysctl.name, spec).is_some())
}

fn compares_tolerations(spec: &PodSpec) -> bool {
    spec.tolerations.iter().flatten().any(|toleration| matches!(toleration.operator.as_deref(), Some("Lt" | "Gt")))
}

fn has_empty_image_reference(spec: &PodSpec) -> bool {
    spec.volumes
        .iter()
        .flatten()
        .filter_map(|volume| volume.image.as_ref())
        .any(|image| image.reference.as_deref().unwrap_or_default().is_empty())
}
