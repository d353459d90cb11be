//! What happens to a pod between its defaults and its validation, as upstream's registry does it.
//!
//! Fields that the request cannot set are put back, label keys are merged into the selectors they narrow, and resources
//! of the pod as a whole are filled in from its containers.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{
    Affinity, Container, Pod, PodAffinityTerm, PodCondition, PodSpec, PodStatus, PodTemplateSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::qos::{QosClass, is_pod_resource};
use crate::quantity::Quantity;
use crate::validation::{aggregate, pin_metadata, same};

type Labels = BTreeMap<String, String>;

/// A new pod is pending, in its first generation, and its status says nothing but its class, and what keeps it from
/// being scheduled.
pub fn prepare_for_create(pod: &mut Pod) {
    pod.metadata.generation = Some(1);
    prepare_new_spec(pod);
    let spec = pod.spec.as_ref();
    let gated = spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty());
    pod.status = Some(PodStatus {
        phase: Some("Pending".to_owned()),
        conditions: gated.then(|| vec![gated_condition()]),
        qos_class: Some(spec.map_or(QosClass::BestEffort, QosClass::of).name().to_owned()),
        ..PodStatus::default()
    });
}

fn prepare_new_spec(pod: &mut Pod) {
    let Some(spec) = &mut pod.spec else { return };
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    if let Some(affinity) = &mut spec.affinity {
        merge_into_affinity(affinity, &labels);
    }
    for constraint in spec.topology_spread_constraints.iter_mut().flatten() {
        let keys = constraint.match_label_keys.as_deref().unwrap_or_default();
        merge_keys(constraint.label_selector.as_mut(), keys, "In", &labels);
    }
    fill_pod_resources(spec);
    drop_unavailable_fields(spec, None);
}

/// An update keeps the status, and a change of the spec begins a new generation.
pub fn prepare_for_update(new: &mut Pod, old: &Pod) {
    new.status.clone_from(&old.status);
    pin_metadata(&mut new.metadata, &old.metadata);
    if let (Some(new), Some(old)) = (&mut new.spec, &old.spec) {
        if new.resources.is_none() {
            // Clients that do not know the field drop it.
            new.resources.clone_from(&old.resources);
        }
        drop_unavailable_fields(new, Some(old));
    }
    if !same(&new.spec, &old.spec) {
        new.metadata.generation = Some(old.metadata.generation.unwrap_or_default().saturating_add(1));
    }
}

/// A status update keeps everything else, and what clients drop because they do not know it.
pub fn prepare_for_status_update(new: &mut Pod, old: &Pod) {
    new.spec.clone_from(&old.spec);
    new.metadata.deletion_timestamp = None;
    new.metadata.owner_references.clone_from(&old.metadata.owner_references);
    pin_metadata(&mut new.metadata, &old.metadata);
    let no_status = PodStatus::default();
    let old = old.status.as_ref().unwrap_or(&no_status);
    let new = new.status.get_or_insert_default();
    if new.qos_class.as_deref().unwrap_or_default().is_empty() {
        new.qos_class.clone_from(&old.qos_class);
    }
    if new.resource_claim_statuses.is_none() {
        new.resource_claim_statuses.clone_from(&old.resource_claim_statuses);
    }
    if new.extended_resource_claim_status.is_none() {
        new.extended_resource_claim_status.clone_from(&old.extended_resource_claim_status);
    }
    if new.node_allocatable_resource_claim_statuses.is_none() {
        new.node_allocatable_resource_claim_statuses.clone_from(&old.node_allocatable_resource_claim_statuses);
    }
    if new.observed_generation.unwrap_or_default() == 0 {
        new.observed_generation = old.observed_generation;
    }
    keep_observed_generations(
        new.conditions.as_deref_mut().unwrap_or_default(),
        old.conditions.as_deref().unwrap_or_default(),
    );
}

/// A template keeps the fields that are not available only where the one it replaces used them.
pub fn prepare_template(new: &mut PodTemplateSpec, old: Option<&PodTemplateSpec>) {
    if let Some(spec) = &mut new.spec {
        drop_unavailable_fields(spec, old.and_then(|old| old.spec.as_ref()));
    }
}

/// Fields behind upstream's gates that are off by default stay only where they were in use.
fn drop_unavailable_fields(spec: &mut PodSpec, old: Option<&PodSpec>) {
    if old.is_none_or(|old| old.scheduling_group.is_none()) {
        spec.scheduling_group = None;
    }
    if old.is_none_or(|old| old.eviction_responders.as_ref().is_none_or(Vec::is_empty)) {
        spec.eviction_responders = None;
    }
}

/// Conditions of one type are matched in the order in which they come.
fn keep_observed_generations(new: &mut [PodCondition], old: &[PodCondition]) {
    let mut known: BTreeMap<&str, std::collections::VecDeque<Option<i64>>> = BTreeMap::new();
    for condition in old {
        known.entry(&condition.type_).or_default().push_back(condition.observed_generation);
    }
    for condition in new {
        let old = known.get_mut(condition.type_.as_str()).and_then(std::collections::VecDeque::pop_front).flatten();
        if condition.observed_generation.unwrap_or_default() == 0 {
            condition.observed_generation = old;
        }
    }
}

