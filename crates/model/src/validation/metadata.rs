//! When an object's metadata is valid, on create and on update, and which of its fields an update cannot touch.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::formats::{self, IMMUTABLE};
use super::labels::validate_labels;
use crate::field::{BadValue, Errors, Path, go_quoted};
use crate::text;

const TOTAL_ANNOTATION_BYTES_MAX: usize = 256 * 1024;
const FIELD_MANAGER_BYTES_MAX: usize = 128;
const SUBRESOURCE_BYTES_MAX: usize = 256;
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", ORPHAN, FOREGROUND];

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Namespaced,
    Cluster,
}

/// What the names of a kind look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    DnsSubdomain,
    DnsLabel,
    /// A label that begins with a letter.
    Dns1035Label,
    /// Anything that can stand as one segment of a URL's path.
    PathSegment,
}

impl NameRule {
    fn complaints(self, name: &str) -> Vec<String> {
        match self {
            NameRule::DnsSubdomain => text::dns_subdomain(name),
            NameRule::DnsLabel => text::dns_label(name),
            NameRule::Dns1035Label => text::dns_1035_label(name),
            NameRule::PathSegment => path_segment(name),
        }
    }

    /// A prefix may end where a name may not: the generated part follows.
    fn prefix_complaints(self, prefix: &str) -> Vec<String> {
        match self {
            NameRule::DnsSubdomain => text::dns_subdomain_prefix(prefix),
            NameRule::DnsLabel => text::dns_label(&completed(prefix)),
            NameRule::Dns1035Label => text::dns_1035_label(&completed(prefix)),
            NameRule::PathSegment => path_segment(&completed(prefix)),
        }
    }
}

/// A dash at the end of a prefix will be followed by something.
fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(start) if !start.is_empty() => format!("{start}a"),
        Some(_) | None => prefix.to_owned(),
    }
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let forbidden = ["/", "%"].into_iter().filter(|part| name.contains(part));
    forbidden.map(|part| format!("may not contain '{part}'")).collect()
}

/// The metadata of an object that is about to be created. Names are generated before validation.
pub fn validate_metadata(meta: &ObjectMeta, scope: Scope, names: NameRule, path: Path<'_>, errors: &mut Errors) {
    validate_names(meta, scope, names, path, errors);
    validate_generation(meta, path, errors);
    validate_descriptions(meta, path, errors);
    validate_finalizers(meta, path.child("finalizers"), errors);
    validate_managed_fields(meta, path.child("managedFields"), errors);
    validate_finalizer_domains(meta, path.child("finalizers"), errors);
}

/// What an update of metadata must keep, and the checks of creation that hold on.
pub fn validate_metadata_update(new: &ObjectMeta, old: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    if old.deletion_timestamp.is_some() {
        validate_no_new_finalizers(new, old, path.child("finalizers"), errors);
    }
    let version = new.resource_version.as_deref().unwrap_or_default();
    if version.is_empty() {
        errors.invalid(path.child("resourceVersion"), version, "must be specified for an update");
    }
    validate_generation(new, path, errors);
    let generation = new.generation.unwrap_or_default();
    if generation < old.generation.unwrap_or_default() {
        errors.invalid(path.child("generation"), generation, "must not be decremented");
    }
    validate_immutable(new, old, path, errors);
    validate_descriptions(new, path, errors);
    validate_managed_fields(new, path.child("managedFields"), errors);
    validate_finalizer_domains(new, path.child("finalizers"), errors);
}

/// Puts back what no update can change or remove: generation, UID, creation time, deletion time, and a deletion grace
/// period that the request left out. To be called before an update is validated.
pub fn pin_metadata(new: &mut ObjectMeta, old: &ObjectMeta) {
    new.generation = old.generation;
    if new.uid.as_deref().unwrap_or_default().is_empty() {
        new.uid.clone_from(&old.uid);
    }
    if old.creation_timestamp.is_some() {
        new.creation_timestamp.clone_from(&old.creation_timestamp);
    }
    if old.deletion_timestamp.is_some() {
        new.deletion_timestamp.clone_from(&old.deletion_timestamp);
    }
    if new.deletion_grace_period_seconds.is_none() {
        new.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
    }
}

