//! What tokens, the authorizer and admission ask about objects, answered from the cache.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use crate::api::Api;
use crate::authorize::{ClaimKey, Relations};
use crate::kind::{AnyObject, Object};
use crate::tokens::{Directory, PodRecord, Record};

impl Api {
    /// The object at a place among the core kinds, as the cache knows it.
    pub fn core_object(&self, resource: &str, place: &str) -> Option<Box<dyn AnyObject>> {
        self.object("", resource, place)
    }

    /// The object at a place among the kinds of a group's `v1`, as the cache knows it.
    pub fn object(&self, group: &str, resource: &str, place: &str) -> Option<Box<dyn AnyObject>> {
        let kind = self.kinds.find(group, "v1", resource)?;
        let item = self.cache.shelf(kind.facts()).get(place)?;
        Some(kind.decode(&item.to_value()).ok()?.object)
    }

    /// All objects of a core kind below a place, decoded.
    pub fn core_objects<T: Object>(&self, resource: &str, below: &str) -> Vec<T> {
        let Some(kind) = self.kinds.find("", "v1", resource) else { return Vec::new() };
        let items = self.cache.shelf(kind.facts()).list(below, None).items;
        let decoded = items.iter().filter_map(|item| kind.decode(&item.to_value()).ok());
        decoded.filter_map(|decoded| decoded.object.downcast_ref::<T>().cloned()).collect()
    }

    fn record(&self, resource: &str, place: &str) -> Option<Record> {
        let kind = self.kinds.find("", "v1", resource)?;
        let item = self.cache.shelf(kind.facts()).get(place)?;
        item.typed(kind).map(|object| record(&**object))
    }
}

fn record(object: &dyn AnyObject) -> Record {
    let meta = object.meta();
    let deletion = meta.deletion_timestamp.as_ref().map(|time| time.0);
    Record { uid: meta.uid.clone().unwrap_or_default(), deletion }
}

impl Directory for Api {
    fn service_account(&self, namespace: &str, name: &str) -> Option<Record> {
        self.record("serviceaccounts", &format!("{namespace}/{name}"))
    }

    fn secret(&self, namespace: &str, name: &str) -> Option<Record> {
        self.record("secrets", &format!("{namespace}/{name}"))
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<PodRecord> {
        let object = self.core_object("pods", &format!("{namespace}/{name}"))?;
        let spec = object.downcast_ref::<Pod>()?.spec.as_ref();
        Some(PodRecord {
            record: record(&*object),
            service_account_name: spec.and_then(|spec| spec.service_account_name.clone()).unwrap_or_default(),
            node_name: spec.and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        })
    }

    fn node(&self, name: &str) -> Option<Record> {
        self.record("nodes", name)
    }
}

impl Relations for Api {
    fn pods_of(&self, node: &str) -> Vec<Arc<Pod>> {
        let Some(kind) = self.kinds.find("", "v1", "pods") else { return Vec::new() };
        let items = self.cache.shelf(kind.facts()).list("", None).items;
        let here = items.iter().filter(|item| {
            item.attributes(kind).fields.iter().any(|(field, value)| *field == "spec.nodeName" && value == node)
        });
        let decoded = here.filter_map(|item| kind.decode(&item.to_value()).ok());
        decoded.filter_map(|decoded| decoded.object.downcast_ref::<Pod>().cloned().map(Arc::new)).collect()
    }

    /// Persistent volumes, attachments and slices are not served yet, so nothing is connected through them.
    fn claim_of_volume(&self, _volume: &str) -> Option<ClaimKey> {
        None
    }

    fn node_of_attachment(&self, _attachment: &str) -> Option<String> {
        None
    }

    fn node_of_slice(&self, _slice: &str) -> Option<String> {
        None
    }
}
