//! Events of `events.k8s.io`: the same objects as those of the core group, under other names.

use k8s_openapi::api::core::v1::Event as CoreEvent;
use k8s_openapi::api::events::v1::Event;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::validation::formats::IMMUTABLE;
use serde_json::{Map, Value, json};

use super::event::{COLUMNS, Events, validate_event};
use crate::kind::{Facts, Kind, Scene, SelectableFields, Stored, UpdateRule};
use crate::table::{Column, Row};

/// Fields whose names differ: here, and in the core group.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

pub struct EventsV1;

impl Kind for EventsV1 {
    type Object = Event;

    const FACTS: Facts = Facts {
        short_names: &["ev"],
        update: UpdateRule { may_create: true, may_skip_version: true },
        ..Facts::namespaced("events.k8s.io", "v1", "Event", "events", "event")
    };

    const STORED_AS: Option<Stored> = Some(Stored { facts: &Events::FACTS, to_stored, from_stored });

    fn validate(event: &Event, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        let core = as_core(event);
        validate_event(&core, "reportingController", errors);
        validate_series(event, errors);
        if core.event_time.is_none() {
            errors.required(root.child("eventTime"), "");
        }
        let kind = core.type_.unwrap_or_default();
        if !matches!(kind.as_str(), "Normal" | "Warning") {
            errors.invalid(root.child("type"), "", &format!("has invalid value: {kind}"));
        }
        let source = core.source.unwrap_or_default();
        let given = |text: Option<String>| text.is_some_and(|text| !text.is_empty());
        let old_fields = [
            ("firstTimestamp", core.first_timestamp.is_some()),
            ("lastTimestamp", core.last_timestamp.is_some()),
            ("count", core.count.unwrap_or_default() != 0),
            ("source", given(source.component) || given(source.host)),
        ];
        for (field, _) in old_fields.into_iter().filter(|(_, used)| *used) {
            errors.invalid(root.child(field), "", "needs to be unset");
        }
    }

    /// Only the series goes on.
    fn validate_update(new: &Event, old: &Event, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        validate_event(&as_core(new), "reportingController", errors);
        if new.series != old.series {
            validate_series(new, errors);
        }
        let (new, old) = (to_stored(json!(new)), to_stored(json!(old)));
        let fields = [
            ("involvedObject", "involvedObject"),
            ("reason", "reason"),
            ("message", "message"),
            ("source", "source"),
            ("firstTimestamp", "firstTimestamp"),
            ("lastTimestamp", "lastTimestamp"),
            ("count", "count"),
            ("type", "type"),
            ("eventTime", "eventTime"),
            ("action", "action"),
            ("related", "related"),
            ("reportingComponent", "reportingController"),
            ("reportingInstance", "reportingInstance"),
        ];
        for (stored, shown) in fields {
            if new[stored] != old[stored] {
                errors.invalid(root.child(shown), new[stored].clone(), IMMUTABLE);
            }
        }
    }

    fn selectable_fields(event: &Event) -> SelectableFields {
        Events::selectable_fields(&as_core(event))
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(event: &Event, now: Moment) -> Row {
        Events::row(&as_core(event), now)
    }
}

fn as_core(event: &Event) -> CoreEvent {
    serde_json::from_value(to_stored(json!(event))).expect("both forms hold the same fields")
}

fn validate_series(event: &Event, errors: &mut Errors) {
    if event.series.as_ref().is_some_and(|series| series.count < 2) {
        errors.invalid(Path::root().child("series.count"), "", "should be at least 2");
    }
}

fn to_stored(event: Value) -> Value {
    renamed(event, "v1", RENAMED)
}

fn from_stored(event: Value) -> Value {
    renamed(event, "events.k8s.io/v1", RENAMED.map(|(here, core)| (core, here)))
}

fn renamed(event: Value, api_version: &str, names: [(&str, &str); 7]) -> Value {
    let Value::Object(fields) = event else { return event };
    let mut event: Map<String, Value> = fields
        .into_iter()
        .map(|(field, value)| match names.iter().find(|(from, _)| *from == field) {
            Some((_, to)) => ((*to).to_owned(), value),
            None => (field, value),
        })
        .collect();
    event.insert("apiVersion".to_owned(), api_version.into());
    // The core form requires an object, the other one leaves an empty one out.
    if api_version == "v1" {
        event.entry("involvedObject").or_insert_with(|| json!({}));
    } else if event.get("regarding").is_some_and(|object| *object == json!({})) {
        event.remove("regarding");
    }
    Value::Object(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{assert_refused, assert_update_refused, cells, read, with};

    fn event() -> Value {
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "eventTime": "1970-01-01T00:00:00.000000Z",
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
            "reportingController": "kubelet", "reportingInstance": "n", "action": "Stop",
            "reason": "Killing", "note": "stopped", "type": "Normal",
        })
    }

    #[test]
    fn every_field_has_its_place_in_the_other_form() {
        let old = json!({
            "deprecatedSource": {"component": "c"}, "deprecatedFirstTimestamp": "1970-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "1970-01-01T00:00:01Z", "deprecatedCount": 2,
            "series": {"count": 3, "lastObservedTime": "1970-01-01T00:00:00.000000Z"}, "related": {"name": "r"},
        });
        let full = with(&event(), old);
        let stored = to_stored(full.clone());
        assert_eq!((&stored["apiVersion"], &stored["message"]), (&json!("v1"), &json!("stopped")));
        assert_eq!((&stored["source"]["component"], &stored["count"]), (&json!("c"), &json!(2)));
        assert_eq!(
            (&stored["reportingComponent"], &stored["involvedObject"]["name"]),
            (&json!("kubelet"), &json!("p"))
        );
        assert_eq!(from_stored(stored.clone()), full);
        let core: CoreEvent = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(json!(core), stored);
    }

    #[test]
    fn the_newer_form_asks_for_more() {
        assert_refused::<EventsV1>(
            &event(),
            &[
                (json!({"eventTime": null}), &["eventTime: Required value"]),
                (json!({"type": "X"}), &["type: Invalid value: \"\": has invalid value: X"]),
                (json!({"deprecatedCount": 1}), &["count: Invalid value: \"\": needs to be unset"]),
                (
                    json!({"series": {"count": 1, "lastObservedTime": "1970-01-01T00:00:00.000000Z"}}),
                    &["series.count: Invalid value: \"\": should be at least 2"],
                ),
                (json!({"reportingInstance": ""}), &["reportingInstance: Required value"]),
            ],
        );
    }

    #[test]
    fn only_the_series_goes_on() {
        assert_update_refused::<EventsV1>(
            &event(),
            &[
                (json!({"series": {"count": 2, "lastObservedTime": "1970-01-01T00:00:00.000000Z"}}), &[]),
                (json!({"note": "x"}), &["message: Invalid value: \"x\": field is immutable"]),
                (json!({"reportingInstance": "m"}), &["reportingInstance: Invalid value: \"m\": field is immutable"]),
            ],
        );
    }

    #[test]
    fn rows_and_fields_are_those_of_the_core_form() {
        let expected = json!(["60m", "Normal", "Killing", "pod/p", "", "kubelet, n", "stopped", "60m", 1, "e"]);
        assert_eq!(Value::from(cells::<EventsV1>(event())), expected);
        let fields = EventsV1::selectable_fields(&read::<EventsV1>(event()));
        assert!(fields.contains(&("involvedObject.name", "p".into())));
    }
}
