//! Events of the core group: what happened to an object, as clients report it.

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::validation::formats;

use crate::kind::{Facts, Kind, NameRule, Scene, SelectableFields, UpdateRule};
use crate::table::{Column, Row, human, name_cell, since};

const LENGTH_MAX: usize = 128;
const MESSAGE_MAX: usize = 1024;
const MISMATCH: &str = "does not match event.namespace";

pub const COLUMNS: &[Column] = &[
    Column::text("Last Seen", "How long ago it happened the last time."),
    Column::text("Type", "Whether it is normal or a warning."),
    Column::text("Reason", "Why it happened, in one word."),
    Column::text("Object", "What it happened to."),
    Column::text("Subobject", "Which part of the object it happened to.").wide(),
    Column::text("Source", "Who reports it.").wide(),
    Column::text("Message", "What happened."),
    Column::text("First Seen", "How long ago it happened the first time.").wide(),
    Column::text("Count", "How often it happened.").wide(),
    Column::NAME.wide(),
];

pub struct Events;

impl Kind for Events {
    type Object = Event;

    const FACTS: Facts = Facts {
        short_names: &["ev"],
        names: NameRule::PathSegment,
        update: UpdateRule { may_create: true, may_skip_version: true },
        ..Facts::namespaced("", "v1", "Event", "events", "event")
    };

    fn validate(event: &Event, _scene: &Scene, errors: &mut Errors) {
        validate_event(event, "reportingComponent", errors);
    }

    fn validate_update(new: &Event, _old: &Event, scene: &Scene, errors: &mut Errors) {
        Self::validate(new, scene, errors);
    }

