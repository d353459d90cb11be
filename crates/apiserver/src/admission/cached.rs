//! Objects as the cache knows them, with their types: what steps compare a change with.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use crate::api::Api;
use crate::kind::{AnyObject, Object};
use crate::verbs::decode;

/// An object that is shared with everyone who asks for this version of it.
pub(crate) struct Known<T> {
    object: Arc<dyn AnyObject>,
    of: PhantomData<T>,
}

impl<T: Object> Known<T> {
    fn new(object: &Arc<dyn AnyObject>) -> Option<Known<T>> {
        object.downcast_ref::<T>()?;
        Some(Known { object: object.clone(), of: PhantomData })
    }
}

impl<T: Object> Deref for Known<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.object.downcast_ref().expect("looked at when it was made")
    }
}

impl Api {
    /// The object at this place among those of a resource, decoded for the caller alone.
    pub(crate) fn cached<T: Object>(&self, group: &str, resource: &str, place: &str) -> Option<T> {
        let kind = self.kinds.find(group, "v1", resource)?;
        let item = self.cache.shelf(kind.facts()).get(place)?;
        decode(kind, &item).ok()?.object.downcast_ref::<T>().cloned()
    }

    /// All objects of a resource whose places begin with `below`.
    pub(crate) fn cached_all<T: Object>(&self, group: &str, resource: &str, below: &str) -> Vec<T> {
        let Some(kind) = self.kinds.find(group, "v1", resource) else { return Vec::new() };
        let items = self.cache.shelf(kind.facts()).list(below, None).items;
        let typed = items.iter().filter_map(|item| decode(kind, item).ok()?.object.downcast_ref::<T>().cloned());
        typed.collect()
    }

    /// The object at this place, decoded once for everyone: for small objects that many requests ask for.
    pub(crate) fn known<T: Object>(&self, group: &str, resource: &str, place: &str) -> Option<Known<T>> {
        let kind = self.kinds.find(group, "v1", resource)?;
        Known::new(self.cache.shelf(kind.facts()).get(place)?.typed(kind)?)
    }

    /// All objects of a resource, decoded once for everyone.
    pub(crate) fn known_all<T: Object>(&self, group: &str, resource: &str) -> Vec<Known<T>> {
        let Some(kind) = self.kinds.find(group, "v1", resource) else { return Vec::new() };
        let items = self.cache.shelf(kind.facts()).list("", None).items;
        items.iter().filter_map(|item| Known::new(item.typed(kind)?)).collect()
    }
}
