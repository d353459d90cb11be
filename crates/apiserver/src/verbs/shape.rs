//! What a client sees of an object: the whole, a row of a table, or its metadata.

use bytes::Bytes;
use lifecycle::moment::Moment;
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::kind::{AnyObject, Served};
use crate::negotiate::{Layout, MetaVersion, Output, Shape};
use crate::options::{IncludeObject, parse_include_object};
use crate::status::Status;
use crate::table::{Row, Table, TableMeta, partial_object_metadata};

/// The answer that shows one object, given as it is served.
pub fn answer(call: &Call, code: u16, object: &dyn AnyObject, served: Bytes, now: Moment) -> Result<Answer, Status> {
    Ok(Answer::json(code, shaped(call, object, served, now)?))
}

fn shaped(call: &Call, object: &dyn AnyObject, served: Bytes, now: Moment) -> Result<Bytes, Status> {
    match call.output.shape {
        Shape::Whole | Shape::AggregatedDiscovery => Ok(laid_out(&call.output, served)),
        Shape::Table(version) => {
            let include = parse_include_object(&call.query)?;
            let row = row(call.kind, object, include, version, now);
            let resource_version = object.meta().resource_version.clone();
            let meta = TableMeta { resource_version, ..TableMeta::default() };
            let mut table = Table::new(version, call.kind.columns(), meta);
            table.rows.push(row);
            Ok(to_json(&table))
        }
        Shape::PartialObjectMetadata(version) => Ok(to_json(&partial_object_metadata(object.meta(), version))),
        Shape::PartialObjectMetadataList(_) => Err(Status::not_acceptable(&["application/json"])),
    }
}

/// The row of one object with what the client asked to have beside it.
pub fn row(
    kind: &dyn Served,
    object: &dyn AnyObject,
    include: IncludeObject,
    version: MetaVersion,
    now: Moment,
) -> Row {
    let row = kind.row(object, now);
    match include {
        IncludeObject::None => row,
        IncludeObject::Metadata => row.with_object(partial_object_metadata(object.meta(), version)),
        IncludeObject::Object => row.with_object(object.to_value()),
    }
}

/// Indents the answer if a person asked for it.
pub fn laid_out(output: &Output, served: Bytes) -> Bytes {
    match output.layout {
        Layout::Compact => served,
        Layout::Pretty => match serde_json::from_slice::<Value>(&served) {
            Ok(value) => serde_json::to_vec_pretty(&value).map_or(served, Bytes::from),
            Err(_) => served,
        },
    }
}

pub fn to_json(value: &impl serde::Serialize) -> Bytes {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}
