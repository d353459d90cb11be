//! When claim templates of ephemeral volumes are valid.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate, TypedLocalObjectReference, TypedObjectReference,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::field::{Errors, Path};
use crate::quantity::Quantity;
use crate::validation::formats;
use crate::validation::labels::{InvalidValues, validate_labels, validate_selector};
use crate::validation::metadata::validate_annotations;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

pub(super) fn validate_claim_template(template: &PersistentVolumeClaimTemplate, path: Path<'_>, errors: &mut Errors) {
    if let Some(meta) = &template.metadata {
        validate_template_metadata(meta, path.child("metadata"), errors);
    }
    validate_claim_spec(&template.spec, path.child("spec"), errors);
}

/// Only labels and annotations are taken over to the claim; anything else would be lost.
fn validate_template_metadata(meta: &ObjectMeta, path: Path<'_>, errors: &mut Errors) {
    validate_annotations(meta.annotations.as_ref(), path.child("annotations"), errors);
    validate_labels(meta.labels.as_ref(), path.child("labels"), errors);
    let text = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
    let fields = [
        ("name", text(&meta.name)),
        ("generateName", text(&meta.generate_name)),
        ("namespace", text(&meta.namespace)),
        ("selfLink", text(&meta.self_link)),
        ("uid", text(&meta.uid)),
        ("resourceVersion", text(&meta.resource_version)),
        ("generation", meta.generation.is_some_and(|generation| generation != 0)),
        ("creationTimestamp", meta.creation_timestamp.is_some()),
        ("deletionTimestamp", meta.deletion_timestamp.is_some()),
        ("deletionGracePeriodSeconds", meta.deletion_grace_period_seconds.is_some()),
        ("ownerReferences", meta.owner_references.is_some()),
        ("finalizers", meta.finalizers.is_some()),
        ("managedFields", meta.managed_fields.is_some()),
    ];
    for (field, _) in fields.iter().filter(|(_, is_set)| *is_set) {
        errors.forbidden(path.child(field), "cannot be set");
    }
}

fn validate_claim_spec(spec: &PersistentVolumeClaimSpec, path: Path<'_>, errors: &mut Errors) {
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if modes.is_empty() {
        errors.required(path.child("accessModes"), "at least 1 access mode is required");
    }
    validate_selector(spec.selector.as_ref(), InvalidValues::Refused, path.child("selector"), errors);
    validate_access_modes(modes, path.child("accessModes"), errors);
    validate_size(spec, path.child("resources"), errors);
    if let Some(class) = spec.storage_class_name.as_deref().filter(|class| !class.is_empty()) {
        formats::dns_subdomain(class, path.child("storageClassName"), errors);
    }
    if let Some(mode) = &spec.volume_mode {
        formats::choice(mode, &VOLUME_MODES, path.child("volumeMode"), errors);
    }
    if let Some(source) = &spec.data_source {
        validate_source(&Referent::from(source), path.child("dataSource"), errors);
    }
    if let Some(source) = &spec.data_source_ref {
        validate_source(&Referent::from(source), path.child("dataSourceRef"), errors);
        if let Some(namespace) = source.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
            formats::dns_label(namespace, path.child("dataSourceRef").child("namespace"), errors);
        }
    }
    validate_sources_agree(spec, path, errors);
    if let Some(class) = spec.volume_attributes_class_name.as_deref().filter(|class| !class.is_empty()) {
        formats::dns_subdomain(class, path.child("volumeAttributesClassName"), errors);
    }
}

fn validate_access_modes(modes: &[String], path: Path<'_>, errors: &mut Errors) {
    for mode in modes {
        formats::choice(mode, &ACCESS_MODES, path, errors);
    }
    let single = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    let other = modes.iter().any(|mode| mode != "ReadWriteOncePod" && ACCESS_MODES.contains(&mode.as_str()));
    if single && other {
        errors.forbidden(path, "may not use ReadWriteOncePod with other access modes");
    }
}

fn validate_size(spec: &PersistentVolumeClaimSpec, path: Path<'_>, errors: &mut Errors) {
    let path = path.key("storage");
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let Some(size) = requests.and_then(|requests| requests.get("storage")) else {
        errors.required(path, "");
        return;
    };
    match Quantity::read(size) {
        Err(error) => errors.invalid(path, size.0.as_str(), &error.to_string()),
        Ok(size) if size.is_zero() || size.is_negative() => {
            errors.invalid(path, size.to_string(), "must be greater than zero");
        }
        Ok(_) => {}
    }
}

/// What both kinds of references to a data source have in common.
struct Referent<'a> {
    group: &'a str,
    kind: &'a str,
    name: &'a str,
}

impl<'a> From<&'a TypedLocalObjectReference> for Referent<'a> {
    fn from(reference: &'a TypedLocalObjectReference) -> Self {
        let group = reference.api_group.as_deref().unwrap_or_default();
        Referent { group, kind: &reference.kind, name: &reference.name }
    }
}

impl<'a> From<&'a TypedObjectReference> for Referent<'a> {
    fn from(reference: &'a TypedObjectReference) -> Self {
        let group = reference.api_group.as_deref().unwrap_or_default();
        Referent { group, kind: &reference.kind, name: &reference.name }
    }
}

fn validate_source(source: &Referent<'_>, path: Path<'_>, errors: &mut Errors) {
    formats::given(source.name, path.child("name"), errors);
    formats::given(source.kind, path.child("kind"), errors);
    if !source.group.is_empty() {
        formats::dns_subdomain(source.group, path.child("apiGroup"), errors);
    } else if source.kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.invalid(path, source.kind, detail);
    }
}

/// As upstream, the value shown is an empty object.
fn validate_sources_agree(spec: &PersistentVolumeClaimSpec, path: Path<'_>, errors: &mut Errors) {
    let (Some(source), Some(reference)) = (&spec.data_source, &spec.data_source_ref) else { return };
    let foreign = reference.namespace.as_deref().is_some_and(|namespace| !namespace.is_empty());
    let same =
        source.api_group == reference.api_group && source.kind == reference.kind && source.name == reference.name;
    if foreign {
        errors.invalid(path, json!({}), "may not be specified when dataSourceRef.namespace is specified");
    } else if !same {
        errors.invalid(path, json!({}), "must match dataSourceRef");
    }
}
