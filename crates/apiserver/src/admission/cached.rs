//! Objects as the cache knows them, with their types: what steps compare a change with.

use crate::api::Api;
use crate::kind::Object;
use crate::verbs::decode;

impl Api {
    /// The object at this place among those of a resource.
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
}