fn gated_condition() -> PodCondition {
    PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some("SchedulingGated".to_owned()),
        message: Some("Scheduling is blocked due to non-empty scheduling gates".to_owned()),
        ..PodCondition::default()
    }
}

fn merge_into_affinity(affinity: &mut Affinity, labels: &Labels) {
    if let Some(near) = &mut affinity.pod_affinity {
        let required = near.required_during_scheduling_ignored_during_execution.iter_mut().flatten();
        let preferred = near.preferred_during_scheduling_ignored_during_execution.iter_mut().flatten();
        required
            .chain(preferred.map(|weighted| &mut weighted.pod_affinity_term))
            .for_each(|term| merge_into_term(term, labels));
    }
    if let Some(far) = &mut affinity.pod_anti_affinity {
        let required = far.required_during_scheduling_ignored_during_execution.iter_mut().flatten();
        let preferred = far.preferred_during_scheduling_ignored_during_execution.iter_mut().flatten();
        required
            .chain(preferred.map(|weighted| &mut weighted.pod_affinity_term))
            .for_each(|term| merge_into_term(term, labels));
    }
}

fn merge_into_term(term: &mut PodAffinityTerm, labels: &Labels) {
    let selector = &mut term.label_selector;
    merge_keys(selector.as_mut(), term.match_label_keys.as_deref().unwrap_or_default(), "In", labels);
    merge_keys(selector.as_mut(), term.mismatch_label_keys.as_deref().unwrap_or_default(), "NotIn", labels);
}

/// Narrows a selector by the pod's own values of some labels. Labels the pod does not have are left out.
fn merge_keys(selector: Option<&mut LabelSelector>, keys: &[String], operator: &str, labels: &Labels) {
    let Some(selector) = selector else { return };
    for (key, value) in keys.iter().filter_map(|key| labels.get_key_value(key)) {
        selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
            key: key.clone(),
            operator: operator.to_owned(),
            values: Some(vec![value.clone()]),
        });
    }
}

/// A pod that says something about its own resources gets the rest from its containers.
fn fill_pod_resources(spec: &mut PodSpec) {
    let Some(mut resources) = spec.resources.take() else { return };
    let said = |list: &Option<BTreeMap<String, Text>>| list.as_ref().is_some_and(|list| !list.is_empty());
    if said(&resources.requests) || said(&resources.limits) {
        fill_huge_page_limits(&mut resources, spec);
        fill_requests(&mut resources, spec);
        fill_limits(&mut resources, spec);
    }
    spec.resources = Some(resources);
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn fill_huge_page_limits(resources: &mut ResourceRequirements, spec: &PodSpec) {
    let requests = resources.requests.clone().unwrap_or_default();
    for (name, amount) in aggregate::limits(spec) {
        if is_huge_pages(name) && !requests.contains_key(name) {
            put_if_absent(&mut resources.limits, name, &amount);
        }
    }
}

fn fill_requests(resources: &mut ResourceRequirements, spec: &PodSpec) {
    for (name, amount) in aggregate::requests(spec) {
        if is_pod_resource(name) && !is_huge_pages(name) {
            put_if_absent(&mut resources.requests, name, &amount);
        }
    }
    for (name, limit) in resources.limits.iter().flatten().filter(|(name, _)| is_pod_resource(name)) {
        resources.requests.get_or_insert_default().entry(name.clone()).or_insert_with(|| limit.clone());
    }
}

/// A limit can be filled in only if every container has one; it is never below the request.
fn fill_limits(resources: &mut ResourceRequirements, spec: &PodSpec) {
    let limits = resources.limits.clone().unwrap_or_default();
    let requests = resources.requests.clone().unwrap_or_default();
    let missing: BTreeSet<&str> = requests
        .keys()
        .map(String::as_str)
        .filter(|name| is_pod_resource(name) && !limits.contains_key(*name))
        .collect();
    let has_limit = |container: &Container, name: &str| {
        let limits = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
        limits.is_some_and(|limits| limits.contains_key(name))
    };
    let containers = || spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let sums = aggregate::limits(spec);
    for name in missing.into_iter().filter(|name| containers().all(|container| has_limit(container, name))) {
        let Some(sum) = sums.get(name) else { continue };
        let request = requests.get(name).and_then(|text| Quantity::read(text).ok()).unwrap_or_else(Quantity::zero);
        let limit = if request > *sum { &request } else { sum };
        put_if_absent(&mut resources.limits, name, limit);
    }
}

fn put_if_absent(list: &mut Option<BTreeMap<String, Text>>, name: &str, amount: &Quantity) {
    list.get_or_insert_default().entry(name.to_owned()).or_insert_with(|| Text(amount.to_string()));
}
