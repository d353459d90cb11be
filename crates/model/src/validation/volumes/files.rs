//! When volumes that hold files from the API are valid: config maps, secrets and the downward API.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, DownwardAPIVolumeFile, DownwardAPIVolumeSource, KeyToPath, SecretVolumeSource,
};

use crate::field::{Errors, Path};
use crate::validation::field_refs::{ResourceRefOwner, validate_field_ref, validate_resource_field_ref};
use crate::validation::formats;

const MODE_MAX: i32 = 0o777;
/// Fields that a file can hold.
const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

pub(super) fn validate_mode(mode: Option<i32>, path: Path<'_>, errors: &mut Errors) {
    if let Some(mode) = mode.filter(|mode| !(0..=MODE_MAX).contains(mode)) {
        errors.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

pub(super) fn validate_config_map(source: &ConfigMapVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.name, path.child("name"), errors);
    validate_mode(source.default_mode, path.child("defaultMode"), errors);
    validate_items(source.items.as_deref(), path.child("items"), errors);
}

pub(super) fn validate_secret(source: &SecretVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(source.secret_name.as_deref().unwrap_or_default(), path.child("secretName"), errors);
    validate_mode(source.default_mode, path.child("defaultMode"), errors);
    validate_items(source.items.as_deref(), path.child("items"), errors);
}

fn validate_items(items: Option<&[KeyToPath]>, path: Path<'_>, errors: &mut Errors) {
    for (i, item) in items.unwrap_or_default().iter().enumerate() {
        validate_key_to_path(item, path.index(i), errors);
    }
}

pub(super) fn validate_key_to_path(item: &KeyToPath, path: Path<'_>, errors: &mut Errors) {
    formats::given(&item.key, path.child("key"), errors);
    formats::given(&item.path, path.child("path"), errors);
    formats::unreserved_path(&item.path, path.child("path"), errors);
    validate_mode(item.mode, path.child("mode"), errors);
}

pub(super) fn validate_downward_api(source: &DownwardAPIVolumeSource, path: Path<'_>, errors: &mut Errors) {
    validate_mode(source.default_mode, path.child("defaultMode"), errors);
    for file in source.items.iter().flatten() {
        validate_downward_file(file, path, errors);
    }
}

/// As upstream, the path is that of the list's owner, not of the item.
pub(super) fn validate_downward_file(file: &DownwardAPIVolumeFile, path: Path<'_>, errors: &mut Errors) {
    formats::given(&file.path, path.child("path"), errors);
    formats::unreserved_path(&file.path, path.child("path"), errors);
    match (&file.field_ref, &file.resource_field_ref) {
        (Some(field), resource) => {
            validate_field_ref(field, &FILE_FIELDS, path.child("fieldRef"), errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.invalid(path, "resource", detail);
            }
        }
        (None, Some(resource)) => {
            let path = path.child("resourceFieldRef");
            validate_resource_field_ref(resource, ResourceRefOwner::Volume, path, errors);
        }
        (None, None) => errors.required(path, "one of fieldRef and resourceFieldRef is required"),
    }
    validate_mode(file.mode, path.child("mode"), errors);
}
