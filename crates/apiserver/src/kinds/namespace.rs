//! Namespaces. What their deletion does is not decided here, only which finalizers hold it up.

use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lifecycle::deletion::Kept;
use lifecycle::moment::Moment;
use model::defaults::fill;
use model::field::{Errors, Path};
use model::validation::formats;
use serde_json::Value;

use crate::kind::{DeleteAnswer, Facts, Kind, NameRule, Part, Scene, SelectableFields, Subresource};
use crate::table::{Column, Row, age_cell, name_cell};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const KUBERNETES: &str = "kubernetes";
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = [KUBERNETES, "orphan", "foregroundDeletion"];
const ACTIVE: &str = "Active";
const TERMINATING: &str = "Terminating";

const COLUMNS: &[Column] =
    &[Column::NAME, Column::text("Status", "Whether the namespace is in use or being deleted."), Column::AGE];

pub struct Namespaces;

impl Kind for Namespaces {
    type Object = Namespace;

    const FACTS: Facts = Facts {
        short_names: &["ns"],
        names: NameRule::DnsLabel,
        subresources: &[Subresource::STATUS, Subresource::Part(Part::Finalize)],
        delete_answer: DeleteAnswer::Object,
        ..Facts::cluster("", "v1", "Namespace", "namespaces", "namespace")
    };

    fn default(namespace: &mut Namespace) {
        label_with_name(&mut namespace.metadata);
        fill(&mut namespace.status.get_or_insert_default().phase, ACTIVE);
    }

    fn prepare_for_create(namespace: &mut Namespace, _scene: &Scene) {
        // A generated name is not known before.
        label_with_name(&mut namespace.metadata);
        namespace.status = Some(NamespaceStatus { phase: Some(ACTIVE.to_owned()), ..NamespaceStatus::default() });
        let finalizers = namespace.spec.get_or_insert_default().finalizers.get_or_insert_default();
        if !finalizers.iter().any(|finalizer| finalizer == KUBERNETES) {
            finalizers.push(KUBERNETES.to_owned());
        }
    }

    fn validate(namespace: &Namespace, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        for finalizer in finalizers(namespace) {
            validate_finalizer(finalizer, root.child("spec.finalizers"), errors);
        }
    }

    fn kept_by(namespace: &Namespace) -> Kept {
        if finalizers(namespace).is_empty() { Kept::ByNothing } else { Kept::ByContent }
    }

    fn prepare_for_deletion(namespace: &mut Namespace) {
        namespace.status.get_or_insert_default().phase = Some(TERMINATING.to_owned());
    }

    fn prepare_for_update(new: &mut Namespace, old: &Namespace, _scene: &Scene) {
        new.spec.clone_from(&old.spec);
        new.status.clone_from(&old.status);
    }

    fn validate_update(_new: &Namespace, _old: &Namespace, _scene: &Scene, _errors: &mut Errors) {}

    fn prepare_for_part_update(part: Part, new: &mut Namespace, old: &Namespace, _scene: &Scene) {
        match part {
            Part::Status => new.spec.clone_from(&old.spec),
            Part::Finalize => new.status.clone_from(&old.status),
            Part::EphemeralContainers => *new = old.clone(),
        }
    }

    fn validate_part_update(part: Part, new: &Namespace, _old: &Namespace, _scene: &Scene, errors: &mut Errors) {
        match part {
            Part::Status => validate_phase(new, errors),
            Part::Finalize => {
                let root = Path::root();
                let path = root.child("spec.finalizers");
                for (i, finalizer) in finalizers(new).iter().enumerate() {
                    validate_finalizer(finalizer, path.index(i), errors);
                }
            }
            Part::EphemeralContainers => {}
        }
    }

