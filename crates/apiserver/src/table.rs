//! What `kubectl get` prints: the `Table` object, one file per kind that has columns of its own.
//!
//! A kind says which columns it has and what stands in the cells of one object; putting rows together, with or without
//! their objects, is the same for all. Time is an argument, because ages are text here.

mod age;
mod cells;
mod generic;
mod pod;
#[cfg(test)]
mod pod_tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lifecycle::moment::Moment;
use serde::Serialize;
use serde_json::Value;

pub use age::{human, short_human, since};
pub use cells::{container_cells, labels_cell, or_none, selector_cell, some_of};
pub use generic::{GENERIC_COLUMNS, generic_row};
pub use pod::{POD_COLUMNS, pod_row};

use crate::negotiate::MetaVersion;

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    pub name: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub format: &'static str,
    pub description: &'static str,
    /// Shown always if 0, with `-o wide` if more.
    pub priority: i32,
}

impl Column {
    /// A column of text that is always shown.
    pub const fn text(name: &'static str, description: &'static str) -> Column {
        Column { name, kind: "string", format: "", description, priority: 0 }
    }

    /// A column of whole numbers that is always shown.
    pub const fn integer(name: &'static str, description: &'static str) -> Column {
        Column { kind: "integer", ..Column::text(name, description) }
    }

    /// A column of yes or no that is always shown.
    pub const fn boolean(name: &'static str, description: &'static str) -> Column {
        Column { kind: "boolean", ..Column::text(name, description) }
    }

    /// The same, only for those who want more.
    #[must_use]
    pub const fn wide(self) -> Column {
        Column { priority: 1, ..self }
    }

    /// The name of the object, which every table begins with.
    pub const NAME: Column = Column {
        format: "name",
        ..Column::text("Name", "The name of the object, unique among its kind in a namespace.")
    };

    /// How long ago the object was created.
    pub const AGE: Column = Column::text("Age", "How long ago the object was created.");

    /// The containers of a template, by name.
    pub const CONTAINERS: Column = Column::text("Containers", "The names of the containers in the template.").wide();

    /// The images of a template's containers.
    pub const IMAGES: Column = Column::text("Images", "The images of the containers in the template.").wide();

    /// The pods that an object means.
    pub const SELECTOR: Column = Column::text("Selector", "Which pods the object means, by their labels.").wide();
}

/// Something clients may know about a row without understanding its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RowCondition {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: &'static str,
    pub reason: &'static str,
    pub message: &'static str,
}

impl RowCondition {
    /// The object will do nothing more; clients may hide it.
    pub const fn completed(reason: &'static str, message: &'static str) -> RowCondition {
        RowCondition { kind: "Completed", status: "True", reason, message }
    }
}

/// One object's line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// As many as there are columns.
    pub cells: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<RowCondition>,
    /// What the request asked to have beside the cells; null for nothing.
    pub object: Value,
}

impl Row {
    /// A row of texts without its object.
    pub fn new(cells: Vec<String>) -> Row {
        Row { cells: cells.into_iter().map(Value::String).collect(), conditions: Vec::new(), object: Value::Null }
    }

    /// A row of texts and numbers without its object.
    pub fn of<const N: usize>(cells: [Value; N]) -> Row {
        Row { cells: cells.into(), conditions: Vec::new(), object: Value::Null }
    }

    /// The row together with what clients asked to have of its object.
    #[must_use]
    pub fn with_object(self, object: Value) -> Row {
        Row { object, ..self }
    }
}

/// The cell of [`Column::NAME`].
pub fn name_cell(metadata: &ObjectMeta) -> Value {
    metadata.name.clone().unwrap_or_default().into()
}

/// The cell of [`Column::AGE`].
pub fn age_cell(metadata: &ObjectMeta, now: Moment) -> Value {
    since(metadata.creation_timestamp.as_ref(), now).into()
}

/// What a table says about the list it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<u64>,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    kind: &'static str,
    api_version: &'static str,
    pub metadata: TableMeta,
    /// Null in all events of a watch but the first.
    pub column_definitions: Option<&'static [Column]>,
    pub rows: Vec<Row>,
}

impl Table {
    pub fn new(version: MetaVersion, columns: &'static [Column], metadata: TableMeta) -> Table {
        let api_version = version.api_version();
        Table { kind: "Table", api_version, metadata, column_definitions: Some(columns), rows: Vec::new() }
    }

    /// The table as a later event of a watch carries it.
    #[must_use]
    pub fn without_headers(self) -> Table {
        Table { column_definitions: None, ..self }
    }
}

/// The metadata of an object, wrapped as a row or a reduced answer carries it.
pub fn partial_object_metadata(metadata: &ObjectMeta, version: MetaVersion) -> Value {
    serde_json::json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version.api_version(),
        "metadata": metadata,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let metadata = TableMeta { resource_version: Some("7".to_owned()), ..TableMeta::default() };
        let mut table = Table::new(MetaVersion::V1, GENERIC_COLUMNS, metadata);
        table.rows.push(Row::new(vec!["a".to_owned(), "5m".to_owned()]));
        table
    }

    /// 7.2.1
    #[test]
    fn a_table_is_written_as_clients_read_it() {
        let metadata = ObjectMeta { name: Some("a".to_owned()), ..ObjectMeta::default() };
        let mut table = table();
        let first = table.rows.remove(0);
        table.rows.push(first.with_object(partial_object_metadata(&metadata, MetaVersion::V1)));
        let expected = serde_json::json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "7"},
            "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name", "description": Column::NAME.description, "priority": 0},
                {"name": "Age", "type": "string", "format": "", "description": Column::AGE.description, "priority": 0},
            ],
            "rows": [{
                "cells": ["a", "5m"],
                "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}},
            }],
        });
        assert_eq!(serde_json::to_value(table).unwrap(), expected);
    }

    #[test]
    fn headers_and_objects_are_null_where_they_are_left_out() {
        let value = serde_json::to_value(table().without_headers()).unwrap();
        assert_eq!(value["columnDefinitions"], Value::Null);
        assert_eq!(value["rows"][0], serde_json::json!({"cells": ["a", "5m"], "object": null}));
    }
}