    fn selectable_fields(event: &Event) -> SelectableFields {
        let object = event.involved_object.clone();
        let controller = event.reporting_component.clone().unwrap_or_default();
        let component = event.source.as_ref().and_then(|source| source.component.clone()).unwrap_or_default();
        let source = if component.is_empty() { controller.clone() } else { component };
        vec![
            ("involvedObject.kind", object.kind.unwrap_or_default().into()),
            ("involvedObject.namespace", object.namespace.unwrap_or_default().into()),
            ("involvedObject.name", object.name.unwrap_or_default().into()),
            ("involvedObject.uid", object.uid.unwrap_or_default().into()),
            ("involvedObject.apiVersion", object.api_version.unwrap_or_default().into()),
            ("involvedObject.resourceVersion", object.resource_version.unwrap_or_default().into()),
            ("involvedObject.fieldPath", object.field_path.unwrap_or_default().into()),
            ("reason", event.reason.clone().unwrap_or_default().into()),
            ("reportingComponent", controller.into()),
            ("source", source.into()),
            ("type", event.type_.clone().unwrap_or_default().into()),
        ]
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(event: &Event, now: Moment) -> Row {
        let micro = |time: Option<&MicroTime>| match time {
            None => "<unknown>".to_owned(),
            Some(time) => human(now.millis().saturating_sub(time.0.as_millisecond())),
        };
        let first = match &event.first_timestamp {
            Some(time) => since(Some(time), now),
            None => micro(event.event_time.as_ref()),
        };
        let (last, count) = match (&event.series, &event.last_timestamp) {
            (Some(series), _) => (micro(series.last_observed_time.as_ref()), series.count.unwrap_or_default()),
            (None, Some(time)) => (since(Some(time), now), event.count.unwrap_or_default().max(1)),
            (None, None) => (first.clone(), event.count.unwrap_or_default().max(1)),
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Row::of([
            last.into(),
            text(&event.type_).into(),
            text(&event.reason).into(),
            object_shown(event).into(),
            text(&event.involved_object.field_path).into(),
            source_shown(event).into(),
            text(&event.message).trim().into(),
            first.into(),
            count.into(),
            name_cell(&event.metadata),
        ])
    }
}

fn object_shown(event: &Event) -> String {
    let kind = event.involved_object.kind.as_deref().unwrap_or_default().to_lowercase();
    match event.involved_object.name.as_deref().unwrap_or_default() {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source_shown(event: &Event) -> String {
    let source = event.source.clone().unwrap_or_default();
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let component = given(&source.component).or_else(|| given(&event.reporting_component)).unwrap_or_default();
    match given(&source.host).or_else(|| given(&event.reporting_instance)) {
        Some(instance) => format!("{component}, {instance}"),
        None => component,
    }
}

/// Events with a time of their own are of the newer form, which asks for more.
pub fn validate_event(event: &Event, controller_field: &str, errors: &mut Errors) {
    let root = Path::root();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (own, of_object) = (text(&event.metadata.namespace), text(&event.involved_object.namespace));
    let fits = match (event.event_time.is_some(), of_object.as_str()) {
        (false, "") => matches!(own.as_str(), "" | "default"),
        (false, namespace) => own == namespace,
        (true, "") => matches!(own.as_str(), "default" | "kube-system"),
        (true, _) => true,
    };
    if !fits {
        errors.invalid(root.child("involvedObject.namespace"), of_object, MISMATCH);
    }
    if event.event_time.is_none() {
        return;
    }
    let controller = text(&event.reporting_component);
    formats::given(&controller, root.child(controller_field), errors);
    formats::qualified_name(&controller, root.child(controller_field), errors);
    for (field, text) in [
        ("reportingInstance", text(&event.reporting_instance)),
        ("action", text(&event.action)),
        ("reason", text(&event.reason)),
    ] {
        formats::given(&text, root.child(field), errors);
        validate_length(&text, LENGTH_MAX, root.child(field), errors);
    }
    validate_length(&text(&event.message), MESSAGE_MAX, root.child("message"), errors);
}

fn validate_length(text: &str, most: usize, path: Path<'_>, errors: &mut Errors) {
    if text.len() > most {
        errors.invalid(path, "", &format!("can have at most {most} characters"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, read, with};

    fn event() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default", "fieldPath": "spec"},
            "reason": "Killing", "message": " stopped ", "type": "Normal", "source": {"component": "kubelet", "host": "n"},
        })
    }

    #[test]
    fn events_belong_to_the_namespace_of_their_object() {
        let elsewhere = "involvedObject.namespace: Invalid value: \"x\": does not match event.namespace";
        assert_refused::<Events>(
            &event(),
            &[
                (json!({"involvedObject": {"namespace": "x"}}), &[elsewhere]),
                (json!({"involvedObject": {"namespace": null}}), &[]),
                (
                    json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": null}}),
                    &["involvedObject.namespace: Invalid value: \"\": does not match event.namespace"],
                ),
                (
                    json!({"eventTime": "1970-01-01T00:00:00.000000Z", "reportingComponent": "a", "message": "x".repeat(1025)}),
                    &[
                        "reportingInstance: Required value",
                        "action: Required value",
                        "message: Invalid value: \"\": can have at most 1024 characters",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn a_row_shows_when_and_how_often() {
        let times =
            json!({"firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:59:00Z", "count": 4});
        let expected = json!(["60s", "Normal", "Killing", "pod/p", "spec", "kubelet, n", "stopped", "60m", 4, "e"]);
        assert_eq!(Value::from(cells::<Events>(with(&event(), times))), expected);
        let series = json!({"eventTime": "1970-01-01T00:00:00.000000Z", "series": {"count": 7, "lastObservedTime": "1970-01-01T00:59:59.000000Z"}});
        let shown = cells::<Events>(with(&event(), series));
        assert_eq!((&shown[0], &shown[7], &shown[8]), (&json!("1s"), &json!("60m"), &json!(7)));
        let shown = cells::<Events>(event());
        assert_eq!((&shown[0], &shown[8]), (&json!("<unknown>"), &json!(1)));
    }

    #[test]
    fn events_are_selected_by_their_object() {
        let fields = Events::selectable_fields(&read::<Events>(event()));
        for expected in [("involvedObject.name", "p"), ("source", "kubelet"), ("reason", "Killing"), ("type", "Normal")]
        {
            assert!(fields.iter().any(|(field, value)| (*field, value.as_ref()) == expected), "{expected:?}");
        }
    }
}
