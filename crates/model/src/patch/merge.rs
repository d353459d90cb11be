//! JSON merge patch: a partial document in which null removes.
//!
//! As upstream has it, null also removes fields inside of what is added, lists included. It does so whatever was there
//! before, so that applying a patch twice changes nothing more; upstream spares a list that replaces an object.

use serde_json::{Map, Value};

use super::PatchError;

pub(super) fn apply(document: Value, patch: Value) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed("a merge patch must be an object"));
    };
    let mut fields = match document {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    merge(&mut fields, patch);
    Ok(Value::Object(fields))
}

fn merge(fields: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match (fields.get_mut(&name), value) {
            (_, Value::Null) => drop(fields.remove(&name)),
            (Some(Value::Object(inner)), Value::Object(patch)) => merge(inner, patch),
            (_, mut value) => {
                drop_nulls(&mut value);
                fields.insert(name, value);
            }
        }
    }
}

/// Removes the fields that are null, at every level. Elements that are null stay.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
