//! Events as the bytes of a watch: as they lie in the cache where the client wants whole objects, else reshaped.

use bytes::Bytes;
use lifecycle::moment::Moment;
use serde_json::{Value, json};
use store::Revision;

use super::Told;
use crate::api::stored;
use crate::cache::{CLOSING, Happened, Item};
use crate::call::Call;
use crate::kind::{Facts, Served};
use crate::negotiate::{MetaVersion, Shape};
use crate::options::{IncludeObject, parse_include_object};
use crate::status::Status;
use crate::table::{Table, TableMeta, partial_object_metadata};
use crate::verbs::shape;

/// Turns changes into bytes for one client.
pub struct Teller {
    kind: &'static dyn Served,
    form: Form,
    clock: fn() -> Moment,
}

/// What the client sees of each object.
enum Form {
    AsStored,
    /// The whole object, of a kind that is stored as another.
    Converted,
    Metadata(MetaVersion),
    Rows {
        version: MetaVersion,
        include: IncludeObject,
        headers: std::cell::Cell<bool>,
    },
}

impl Teller {
    pub fn new(call: &Call, clock: fn() -> Moment) -> Result<Teller, Status> {
        let form = match call.output.shape {
            Shape::Whole | Shape::AggregatedDiscovery => match call.kind.stored_as() {
                None => Form::AsStored,
                Some(_) => Form::Converted,
            },
            Shape::PartialObjectMetadata(version) | Shape::PartialObjectMetadataList(version) => {
                Form::Metadata(version)
            }
            Shape::Table(version) => {
                let include = parse_include_object(&call.query)?;
                Form::Rows { version, include, headers: std::cell::Cell::new(true) }
            }
        };
        Ok(Teller { kind: call.kind, form, clock })
    }

    pub fn stored(&self) -> &'static Facts {
        stored(self.kind)
    }

    /// One event alone.
    pub fn single(&self, told: &Told) -> Bytes {
        let as_it_lies = matches!(self.form, Form::AsStored)
            && told.at.is_none()
            && told.item.event().starts_with(told.happened.opening());
        if as_it_lies {
            return told.item.event().clone();
        }
        let mut out = Vec::new();
        self.tell_change(told, &mut out);
        out.into()
    }

    pub fn tell_change(&self, told: &Told, out: &mut Vec<u8>) {
        match told.at {
            None => self.tell(told.happened, &told.item, out),
            Some(revision) => {
                let moved = Item::new(&told.item.key, told.happened, &told.item.stored(), revision);
                self.tell(told.happened, &moved, out);
            }
        }
    }

    /// Appends one event.
    pub fn tell(&self, happened: Happened, item: &Item, out: &mut Vec<u8>) {
        out.extend_from_slice(happened.opening());
        match &self.form {
            Form::AsStored => out.extend_from_slice(item.object_bytes()),
            Form::Converted | Form::Metadata(_) | Form::Rows { .. } => {
                out.extend_from_slice(self.reshaped(item).to_string().as_bytes());
            }
        }
        out.extend_from_slice(CLOSING);
    }

    fn reshaped(&self, item: &Item) -> Value {
        let mut value = item.to_value();
        if let Some(stored) = self.kind.stored_as() {
            value = (stored.from_stored)(value);
        }
        let decode = |value: &Value| self.kind.decode(value).ok().map(|decoded| decoded.object);
        match &self.form {
            Form::AsStored | Form::Converted => value,
            Form::Metadata(version) => match decode(&value) {
                Some(object) => partial_object_metadata(object.meta(), *version),
                None => value,
            },
            Form::Rows { version, include, headers } => match decode(&value) {
                Some(object) => {
                    let row = shape::row(self.kind, &*object, *include, *version, (self.clock)());
                    let meta = TableMeta { resource_version: Some(item.revision.to_string()), ..TableMeta::default() };
                    let mut table = Table::new(*version, self.kind.columns(), meta);
                    table.rows.push(row);
                    let table = if headers.replace(false) { table } else { table.without_headers() };
                    serde_json::to_value(table).unwrap_or_default()
                }
                None => value,
            },
        }
    }

    /// Tells how far the watch has come.
    pub fn bookmark(&self, told: Revision) -> Bytes {
        self.mark(&json!({ "resourceVersion": told.to_string(), "creationTimestamp": null }))
    }

    /// Tells that everything that was there at the beginning has been told.
    pub fn initial_events_end(&self, version: Revision) -> Bytes {
        self.mark(&json!({
            "resourceVersion": version.to_string(),
            "creationTimestamp": null,
            "annotations": { "k8s.io/initial-events-end": "true" },
        }))
    }

    fn mark(&self, metadata: &Value) -> Bytes {
        let facts = self.kind.facts();
        let object = match &self.form {
            Form::AsStored | Form::Converted => {
                json!({ "kind": facts.kind, "apiVersion": facts.api_version(), "metadata": metadata })
            }
            Form::Metadata(version) => json!({
                "kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata,
            }),
            Form::Rows { version, .. } => {
                let object = json!({
                    "kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata,
                });
                json!({
                    "kind": "Table",
                    "apiVersion": version.api_version(),
                    "metadata": { "resourceVersion": metadata["resourceVersion"] },
                    "columnDefinitions": null,
                    "rows": [{ "cells": self.kind.columns().iter().map(|_| "").collect::<Vec<_>>(), "object": object }],
                })
            }
        };
        event("BOOKMARK", &object)
    }
}

/// Tells that the watch cannot go on.
pub fn error(status: &Status) -> Bytes {
    event("ERROR", &serde_json::from_slice(&status.to_json()).unwrap_or_default())
}

fn event(happened: &str, object: &Value) -> Bytes {
    let mut out = json!({ "type": happened, "object": object }).to_string().into_bytes();
    out.push(b'\n');
    out.into()
}
