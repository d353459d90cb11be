//! Strategic merge patch: a partial document with directives, merged as the kind's schema says.
//!
//! | in the patch | what happens |
//! | --- | --- |
//! | `field: null` | the field is removed |
//! | an object over an object | merged, or replaced where the schema says so |
//! | a list over a list | merged by merge key where the schema says so, else replaced |
//! | `$patch: replace` in an object | the object is what the patch has |
//! | `$patch: delete` in an object | the object becomes empty; where there was none, none is made |
//! | `$patch: delete` in a list element | elements with the same merge key are removed |
//! | `$patch: replace` in a list element | the list is what the patch has |
//! | `$retainKeys: [a, b]` | the object loses all other fields |
//! | `$deleteFromPrimitiveList/f: [x]` | `x` is removed from the list `f` |
//! | `$setElementOrder/f: [...]` | the list `f` is put in this order |
//!
//! Upstream takes the fields of a patch in random order; here they are taken in the order of their names, so that
//! deletions from a list come before what is added to it.

use serde_json::{Map, Value};

use super::merge::drop_nulls;
use super::schema::{Field, Strategy, Type};
use super::shown::{shown, type_name};
use super::{PatchError, lists, order};

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

pub(super) type Fields = Map<String, Value>;

pub(super) fn apply(document: Value, patch: Value, of: &'static Type) -> Result<Value, PatchError> {
    let (Value::Object(document), Value::Object(patch)) = (document, patch) else {
        return Err(PatchError::Malformed("a strategic merge patch and its document must be objects"));
    };
    merge_object(document, patch, of).map(Value::Object)
}

pub(super) fn merge_object(mut fields: Fields, mut patch: Fields, of: &'static Type) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(PatchError::UnknownDirective { directive: shown(directive), item: shown(&Value::Object(patch)) }),
        };
    }
    retain_keys(&mut fields, &mut patch)?;
    set_element_orders(&mut fields, &mut patch, of)?;
    for (name, value) in patch {
        if name.starts_with(DELETE_FROM_LIST) {
            let list = list_of_directive(&name, DELETE_FROM_LIST, PatchError::PrimitiveListFormat)?;
            delete_from_list(&mut fields, list, value, of)?;
        } else {
            merge_field(&mut fields, name, value, of)?;
        }
    }
    Ok(fields)
}

fn merge_field(fields: &mut Fields, name: String, value: Value, of: &'static Type) -> Result<(), PatchError> {
    let known = of.field(&name);
    let merged = match (fields.remove(&name), value) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(_)), Value::Object(patch)) if known.strategy == Strategy::Replace => Value::Object(patch),
        (Some(Value::Object(inner)), Value::Object(patch)) => Value::Object(merge_object(inner, patch, known.of)?),
        (Some(Value::Array(items)), Value::Array(patch)) => match known.strategy {
            Strategy::Merge(key) => Value::Array(lists::merge(items, patch, key, known.of)?),
            Strategy::Default | Strategy::Replace => Value::Array(patch),
        },
        (_, mut value) => {
            drop_nulls(&mut value);
            let Some(value) = without_directives(value) else { return Ok(()) };
            value
        }
    };
    fields.insert(name, merged);
    Ok(())
}

/// Obeys `$retainKeys`: what the patch sets has to be among the retained.
fn retain_keys(fields: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(retained) = retained else { return Err(PatchError::RetainKeysFormat) };
    let retained: std::collections::BTreeSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let exempt = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(ELEMENT_ORDER);
    let strange =
        |(name, value): (&String, &Value)| !value.is_null() && !exempt(name) && !retained.contains(name.as_str());
    if patch.iter().any(strange) {
        return Err(PatchError::RetainKeysFormat);
    }
    fields.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}

fn delete_from_list(fields: &mut Fields, name: &str, value: Value, of: &'static Type) -> Result<(), PatchError> {
    match (fields.get_mut(name), value) {
        (_, Value::Null) => drop(fields.remove(name)),
        (Some(Value::Array(items)), Value::Array(unwanted)) => {
            let key = match of.field(name).strategy {
                Strategy::Merge(key) => key,
                Strategy::Default | Strategy::Replace => "",
            };
            let merged = lists::delete(std::mem::take(items), unwanted, key, of.field(name).of)?;
            *items = merged;
        }
        _ => {}
    }
    Ok(())
}

/// The list that `$directive/list` is about.
fn list_of_directive<'a>(name: &'a str, directive: &str, otherwise: PatchError) -> Result<&'a str, PatchError> {
    name.strip_prefix(directive).and_then(|rest| rest.strip_prefix('/')).ok_or(otherwise)
}

/// Obeys every `$setElementOrder/list` of an object, and merges those lists on the way.
fn set_element_orders(fields: &mut Fields, patch: &mut Fields, of: &'static Type) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let wanted = as_list(patch.remove(&directive).unwrap_or_default())?;
        let name = list_of_directive(&directive, ELEMENT_ORDER, PatchError::ElementOrderFormat)?;
        let present = fields.remove(name).map(as_list).transpose()?;
        let patched = patch.remove(name).map(as_list).transpose()?;
        if let Some(merged) = set_element_order(present, patched, &wanted, of.field(name))? {
            fields.insert(name.to_owned(), Value::Array(merged));
        }
    }
    Ok(())
}

fn set_element_order(
    present: Option<Vec<Value>>,
    patched: Option<Vec<Value>>,
    wanted: &[Value],
    list: &Field,
) -> Result<Option<Vec<Value>>, PatchError> {
    let key = match list.strategy {
        Strategy::Merge(key) => key,
        Strategy::Default | Strategy::Replace => "",
    };
    order::check(patched.as_deref().unwrap_or_default(), wanted, key)?;
    let both = [present.as_deref().unwrap_or_default(), patched.as_deref().unwrap_or_default()];
    let elements = lists::elements_of(both);
    let server = order::Ranks::as_overwritten(both[0], both[1], key);
    let merged = match (present, patched) {
        (None, None) => return Ok(None),
        (Some(present), None) => present,
        (None, Some(patched)) => patched.into_iter().filter_map(without_directives).collect(),
        (Some(present), Some(patched)) => match list.strategy {
            Strategy::Merge(key) => lists::merge(present, patched, key, list.of)?,
            Strategy::Default | Strategy::Replace => patched,
        },
    };
    let wanted = order::Ranks::of(wanted, key)?;
    elements?;
    order::arrange(merged, &wanted, &server, key).map(Some)
}

fn as_list(value: Value) -> Result<Vec<Value>, PatchError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(PatchError::WrongType { expected: super::shown::LIST, actual: type_name(&other) }),
    }
}

/// What remains of a new value without its directives; none if it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(Value::Object(
            fields.into_iter().filter_map(|(name, field)| Some((name, without_directives(field)?))).collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}
