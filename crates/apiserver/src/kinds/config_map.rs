//! ConfigMaps: settings for pods, as text and as bytes.

use k8s_openapi::api::core::v1::ConfigMap;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::text;

use crate::kind::{Facts, Kind, Scene};
use crate::table::{Column, Row, age_cell, name_cell};

/// All keys and values of one object together.
const MAX_BYTES: usize = 1024 * 1024;

const COLUMNS: &[Column] =
    &[Column::NAME, Column::text("Data", "How many entries there are, texts and bytes together."), Column::AGE];

pub struct ConfigMaps;

impl Kind for ConfigMaps {
    type Object = ConfigMap;

    const FACTS: Facts =
        Facts { short_names: &["cm"], ..Facts::namespaced("", "v1", "ConfigMap", "configmaps", "configmap") };

    fn validate(object: &ConfigMap, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        let (texts, blobs) = (object.data.as_ref(), object.binary_data.as_ref());
        let mut bytes = 0;
        for (key, value) in texts.into_iter().flatten() {
            let path = root.child("data");
            let path = path.key(key);
            report_key(key, path, errors);
            if blobs.is_some_and(|blobs| blobs.contains_key(key)) {
                errors.invalid(path, key.as_str(), "duplicate of key present in binaryData");
            }
            bytes += value.len();
        }
        for (key, value) in blobs.into_iter().flatten() {
            let path = root.child("binaryData");
            report_key(key, path.key(key), errors);
            bytes += value.0.len();
        }
        if bytes > MAX_BYTES {
            errors.too_long(root, MAX_BYTES);
        }
    }

    fn validate_update(new: &ConfigMap, old: &ConfigMap, scene: &Scene, errors: &mut Errors) {
        if old.immutable == Some(true) {
            let root = Path::root();
            if new.immutable != Some(true) {
                errors.forbidden(root.child("immutable"), "field is immutable when `immutable` is set");
            }
            if new.data != old.data {
                errors.forbidden(root.child("data"), "field is immutable when `immutable` is set");
            }
            if new.binary_data != old.binary_data {
                errors.forbidden(root.child("binaryData"), "field is immutable when `immutable` is set");
            }
        }
        Self::validate(new, scene, errors);
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(object: &ConfigMap, now: Moment) -> Row {
        let texts = object.data.as_ref().map_or(0, std::collections::BTreeMap::len);
        let blobs = object.binary_data.as_ref().map_or(0, std::collections::BTreeMap::len);
        let metadata = &object.metadata;
        Row::of([name_cell(metadata), (texts + blobs).into(), age_cell(metadata, now)])
    }
}

fn report_key(key: &str, path: Path<'_>, errors: &mut Errors) {
    for complaint in text::config_key(key) {
        errors.invalid(path, key, &complaint);
    }
}
