//! Controller revisions: what stateful and daemon sets looked like before.

use k8s_openapi::api::apps::v1::ControllerRevision;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::validation::formats::{self, IMMUTABLE};
use serde_json::Value;

use crate::kind::{Facts, Kind, Scene};
use crate::table::{Column, Row, age_cell, name_cell};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Controller", "The object whose past this is."),
    Column::text("Revision", "Which of its revisions this is."),
    Column::AGE,
];

pub struct ControllerRevisions;

impl Kind for ControllerRevisions {
    type Object = ControllerRevision;

    const FACTS: Facts =
        Facts::namespaced("apps", "v1", "ControllerRevision", "controllerrevisions", "controllerrevision");

    fn validate(revision: &ControllerRevision, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        formats::not_negative(revision.revision.unwrap_or_default(), root.child("revision"), errors);
        match &revision.data.0 {
            Value::Null => errors.required(root.child("data"), "data is mandatory"),
            Value::Object(_) => {}
            _ => errors.required(root.child("data"), "data must be a valid JSON object"),
        }
    }

    fn validate_update(new: &ControllerRevision, old: &ControllerRevision, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        formats::not_negative(new.revision.unwrap_or_default(), root.child("revision"), errors);
        if new.data != old.data {
            errors.invalid(root.child("data"), new.data.0.clone(), IMMUTABLE);
        }
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(revision: &ControllerRevision, now: Moment) -> Row {
        let metadata = &revision.metadata;
        let owner = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        let controller = owner.map_or("<none>".to_owned(), |owner| {
            let kind = owner.kind.to_lowercase();
            match owner.api_version.split_once('/') {
                Some((group, _)) => format!("{kind}.{}/{}", group.to_lowercase(), owner.name),
                None => format!("{kind}/{}", owner.name),
            }
        });
        let number = revision.revision.unwrap_or_default();
        Row::of([name_cell(metadata), controller.into(), number.into(), age_cell(metadata, now)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::test_support::{assert_refused, assert_update_refused, cells, with};

    fn revision() -> Value {
        json!({"metadata": {"name": "r", "namespace": "default"}, "data": {"a": 1}, "revision": 3})
    }

    #[test]
    fn the_past_is_there_and_stays() {
        assert_refused::<ControllerRevisions>(
            &revision(),
            &[
                (json!({"data": null}), &["data: Required value: data is mandatory"]),
                (json!({"data": 5}), &["data: Required value: data must be a valid JSON object"]),
                (json!({"revision": -1}), &["revision: Invalid value: -1: must be greater than or equal to 0"]),
            ],
        );
        assert_update_refused::<ControllerRevisions>(
            &revision(),
            &[
                (json!({"revision": 4}), &[]),
                (json!({"data": {"a": 2}}), &["data: Invalid value: {\"a\":2}: field is immutable"]),
            ],
        );
    }

    #[test]
    fn a_row_names_the_controller() {
        assert_eq!(cells::<ControllerRevisions>(revision())[1], "<none>");
        let owner =
            json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": true}]);
        let owned = with(&revision(), json!({"metadata": {"ownerReferences": owner}}));
        assert_eq!(cells::<ControllerRevisions>(owned)[1..3], [json!("statefulset.apps/s"), json!(3)]);
    }
}
