//! Merging two lists, of objects by merge key or of plain values.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::PatchError;
use super::order::{self, Ranks, identity};
use super::schema::Type;
use super::shown::{OBJECT, shown, shown_list, type_name};
use super::strategic::{DIRECTIVE, merge_object};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    Objects,
    Plain,
}

/// What both lists hold: all of one type, and no lists.
pub(super) fn elements_of(lists: [&[Value]; 2]) -> Result<Elements, PatchError> {
    let mut all = lists.into_iter().flatten();
    let first = all.next().ok_or(PatchError::NoElements)?;
    if first.is_array() {
        return Err(PatchError::ListOfLists);
    }
    let one_type = type_name(first);
    if first.is_null() || all.any(|item| type_name(item) != one_type) {
        return Err(PatchError::MixedElements(format!("[{} {}]", shown_list(lists[0]), shown_list(lists[1]))));
    }
    Ok(if first.is_object() { Elements::Objects } else { Elements::Plain })
}

/// Merges a patch list into a list. An empty key means a list of plain values.
pub(super) fn merge(
    items: Vec<Value>,
    patch: Vec<Value>,
    key: &'static str,
    of: &'static Type,
) -> Result<Vec<Value>, PatchError> {
    if items.is_empty() && patch.is_empty() {
        return Ok(items);
    }
    match elements_of([&items, &patch])? {
        Elements::Objects => merge_objects(items, patch, key, of),
        Elements::Plain => merge_plain(items, patch, key),
    }
}

/// Removes plain values from a list. Upstream merges lists of objects instead, whatever the directive says.
pub(super) fn delete(
    items: Vec<Value>,
    unwanted: Vec<Value>,
    key: &'static str,
    of: &'static Type,
) -> Result<Vec<Value>, PatchError> {
    if items.is_empty() && unwanted.is_empty() {
        return Ok(items);
    }
    if elements_of([&items, &unwanted])? == Elements::Objects {
        return merge_objects(items, unwanted, key, of);
    }
    let unwanted: BTreeSet<String> = unwanted.iter().map(Value::to_string).collect();
    Ok(items.into_iter().filter(|item| !unwanted.contains(&item.to_string())).collect())
}

fn merge_plain(items: Vec<Value>, patch: Vec<Value>, key: &'static str) -> Result<Vec<Value>, PatchError> {
    let (wanted, server) = (Ranks::of(&patch, key)?, Ranks::of(&items, key)?);
    let mut seen = BTreeSet::new();
    let merged = items.into_iter().chain(patch).filter(|item| seen.insert(item.to_string())).collect();
    order::arrange(merged, &wanted, &server, key)
}

fn merge_objects(
    mut items: Vec<Value>,
    patch: Vec<Value>,
    key: &'static str,
    of: &'static Type,
) -> Result<Vec<Value>, PatchError> {
    if key.is_empty() {
        return Err(PatchError::Unmergeable);
    }
    let Directed { mut plain, deleted, replace } = split_directives(patch, key)?;
    if replace {
        items = std::mem::take(&mut plain);
    } else if !deleted.is_empty() {
        items.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    let wanted = Ranks::of(&plain, key)?;
    let server = Ranks::of_keyed(&items, key);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (i, item) in items.iter().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(value.to_string()).or_insert(i);
        }
    }
    for element in plain {
        match places.entry(identity(&element, key)?) {
            Entry::Vacant(place) => {
                place.insert(items.len());
                items.push(element);
            }
            Entry::Occupied(place) => merge_element(&mut items[*place.get()], element, of)?,
        }
    }
    order::arrange(items, &wanted, &server, key)
}

fn merge_element(item: &mut Value, patch: Value, of: &'static Type) -> Result<(), PatchError> {
    match (item.take(), patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            *item = Value::Object(merge_object(fields, patch, of)?);
            Ok(())
        }
        (Value::Object(_), other) | (other, _) => {
            Err(PatchError::WrongType { expected: OBJECT, actual: type_name(&other) })
        }
    }
}

/// A patch list, sorted by what its elements are.
struct Directed {
    plain: Vec<Value>,
    /// The merge keys of what is to be deleted.
    deleted: BTreeSet<String>,
    replace: bool,
}

fn split_directives(patch: Vec<Value>, key: &'static str) -> Result<Directed, PatchError> {
    let mut directed = Directed { plain: Vec::new(), deleted: BTreeSet::new(), replace: false };
    for element in patch {
        let Some(directive) = element.get(DIRECTIVE) else {
            directed.plain.push(element);
            continue;
        };
        match directive.as_str() {
            Some("delete") => drop(directed.deleted.insert(identity(&element, key)?)),
            Some("replace") => directed.replace = true,
            Some("merge") => return Err(PatchError::MergeDirective),
            _ => {
                return Err(PatchError::UnknownDirective { directive: shown(directive), item: shown(&element) });
            }
        }
    }
    Ok(directed)
}