    fn selectable_fields(namespace: &Namespace) -> SelectableFields {
        vec![("status.phase", phase(namespace).to_owned().into())]
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(namespace: &Namespace, now: Moment) -> Row {
        let metadata = &namespace.metadata;
        Row::of([name_cell(metadata), phase(namespace).into(), age_cell(metadata, now)])
    }
}

fn label_with_name(metadata: &mut ObjectMeta) {
    if let Some(name) = metadata.name.as_ref().filter(|name| !name.is_empty()) {
        metadata.labels.get_or_insert_default().insert(NAME_LABEL.to_owned(), name.clone());
    }
}

fn finalizers(namespace: &Namespace) -> &[String] {
    namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_deref()).unwrap_or_default()
}

fn phase(namespace: &Namespace) -> &str {
    namespace.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn validate_finalizer(finalizer: &str, path: Path<'_>, errors: &mut Errors) {
    formats::qualified_name(finalizer, path, errors);
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        errors.invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/// The phase says whether the namespace is being deleted, and nothing else.
fn validate_phase(namespace: &Namespace, errors: &mut Errors) {
    let root = Path::root();
    let (required, when) = match namespace.metadata.deletion_timestamp {
        None => (ACTIVE, "empty"),
        Some(_) => (TERMINATING, "not empty"),
    };
    if phase(namespace) != required {
        let detail = format!("may only be '{required}' if `deletionTimestamp` is {when}");
        errors.invalid(root.child("status.Phase"), Value::from(phase(namespace)), &detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::test_support::{
        assert_refused, cells, created, part_errors, part_errors_over, prepared_part, updated, with,
    };

    fn namespace() -> Value {
        json!({"metadata": {"name": "a"}})
    }

    #[test]
    fn a_new_namespace_is_active_labelled_and_held_by_its_finalizer() {
        let sent = with(&namespace(), json!({"spec": {"finalizers": ["a.b/c"]}, "status": {"phase": "Terminating"}}));
        let namespace = created::<Namespaces>(sent);
        assert_eq!(finalizers(&namespace), ["a.b/c", "kubernetes"]);
        assert_eq!(phase(&namespace), "Active");
        assert_eq!(namespace.metadata.labels.unwrap()[NAME_LABEL], "a");
        assert_eq!(finalizers(&created::<Namespaces>(self::namespace())), ["kubernetes"]);
    }

    #[test]
    fn names_and_finalizers_are_checked() {
        assert_refused::<Namespaces>(
            &namespace(),
            &[
                (
                    json!({"spec": {"finalizers": ["mine"]}}),
                    &[
                        "spec.finalizers: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified",
                    ],
                ),
                (json!({"metadata": {"namespace": "b"}}), &["metadata.namespace: Forbidden: not allowed on this type"]),
            ],
        );
    }

    #[test]
    fn an_update_reaches_only_its_part() {
        let sent =
            with(&namespace(), json!({"spec": {"finalizers": []}, "status": {"phase": "Active", "conditions": []}}));
        let whole = updated::<Namespaces>(sent.clone(), namespace());
        assert_eq!(finalizers(&whole), ["kubernetes"]);
        let finalized = prepared_part::<Namespaces>(Part::Finalize, sent.clone(), namespace());
        assert_eq!((finalizers(&finalized), phase(&finalized)), (&[][..], "Active"));
        let status = prepared_part::<Namespaces>(Part::Status, sent, namespace());
        assert_eq!(finalizers(&status), ["kubernetes"]);
    }

    #[test]
    fn the_phase_follows_the_deletion() {
        let terminating = with(&namespace(), json!({"status": {"phase": "Terminating"}}));
        assert_eq!(
            part_errors::<Namespaces>(Part::Status, terminating.clone(), namespace()),
            ["status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"]
        );
        let mut deleted = created::<Namespaces>(namespace());
        deleted.metadata.deletion_timestamp = Some(Moment::from_millis(0).whole_second());
        assert_eq!(part_errors_over::<Namespaces>(Part::Status, terminating, &deleted), [""; 0]);
        assert_eq!(
            part_errors_over::<Namespaces>(Part::Status, namespace(), &deleted),
            ["status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"]
        );
    }

    #[test]
    fn a_row_shows_the_phase() {
        assert_eq!(cells::<Namespaces>(namespace()), [json!("a"), json!("Active"), json!("60m")]);
    }
}
