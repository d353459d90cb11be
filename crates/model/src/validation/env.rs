//! Rules for environment variables: their names and where their values come from.

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, FileKeySelector};

use super::field_refs::{ENV_FIELDS, ResourceRefOwner, validate_field_ref, validate_resource_field_ref};
use crate::field::{Errors, Path};
use crate::text;

pub(super) fn validate_env(container: &Container, path: Path<'_>, errors: &mut Errors) {
    for (i, variable) in container.env.iter().flatten().enumerate() {
        let path = path.index(i);
        require(&variable.name, text::env_var_name, path.child("name"), errors);
        if let Some(source) = &variable.value_from {
            validate_source(variable, source, path.child("valueFrom"), errors);
        }
    }
}

fn validate_source(variable: &EnvVar, source: &EnvVarSource, path: Path<'_>, errors: &mut Errors) {
    if let Some(field) = &source.field_ref {
        validate_field_ref(field, &ENV_FIELDS, path.child("fieldRef"), errors);
    }
    if let Some(resource) = &source.resource_field_ref {
        let path = path.child("resourceFieldRef");
        validate_resource_field_ref(resource, ResourceRefOwner::Env, path, errors);
    }
    if let Some(key) = &source.config_map_key_ref {
        validate_key_ref(&key.name, &key.key, path.child("configMapKeyRef"), errors);
    }
    if let Some(key) = &source.secret_key_ref {
        validate_key_ref(&key.name, &key.key, path.child("secretKeyRef"), errors);
    }
    if let Some(file) = &source.file_key_ref {
        validate_file_key_ref(file, path.child("fileKeyRef"), errors);
    }
    let given = [
        source.field_ref.is_some(),
        source.resource_field_ref.is_some(),
        source.config_map_key_ref.is_some(),
        source.secret_key_ref.is_some(),
        source.file_key_ref.is_some(),
    ];
    let has_value = variable.value.as_deref().is_some_and(|value| !value.is_empty());
    match given.into_iter().filter(|is_given| *is_given).count() {
        0 => errors.invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ),
        _ if has_value => errors.invalid(path, "", "may not be specified when `value` is not empty"),
        1 => {}
        _ => errors.invalid(path, "", "may not have more than one field specified at a time"),
    }
}

/// A key of a config map or a secret.
fn validate_key_ref(name: &str, key: &str, path: Path<'_>, errors: &mut Errors) {
    errors.invalid_each(path.child("name"), name, &text::dns_subdomain(name));
    require(key, text::config_key, path.child("key"), errors);
}

fn validate_file_key_ref(file: &FileKeySelector, path: Path<'_>, errors: &mut Errors) {
    require(&file.key, text::env_var_name, path.child("key"), errors);
    require(&file.volume_name, text::dns_label, path.child("volumeName"), errors);
    require(&file.path, text::path_without_backsteps, path.child("path"), errors);
}

/// A text that must be there and well formed.
fn require(value: &str, check: fn(&str) -> Vec<String>, path: Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.required(path, "");
    } else {
        errors.invalid_each(path, value, &check(value));
    }
}

pub(super) fn validate_env_from(container: &Container, path: Path<'_>, errors: &mut Errors) {
    for (i, source) in container.env_from.iter().flatten().enumerate() {
        let list = path;
        let path = path.index(i);
        let prefix = source.prefix.as_deref().unwrap_or_default();
        if !prefix.is_empty() {
            errors.invalid_each(path.child("prefix"), prefix, &text::env_var_name(prefix));
        }
        if let Some(config_map) = &source.config_map_ref {
            require(&config_map.name, text::dns_subdomain_prefix, path.child("configMapRef").child("name"), errors);
        }
        if let Some(secret) = &source.secret_ref {
            require(&secret.name, text::dns_subdomain_prefix, path.child("secretRef").child("name"), errors);
        }
        // Upstream names the list here, not the element.
        match (&source.config_map_ref, &source.secret_ref) {
            (None, None) => errors.invalid(list, "", "must specify one of: `configMapRef` or `secretRef`"),
            (Some(_), Some(_)) => errors.invalid(list, "", "may not have more than one field specified at a time"),
            _ => {}
        }
    }
}
