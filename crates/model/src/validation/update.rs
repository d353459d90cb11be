//! What may change on a pod that exists.

use std::collections::{BTreeMap, HashMap, HashSet};

use k8s_openapi::api::core::v1::{
    Affinity, Container, EphemeralContainer, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, Pod,
    PodSchedulingGate, PodSpec, Toleration,
};
use serde_json::{Value, json};

use super::annotations::{is_mirror, validate_pod_annotations_update};
use super::kept::Kept;
use super::metadata::validate_metadata_update;
use super::pod::validate_metadata_and_spec;
use super::same::same;
use super::scheduling::validate_tolerations;
use super::{Options, formats};
use crate::field::{Errors, Path};
use crate::gates::FeatureGates;

const MUTABLE_FIELDS: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,\
     `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Whether the checks that follow make sense.
#[derive(PartialEq, Eq)]
enum Verdict {
    Continue,
    Stop,
}

/// An update of a pod through the main resource.
pub fn validate_pod_update(new: &Pod, old: &Pod, gates: FeatureGates) -> Errors {
    let mut errors = Errors::new();
    let no_spec = PodSpec::default();
    let (new_spec, old_spec) = (new.spec.as_ref().unwrap_or(&no_spec), old.spec.as_ref().unwrap_or(&no_spec));
    let kept = Kept::for_update(&old.metadata, old_spec);
    validate_whole(new, old, &kept, gates, &mut errors);
    let root = Path::root();
    let path = root.child("spec");
    if validate_updatable_fields(new_spec, old_spec, &kept, path, &mut errors) == Verdict::Stop
        || same(new_spec, old_spec)
    {
        return errors;
    }
    let mut rest = with_updatable_fields_of(new_spec, old_spec);
    if old_spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
        validate_narrowing(&mut rest, old_spec, path, &mut errors);
    }
    if !same(&rest, old_spec) {
        errors.forbidden(path, &format!("pod updates may not change fields other than {MUTABLE_FIELDS}"));
    }
    errors
}

/// An update through the `ephemeralcontainers` subresource: containers are added, never changed or removed.
pub fn validate_ephemeral_containers_update(new: &Pod, old: &Pod, gates: FeatureGates) -> Errors {
    let mut errors = Errors::new();
    if is_mirror(&old.metadata) {
        errors.forbidden(Path::root().key(""), "static pods do not support ephemeral containers");
        return errors;
    }
    let no_spec = PodSpec::default();
    let kept = Kept::for_update(&old.metadata, old.spec.as_ref().unwrap_or(&no_spec));
    validate_whole(new, old, &kept, gates, &mut errors);
    let root = Path::root();
    let path = root.child("spec");
    let path = path.child("ephemeralContainers");
    let by_name: HashMap<&str, &EphemeralContainer> =
        ephemeral_containers(new).map(|container| (container.name.as_str(), container)).collect();
    for container in ephemeral_containers(old) {
        let name = &container.name;
        match by_name.get(name.as_str()) {
            None => {
                errors.forbidden(path, &format!("existing ephemeral containers {name:?} may not be removed\n"));
            }
            Some(new) if !same(*new, container) => {
                errors.forbidden(path, &format!("existing ephemeral containers {name:?} may not be changed\n"));
            }
            Some(_) => {}
        }
    }
    errors
}

fn ephemeral_containers(pod: &Pod) -> impl Iterator<Item = &EphemeralContainer> {
    pod.spec.iter().flat_map(|spec| spec.ephemeral_containers.iter().flatten())
}

/// The new pod must be valid in itself, as far as the old one was.
fn validate_whole(new: &Pod, old: &Pod, kept: &Kept, gates: FeatureGates, errors: &mut Errors) {
    let no_spec = PodSpec::default();
    let root = Path::root();
    let meta_path = root.child("metadata");
    validate_metadata_update(&new.metadata, &old.metadata, meta_path, errors);
    let options = Options::new(gates, old.spec.as_ref());
    validate_metadata_and_spec(&new.metadata, new.spec.as_ref().unwrap_or(&no_spec), &options, kept, errors);
    validate_pod_annotations_update(new, old, kept, meta_path.child("annotations"), errors);
}

fn validate_updatable_fields(
    new: &PodSpec,
    old: &PodSpec,
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) -> Verdict {
    let lists = [
        ("containers", new.containers.as_slice(), old.containers.as_slice()),
        (
            "initContainers",
            new.init_containers.as_deref().unwrap_or_default(),
            old.init_containers.as_deref().unwrap_or_default(),
        ),
    ];
    for (field, new, old) in lists {
        if validate_images(new, old, path.child(field), errors) == Verdict::Stop {
            return Verdict::Stop;
        }
    }
    let verdict = validate_deadline(new, old, path.child("activeDeadlineSeconds"), errors);
    if verdict == Verdict::Continue {
        validate_added_tolerations(
            new.tolerations.as_deref().unwrap_or_default(),
            old.tolerations.as_deref().unwrap_or_default(),
            kept,
            path.child("tolerations"),
            errors,
        );
        validate_removed_gates(
            new.scheduling_gates.as_deref().unwrap_or_default(),
            old.scheduling_gates.as_deref().unwrap_or_default(),
            path.child("schedulingGates"),
            errors,
        );
    }
    verdict
}

fn validate_images(new: &[Container], old: &[Container], path: Path<'_>, errors: &mut Errors) -> Verdict {
    if new.len() != old.len() {
        errors.forbidden(path, "pod updates may not add or remove containers");
        return Verdict::Stop;
    }
    for (i, container) in new.iter().enumerate() {
        let path = path.index(i);
        let image = container.image.as_deref().unwrap_or_default();
        if image.is_empty() {
            errors.required(path.child("image"), "");
        }
        if image.trim() != image {
            errors.invalid(path.child("image"), image, "must not have leading or trailing whitespace");
        }
    }
    Verdict::Continue
}

/// The deadline can be set and can come closer.
fn validate_deadline(new: &PodSpec, old: &PodSpec, path: Path<'_>, errors: &mut Errors) -> Verdict {
    match (new.active_deadline_seconds, old.active_deadline_seconds) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            formats::in_range(new, 0, i32::MAX.into(), path, errors);
            Verdict::Stop
        }
        (Some(new), Some(old)) if new > old => {
            errors.invalid(path, new, "must be less than or equal to previous value");
            Verdict::Stop
        }
        (None, Some(_)) => {
            errors.invalid(path, Value::Null, "must not update from a positive integer to nil value");
            Verdict::Continue
        }
        _ => Verdict::Continue,
    }
}

/// Every old toleration must still be there, if with other seconds.
fn validate_added_tolerations(
    new: &[Toleration],
    old: &[Toleration],
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let present: HashSet<[&str; 4]> = new.iter().map(identity).collect();
    if old.iter().all(|toleration| present.contains(&identity(toleration))) {
        validate_tolerations(new, kept, path, errors);
    } else {
        errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
    }
}

fn identity(toleration: &Toleration) -> [&str; 4] {
    [&toleration.key, &toleration.operator, &toleration.value, &toleration.effect]
        .map(|part| part.as_deref().unwrap_or_default())
}

fn validate_removed_gates(new: &[PodSchedulingGate], old: &[PodSchedulingGate], path: Path<'_>, errors: &mut Errors) {
    let old: HashSet<&str> = old.iter().map(|gate| gate.name.as_str()).collect();
    // A name that comes twice is reported where it stands last.
    let new: BTreeMap<&str, usize> = new.iter().enumerate().map(|(i, gate)| (gate.name.as_str(), i)).collect();
    for (gate, i) in new.into_iter().filter(|(gate, _)| !old.contains(gate)) {
        let detail = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
        errors.forbidden(path.index(i).child("name"), &detail);
    }
}

/// The new spec with the old values of everything that may change, so that what still differs may not.
fn with_updatable_fields_of(new: &PodSpec, old: &PodSpec) -> PodSpec {
    let mut rest = new.clone();
    for (container, old) in rest.containers.iter_mut().zip(&old.containers) {
        container.image.clone_from(&old.image);
    }
    let init_containers = rest.init_containers.iter_mut().flatten();
    for (container, old) in init_containers.zip(old.init_containers.iter().flatten()) {
        container.image.clone_from(&old.image);
    }
    rest.active_deadline_seconds = old.active_deadline_seconds;
    rest.scheduling_gates.clone_from(&old.scheduling_gates);
    rest.tolerations.clone_from(&old.tolerations);
    let was_negative = old.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0);
    if was_negative && rest.termination_grace_period_seconds == Some(1) {
        rest.termination_grace_period_seconds = old.termination_grace_period_seconds;
    }
    rest
}

/// While a pod waits behind scheduling gates, the nodes it may run on can become fewer.
fn validate_narrowing(rest: &mut PodSpec, old: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let none = BTreeMap::new();
    let selector = rest.node_selector.as_ref().unwrap_or(&none);
    let mut old_entries = old.node_selector.iter().flatten();
    if !old_entries.all(|(key, value)| selector.get(key) == Some(value)) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.invalid(path.child("nodeSelector"), json!(rest.node_selector), detail);
    }
    rest.node_selector.clone_from(&old.node_selector);

    let new_affinity = rest.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let old_affinity = old.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    if same(&new_affinity, &old_affinity) {
        return;
    }
    let at = path.child("affinity");
    let at = at.child("nodeAffinity");
    let at = at.child("requiredDuringSchedulingIgnoredDuringExecution");
    validate_narrower_affinity(new_affinity, old_affinity, at.child("nodeSelectorTerms"), errors);
    restore_node_affinity(rest, old);
}

fn restore_node_affinity(rest: &mut PodSpec, old: &PodSpec) {
    let old_node_affinity = old.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
    let only_nodes = |affinity: &Affinity| affinity.pod_affinity.is_none() && affinity.pod_anti_affinity.is_none();
    match &mut rest.affinity {
        None => {
            rest.affinity = old_node_affinity
                .map(|node_affinity| Affinity { node_affinity: Some(node_affinity), ..Affinity::default() });
        }
        Some(affinity) if old.affinity.is_none() && only_nodes(affinity) => rest.affinity = None,
        Some(affinity) => affinity.node_affinity = old_node_affinity,
    }
}

fn validate_narrower_affinity(
    new: Option<&NodeAffinity>,
    old: Option<&NodeAffinity>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let terms = |affinity: Option<&'_ NodeAffinity>| -> Option<Vec<NodeSelectorTerm>> {
        let required = affinity?.required_during_scheduling_ignored_during_execution.as_ref()?;
        Some(required.node_selector_terms.clone())
    };
    let (new, old) = (terms(new).unwrap_or_default(), terms(old).unwrap_or_default());
    if old.is_empty() {
        return;
    }
    if new.len() != old.len() {
        let value = if new.is_empty() { Value::Null } else { new.iter().map(shown).collect() };
        errors.invalid(path, value, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (i, (new, old)) in new.iter().zip(&old).enumerate() {
        if !has_only_additions(new, old) {
            errors.invalid(path.index(i), shown(new), "only additions are allowed (no mutations or deletions)");
        }
    }
}

/// A term selects by all its requirements, so more of them select fewer nodes; but an empty term selects none.
fn has_only_additions(new: &NodeSelectorTerm, old: &NodeSelectorTerm) -> bool {
    fn list(requirements: &Option<Vec<NodeSelectorRequirement>>) -> &[NodeSelectorRequirement] {
        requirements.as_deref().unwrap_or_default()
    }
    let starts_with = |new: &[NodeSelectorRequirement], old: &[NodeSelectorRequirement]| {
        new.len() >= old.len() && new.iter().zip(old).all(|(new, old)| same(new, old))
    };
    let (new_labels, old_labels) = (list(&new.match_expressions), list(&old.match_expressions));
    let (new_fields, old_fields) = (list(&new.match_fields), list(&old.match_fields));
    let had_some = !old_labels.is_empty() || !old_fields.is_empty();
    let is_empty = new_labels.is_empty() && new_fields.is_empty();
    (had_some || is_empty) && starts_with(new_labels, old_labels) && starts_with(new_fields, old_fields)
}

/// A term as upstream shows it in messages.
fn shown(term: &NodeSelectorTerm) -> Value {
    let requirements = |list: &Option<Vec<NodeSelectorRequirement>>| -> Value {
        match list {
            None => Value::Null,
            Some(list) => {
                list.iter().map(|r| json!({ "Key": r.key, "Operator": r.operator, "Values": r.values })).collect()
            }
        }
    };
    json!({ "MatchExpressions": requirements(&term.match_expressions), "MatchFields": requirements(&term.match_fields) })
}
