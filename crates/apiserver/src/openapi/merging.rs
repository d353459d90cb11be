//! Marks in schemas how lists and objects are merged, for clients that make patches.
//!
//! The rules are those by which patches are applied here ([`model::patch::schema`]); what only concerns the makers of
//! patches is listed in this file.

use model::patch::schema::{Strategy, Type};
use serde_json::{Map, Value, json};

const STRATEGY: &str = "x-kubernetes-patch-strategy";
const MERGE_KEY: &str = "x-kubernetes-patch-merge-key";
const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";

/// Unions: a patch that changes one has to name the fields that stay.
const RETAIN_KEYS: [(&str, &str); 4] = [
    ("io.k8s.api.apps.v1.DeploymentSpec", "strategy"),
    ("io.k8s.api.core.v1.PodSpec", "resourceClaims"),
    ("io.k8s.api.core.v1.PodSpec", "volumes"),
    ("io.k8s.api.core.v1.PodStatus", "resourceClaimStatuses"),
];

/// Lists whose elements need a second field to be told apart, which the merge key of patches leaves out.
const SECOND_KEYS: [(&str, &str, &str); 4] = [
    ("io.k8s.api.core.v1.Container", "ports", "protocol"),
    ("io.k8s.api.core.v1.EphemeralContainer", "ports", "protocol"),
    ("io.k8s.api.core.v1.PodSpec", "topologySpreadConstraints", "whenUnsatisfiable"),
    ("io.k8s.api.core.v1.ServiceSpec", "ports", "protocol"),
];

/// Lists that patches merge although they have one owner as a whole.
const ATOMIC: [(&str, &str); 2] =
    [("io.k8s.api.batch.v1.JobStatus", "conditions"), ("io.k8s.api.core.v1.PodStatus", "hostIPs")];

/// Marks a component and the components below it.
pub fn mark(schemas: &mut Map<String, Value>, component: &str, of: &'static Type) {
    let mut left = vec![(component.to_owned(), of)];
    // Types refer to each other without cycles, so this ends.
    while let Some((component, of)) = left.pop() {
        let Some(properties) = schemas.get_mut(&component).and_then(|schema| schema.get_mut("properties")) else {
            continue;
        };
        for field in of.fields() {
            let Some(property) = properties.get_mut(field.name).and_then(Value::as_object_mut) else { continue };
            mark_field(&component, field.name, field.strategy, property);
            if let Some(below) = target(property) {
                left.push((below, field.of));
            }
        }
    }
}

/// Marks the unions, of which [`mark`] then finds those that are lists.
pub fn mark_retained(schemas: &mut Map<String, Value>) {
    for (component, field) in RETAIN_KEYS {
        if let Some(property) = schemas.get_mut(component).and_then(|schema| schema["properties"].get_mut(field)) {
            property[STRATEGY] = "retainKeys".into();
        }
    }
}

fn mark_field(component: &str, name: &str, strategy: Strategy, property: &mut Map<String, Value>) {
    match strategy {
        Strategy::Default => {}
        Strategy::Replace => {
            property.insert(STRATEGY.to_owned(), "replace".into());
        }
        Strategy::Merge(key) => {
            let retained = RETAIN_KEYS.contains(&(component, name));
            let strategy = if retained { "merge,retainKeys" } else { "merge" };
            property.insert(STRATEGY.to_owned(), strategy.into());
            if key.is_empty() {
                property.insert(LIST_TYPE.to_owned(), "set".into());
                return;
            }
            property.insert(MERGE_KEY.to_owned(), key.into());
            if ATOMIC.contains(&(component, name)) {
                property.insert(LIST_TYPE.to_owned(), "atomic".into());
                return;
            }
            let second = SECOND_KEYS.iter().find(|(of, field, _)| *of == component && *field == name);
            let keys: Vec<&str> = std::iter::once(key).chain(second.map(|(_, _, second)| *second)).collect();
            property.insert(LIST_TYPE.to_owned(), "map".into());
            property.insert(LIST_KEYS.to_owned(), json!(keys));
        }
    }
}

/// The component that a property, or the elements of its list, are of.
fn target(property: &Map<String, Value>) -> Option<String> {
    let reference = property.get("$ref").or_else(|| property.get("items")?.get("$ref"))?.as_str()?;
    reference.rsplit('/').next().map(str::to_owned)
}