fn validate_names(meta: &ObjectMeta, scope: Scope, names: NameRule, path: Path<'_>, errors: &mut Errors) {
    let prefix = meta.generate_name.as_deref().unwrap_or_default();
    if !prefix.is_empty() {
        formats::report(names.prefix_complaints(prefix), prefix, path.child("generateName"), errors);
    }
    match meta.name.as_deref().unwrap_or_default() {
        "" => errors.required(path.child("name"), "name or generateName is required"),
        name => formats::report(names.complaints(name), name, path.child("name"), errors),
    }
    match (scope, meta.namespace.as_deref().unwrap_or_default()) {
        (Scope::Namespaced, "") => errors.required(path.child("namespace"), ""),
        (Scope::Namespaced, namespace) => formats::dns_label(namespace, path.child("namespace"), errors),
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => errors.forbidden(path.child("namespace"), "not allowed on this type"),
    }
}

fn validate_generation(meta: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    formats::not_negative(meta.generation.unwrap_or_default(), path.child("generation"), errors);
}

fn validate_descriptions(meta: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    validate_labels(meta.labels.as_ref(), path.child("labels"), errors);
    validate_annotations(meta.annotations.as_ref(), path.child("annotations"), errors);
    validate_owners(meta.owner_references.as_deref().unwrap_or_default(), path.child("ownerReferences"), errors);
}

/// Keys are qualified names regardless of case; all keys and values together have a limit.
pub(super) fn validate_annotations(
    annotations: Option<&BTreeMap<String, String>>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    for key in annotations.into_iter().flat_map(BTreeMap::keys) {
        formats::report(text::qualified_name(&key.to_lowercase()), key, path, errors);
    }
    validate_annotations_size(annotations, path, errors);
}

pub(super) fn validate_annotations_size(
    annotations: Option<&BTreeMap<String, String>>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let bytes: usize = annotations.into_iter().flatten().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > TOTAL_ANNOTATION_BYTES_MAX {
        errors.too_long(path, TOTAL_ANNOTATION_BYTES_MAX);
    }
}

fn validate_owners(owners: &[OwnerReference], path: Path<'_>, errors: &mut Errors) {
    let mut first_controller: Option<String> = None;
    for (i, owner) in owners.iter().enumerate() {
        validate_owner(owner, path.index(i), errors);
        if owner.controller != Some(true) {
            continue;
        }
        let controller = format!("{}/{}", owner.kind, owner.name);
        match &first_controller {
            None => first_controller = Some(controller),
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {controller}"
                );
                errors.invalid(path, json!(owners), &detail);
            }
        }
    }
}

fn validate_owner(owner: &OwnerReference, path: Path<'_>, errors: &mut Errors) {
    let version = group_and_version(&owner.api_version);
    if owner.api_version.is_empty() {
        errors.required(path.child("apiVersion"), "must not be empty");
    } else if version.is_none_or(|(_, version)| version.is_empty()) {
        errors.invalid(path.child("apiVersion"), owner.api_version.as_str(), "must be <group>/<version> or <version>");
    }
    for (field, value) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
        if value.is_empty() {
            errors.required(path.child(field), "must not be empty");
        }
    }
    if version == Some(("", "v1")) && owner.kind == "Event" {
        errors.invalid(path, shown(owner), "/v1, Kind=Event is disallowed from being an owner");
    }
}

/// The reference with its fields in upstream's order.
fn shown(owner: &OwnerReference) -> BadValue {
    let text = |text: &String| BadValue::Json(text.as_str().into());
    let mut fields = vec![
        ("apiVersion", text(&owner.api_version)),
        ("kind", text(&owner.kind)),
        ("name", text(&owner.name)),
        ("uid", text(&owner.uid)),
    ];
    fields.extend(owner.controller.map(|flag| ("controller", flag.into())));
    fields.extend(owner.block_owner_deletion.map(|flag| ("blockOwnerDeletion", flag.into())));
    BadValue::Ordered(fields)
}

