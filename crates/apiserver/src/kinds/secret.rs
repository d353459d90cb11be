//! Secrets: bytes for pods, with types that say which keys there must be.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use lifecycle::moment::Moment;
use model::defaults::fill;
use model::field::{Errors, Path};
use model::text;
use model::validation::formats::IMMUTABLE;
use serde_json::Value;

use crate::kind::{Facts, Kind, Scene, SelectableFields};
use crate::table::{Column, Row, age_cell, name_cell};

/// All values of one object together.
const MAX_BYTES: usize = 1024 * 1024;
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const REDACTED: &str = "<secret contents redacted>";

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Type", "What the secret is for."),
    Column::text("Data", "How many entries there are."),
    Column::AGE,
];

pub struct Secrets;

impl Kind for Secrets {
    type Object = Secret;

    const FACTS: Facts = Facts::namespaced("", "v1", "Secret", "secrets", "secret");

    /// Texts are a way to write values, not to store them.
    fn default(secret: &mut Secret) {
        fill(&mut secret.type_, "Opaque");
        for (key, text) in secret.string_data.take().into_iter().flatten() {
            secret.data.get_or_insert_default().insert(key, ByteString(text.into_bytes()));
        }
    }

    fn validate(secret: &Secret, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        let path = root.child("data");
        let no_data = BTreeMap::new();
        let data = secret.data.as_ref().unwrap_or(&no_data);
        for key in data.keys() {
            for complaint in text::config_key(key) {
                errors.invalid(path.key(key), key.as_str(), &complaint);
            }
        }
        if data.values().map(|value| value.0.len()).sum::<usize>() > MAX_BYTES {
            errors.too_long(path, MAX_BYTES);
        }
        validate_type(secret, data, path, errors);
    }

    fn validate_update(new: &Secret, old: &Secret, scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        if new.type_ != old.type_ {
            errors.invalid(root.child("type"), Value::from(type_of(new)), IMMUTABLE);
        }
        if old.immutable == Some(true) {
            if new.immutable != Some(true) {
                errors.forbidden(root.child("immutable"), "field is immutable when `immutable` is set");
            }
            if new.data != old.data {
                errors.forbidden(root.child("data"), "field is immutable when `immutable` is set");
            }
        }
        Self::validate(new, scene, errors);
    }

    fn selectable_fields(secret: &Secret) -> SelectableFields {
        vec![("type", type_of(secret).to_owned().into())]
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(secret: &Secret, now: Moment) -> Row {
        let (metadata, entries) = (&secret.metadata, secret.data.as_ref().map_or(0, BTreeMap::len));
        Row::of([name_cell(metadata), type_of(secret).into(), entries.into(), age_cell(metadata, now)])
    }
}

fn type_of(secret: &Secret) -> &str {
    secret.type_.as_deref().unwrap_or_default()
}

/// Each known type has keys of its own; others may hold what they like.
fn validate_type(secret: &Secret, data: &BTreeMap<String, ByteString>, path: Path<'_>, errors: &mut Errors) {
    match type_of(secret) {
        "kubernetes.io/service-account-token" => {
            let annotations = secret.metadata.annotations.as_ref();
            if annotations.and_then(|annotations| annotations.get(ACCOUNT_NAME)).is_none_or(String::is_empty) {
                errors.required(Path::root().child("metadata.annotations").key(ACCOUNT_NAME), "");
            }
        }
        "kubernetes.io/dockercfg" => validate_json(data, ".dockercfg", path, errors),
        "kubernetes.io/dockerconfigjson" => validate_json(data, ".dockerconfigjson", path, errors),
        "kubernetes.io/basic-auth" if !data.contains_key("username") && !data.contains_key("password") => {
            errors.required(path.key("username"), "");
            errors.required(path.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if data.get("ssh-privatekey").is_none_or(|key| key.0.is_empty()) => {
            errors.required(path.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"].into_iter().filter(|key| !data.contains_key(*key)) {
                errors.required(path.key(key), "");
            }
        }
        _ => {}
    }
}

fn validate_json(data: &BTreeMap<String, ByteString>, key: &str, path: Path<'_>, errors: &mut Errors) {
    match data.get(key).map(|value| serde_json::from_slice::<serde_json::Map<String, Value>>(&value.0)) {
        None => errors.required(path.key(key), ""),
        // The words of the parser may hold parts of the secret, so they are not passed on.
        Some(Err(_)) => errors.invalid(path.key(key), REDACTED, "must be a JSON object"),
        Some(Ok(_)) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::test_support::{assert_refused, assert_update_refused, cells, defaulted, with};

    fn secret() -> Value {
        json!({"metadata": {"name": "s", "namespace": "default"}})
    }

    #[test]
    fn texts_become_bytes_and_win() {
        let sent = with(&secret(), json!({"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "z"}}));
        let secret = defaulted::<Secrets>(sent);
        let data = secret.data.unwrap();
        assert_eq!((data["a"].0.as_slice(), data["b"].0.as_slice()), (&b"z"[..], &b"y"[..]));
        assert_eq!((secret.string_data, secret.type_.as_deref()), (None, Some("Opaque")));
    }

    #[test]
    fn each_type_has_its_keys() {
        let required = |key: &str| format!("data[{key}]: Required value");
        let (tls, key) = (required("tls.crt"), required("tls.key"));
        let (user, password) = (required("username"), required("password"));
        let (ssh, docker) = (required("ssh-privatekey"), required(".dockerconfigjson"));
        assert_refused::<Secrets>(
            &secret(),
            &[
                (json!({"type": "my/own"}), &[]),
                (json!({"type": "kubernetes.io/tls"}), &[&tls, &key]),
                (json!({"type": "kubernetes.io/tls", "stringData": {"tls.crt": "", "tls.key": ""}}), &[]),
                (json!({"type": "kubernetes.io/basic-auth"}), &[&user, &password]),
                (json!({"type": "kubernetes.io/basic-auth", "stringData": {"password": ""}}), &[]),
                (json!({"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": ""}}), &[&ssh]),
                (json!({"type": "kubernetes.io/dockerconfigjson"}), &[&docker]),
                (
                    json!({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "password"}}),
                    &["data[.dockercfg]: Invalid value: \"<secret contents redacted>\": must be a JSON object"],
                ),
                (json!({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "{}"}}), &[]),
                (
                    json!({"type": "kubernetes.io/service-account-token"}),
                    &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
                ),
                (json!({"stringData": {"big": "x".repeat(MAX_BYTES)}}), &[]),
                (
                    json!({"stringData": {"big": "x".repeat(MAX_BYTES), "b": "x"}}),
                    &["data: Too long: may not be more than 1048576 bytes"],
                ),
            ],
        );
    }

    #[test]
    fn types_never_change_and_immutable_secrets_neither() {
        let old = with(&secret(), json!({"immutable": true, "data": {"a": "eA=="}}));
        assert_update_refused::<Secrets>(
            &old,
            &[
                (json!({"metadata": {"labels": {"a": "b"}}}), &[]),
                (json!({"type": "other"}), &["type: Invalid value: \"other\": field is immutable"]),
                (json!({"data": null}), &["data: Forbidden: field is immutable when `immutable` is set"]),
                (json!({"immutable": false}), &["immutable: Forbidden: field is immutable when `immutable` is set"]),
            ],
        );
    }

    #[test]
    fn a_row_shows_the_type_and_counts_entries() {
        let sent = with(&secret(), json!({"data": {"a": "eA=="}}));
        assert_eq!(cells::<Secrets>(sent), [json!("s"), json!("Opaque"), json!(1), json!("60m")]);
    }
}
