//! The order of a merged list: what the patch names in the patch's order, the rest where it was.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::PatchError;
use super::shown::{OBJECT, shown, shown_list, type_name};
use super::strategic::DIRECTIVE;

/// What tells an element from others: the value of its merge key, or itself if there is none.
pub(super) fn identity(item: &Value, key: &'static str) -> Result<String, PatchError> {
    if key.is_empty() {
        return Ok(item.to_string());
    }
    let Value::Object(fields) = item else {
        return Err(PatchError::WrongType { expected: OBJECT, actual: type_name(item) });
    };
    match fields.get(key) {
        Some(value) => Ok(value.to_string()),
        None => Err(PatchError::NoMergeKey { item: shown(item), key }),
    }
}

/// The place of each element in a list, by identity; the first place counts.
pub(super) struct Ranks(BTreeMap<String, usize>);

impl Ranks {
    pub(super) fn of(items: &[Value], key: &'static str) -> Result<Ranks, PatchError> {
        let identities: Vec<String> = items.iter().map(|item| identity(item, key)).collect::<Result<_, _>>()?;
        Ok(Ranks::from_identities(identities.into_iter()))
    }

    /// Leaves out elements without the merge key: the error is raised where they would be placed.
    pub(super) fn of_keyed(items: &[Value], key: &'static str) -> Ranks {
        Ranks::from_identities(items.iter().filter_map(|item| identity(item, key).ok()))
    }

    /// The places that upstream reads in a list after it merged a patch into it in place: what the patch adds stands
    /// where it deleted something, as far as the list was long before.
    pub(super) fn as_overwritten(items: &[Value], patch: &[Value], key: &'static str) -> Ranks {
        if key.is_empty() {
            return Ranks::of_keyed(items, key);
        }
        let identities = |of: &dyn Fn(&&Value) -> bool| -> Vec<String> {
            patch.iter().filter(of).filter_map(|element| identity(element, key).ok()).collect()
        };
        let deleted: BTreeSet<String> = identities(&|element| is_deletion(element)).into_iter().collect();
        let added = identities(&|element| element.get(DIRECTIVE).is_none());
        let kept = items.iter().filter_map(|item| identity(item, key).ok()).filter(|item| !deleted.contains(item));
        let mut seen = BTreeSet::new();
        let all = kept.chain(added).filter(|item| seen.insert(item.clone()));
        Ranks::from_identities(all.take(items.len()))
    }

    fn from_identities(identities: impl Iterator<Item = String>) -> Ranks {
        let mut ranks = BTreeMap::new();
        for (i, identity) in identities.enumerate() {
            ranks.entry(identity).or_insert(i);
        }
        Ranks(ranks)
    }

    fn get(&self, identity: &str) -> Option<usize> {
        self.0.get(identity).copied()
    }
}

/// One element on its way to its place.
struct Placed {
    item: Value,
    /// Its place in the wanted order, or on the server.
    rank: usize,
    /// Its place on the server.
    server: Option<usize>,
}

/// Puts what `wanted` names in that order, and the rest between it, where the server had it.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &Ranks,
    server: &Ranks,
    key: &'static str,
) -> Result<Vec<Value>, PatchError> {
    let (mut named, mut rest) = (Vec::new(), Vec::new());
    for item in merged {
        let identity = identity(&item, key)?;
        let server = server.get(&identity);
        match wanted.get(&identity) {
            Some(rank) => named.push(Placed { item, rank, server }),
            None => rest.push(Placed { item, rank: server.unwrap_or(usize::MAX), server }),
        }
    }
    named.sort_by_key(|placed| placed.rank);
    rest.sort_by_key(|placed| placed.rank);

    let mut arranged = Vec::with_capacity(named.len() + rest.len());
    let mut rest = rest.into_iter().peekable();
    for next in named {
        while let Some(other) = rest.next_if(|other| other.server.zip(next.server).is_some_and(|(a, b)| a < b)) {
            arranged.push(other.item);
        }
        arranged.push(next.item);
    }
    arranged.extend(rest.map(|placed| placed.item));
    Ok(arranged)
}

/// The elements of a patch list have to come in the order that is to be set, and all be part of it.
pub(super) fn check(patch: &[Value], wanted: &[Value], key: &'static str) -> Result<(), PatchError> {
    if patch.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let mismatch = || {
        let (patch, order) = (shown_list(patch), shown_list(wanted));
        PatchError::ElementOrderMismatch { patch, order }
    };
    let mut order = wanted.iter();
    let keyed = !key.is_empty();
    for element in patch.iter().filter(|element| !(keyed && is_deletion(element))) {
        if element.get(DIRECTIVE).is_some() {
            // Upstream passes over a directive only while there is order left.
            if order.as_slice().is_empty() {
                return Err(mismatch());
            }
            continue;
        }
        loop {
            let next = order.next().ok_or_else(mismatch)?;
            if identity(element, key)? == identity(next, key)? {
                break;
            }
        }
    }
    Ok(())
}

fn is_deletion(element: &Value) -> bool {
    element.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}