/// `None` if the text has more than one slash.
fn group_and_version(api_version: &str) -> Option<(&str, &str)> {
    match api_version.split_once('/') {
        None => Some(("", api_version)),
        Some((_, version)) if version.contains('/') => None,
        Some(both) => Some(both),
    }
}

fn validate_finalizers(meta: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    let finalizers = meta.finalizers.as_deref().unwrap_or_default();
    for finalizer in finalizers {
        formats::qualified_name(finalizer, path, errors);
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has(ORPHAN) && has(FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.invalid(path, json!(finalizers), &detail);
    }
}

fn validate_finalizer_domains(meta: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    for (i, finalizer) in meta.finalizers.iter().flatten().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.as_str()) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.invalid(path.index(i), finalizer.as_str(), detail);
        }
    }
}

fn validate_no_new_finalizers(new: &ObjectMeta, old: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    let old: BTreeSet<&String> = old.finalizers.iter().flatten().collect();
    let added: BTreeSet<&String> = new.finalizers.iter().flatten().filter(|name| !old.contains(name)).collect();
    if !added.is_empty() {
        let names: Vec<String> = added.iter().map(|name| go_quoted(name)).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        );
        errors.forbidden(path, &detail);
    }
}

fn validate_managed_fields(meta: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    for (i, entry) in meta.managed_fields.iter().flatten().enumerate() {
        validate_managed_entry(entry, path.index(i), errors);
    }
}

fn validate_managed_entry(entry: &ManagedFieldsEntry, path: Path<'_>, errors: &mut Errors) {
    match entry.operation.as_deref().unwrap_or_default() {
        "" => errors.required(path.child("operation"), "must not be empty"),
        "Apply" | "Update" => {}
        other => errors.not_supported(path.child("operation"), Value::from(other), &["Apply", "Update"]),
    }
    match entry.fields_type.as_deref().unwrap_or_default() {
        "" | "FieldsV1" => {}
        other => errors.invalid(path.child("fieldsType"), other, "must be `FieldsV1`"),
    }
    validate_manager(entry.manager.as_deref().unwrap_or_default(), path.child("manager"), errors);
    if entry.subresource.as_ref().is_some_and(|name| name.len() > SUBRESOURCE_BYTES_MAX) {
        errors.too_long(path.child("subresource"), SUBRESOURCE_BYTES_MAX);
    }
}

fn validate_manager(manager: &str, path: Path<'_>, errors: &mut Errors) {
    if manager.len() > FIELD_MANAGER_BYTES_MAX {
        errors.too_long(path, FIELD_MANAGER_BYTES_MAX);
    }
    for (position, character) in manager.char_indices() {
        if character.is_control() || (character.is_whitespace() && character != ' ') {
            let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(character));
            errors.invalid(path, manager, &detail);
        }
    }
}

fn validate_immutable(new: &ObjectMeta, old: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    let texts = [("name", &new.name, &old.name), ("namespace", &new.namespace, &old.namespace)];
    for (field, new, old) in texts {
        let (new, old) = (new.as_deref().unwrap_or_default(), old.as_deref().unwrap_or_default());
        if new != old {
            errors.invalid(path.child(field), new, IMMUTABLE);
        }
    }
    let (new_uid, old_uid) = (new.uid.as_deref().unwrap_or_default(), old.uid.as_deref().unwrap_or_default());
    if new_uid != old_uid {
        errors.invalid(path.child("uid"), Value::from(new_uid), IMMUTABLE);
    }
    let times = [
        ("creationTimestamp", &new.creation_timestamp, &old.creation_timestamp),
        ("deletionTimestamp", &new.deletion_timestamp, &old.deletion_timestamp),
    ];
    for (field, new, old) in times {
        if new != old {
            errors.invalid(path.child(field), json!(new), IMMUTABLE);
        }
    }
    if new.deletion_grace_period_seconds != old.deletion_grace_period_seconds {
        let path = path.child("deletionGracePeriodSeconds");
        errors.invalid(path, json!(new.deletion_grace_period_seconds), IMMUTABLE);
    }
}
