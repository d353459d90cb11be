//! The documents describe every kind that is served, and nothing in them leads nowhere.

use std::collections::BTreeSet;

use super::*;
use crate::answer::Payload;
use crate::discovery::Answered;
use crate::kind::{Part, Subresource};
use crate::kinds::ALL;

const PODS: &str = "/api/v1/namespaces/{namespace}/pods/{name}";

fn asked(kinds: &Kinds, wanted: &OpenApi, query: &str) -> (Value, Caching) {
    let answer = answer(kinds, wanted, &Query::parse(query)).unwrap();
    let Payload::Json(body) = answer.payload else { panic!("documents are JSON") };
    (serde_json::from_slice(&body).unwrap(), answer.caching)
}

fn core() -> Value {
    let wanted = OpenApi::V3 { group: String::new(), version: "v1".to_owned() };
    asked(&Kinds::new(ALL), &wanted, "").0
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                found.insert(reference.to_owned());
            }
            fields.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn assert_resolved(document: &Value) {
    let mut found = BTreeSet::new();
    references(document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "nothing at {reference}");
    }
}

fn assert_describes(schemas: &Value, facts: &Facts) {
    let entry = own_entry(facts);
    let named = schemas.as_object().unwrap().iter().find(|(name, schema)| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        ["io.k8s.api.", "dev.eventide."].iter().any(|own| name.starts_with(own))
            && kinds.is_some_and(|kinds| kinds.contains(&entry))
    });
    let (name, schema) = named.unwrap_or_else(|| panic!("no schema for {entry}"));
    assert!(name.ends_with(&format!(".{}.{}", facts.version, facts.kind)), "{name}");
    assert!(schema["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    assert!(schema["properties"]["metadata"].is_object(), "{name}");
    assert!(schemas[format!("{name}List")].is_object(), "{name}");
}

#[test]
fn every_kind_has_a_schema_in_both_versions_and_all_references_resolve() {
    let kinds = Kinds::new(ALL);
    let (v2, _) = asked(&kinds, &OpenApi::V2, "");
    assert_resolved(&v2);
    for kind in ALL {
        let facts = kind.facts();
        let wanted = OpenApi::V3 { group: facts.group.to_owned(), version: facts.version.to_owned() };
        let (v3, _) = asked(&kinds, &wanted, "");
        assert_resolved(&v3);
        assert_describes(&v3["components"]["schemas"], facts);
        assert_describes(&v2["definitions"], facts);
    }
}

#[test]
fn every_verb_of_discovery_is_an_operation_that_names_its_kind() {
    let kinds = Kinds::new(ALL);
    let (v2, _) = asked(&kinds, &OpenApi::V2, "");
    for facts in ALL.iter().map(|kind| kind.facts()) {
        let scope = if facts.scope == crate::kind::Scope::Namespaced { "namespaces/{namespace}/" } else { "" };
        let collection = format!("/{}/{scope}{}", below_root(facts.group, facts.version), facts.resource);
        let object = format!("{collection}/{{name}}");
        let at = |path: &str, method: &str| v2["paths"][path][method].clone();
        let actions = [(&collection, "get", "list"), (&collection, "post", "post"), (&object, "patch", "patch")];
        for (path, method, action) in actions {
            assert_eq!(at(path, method)["x-kubernetes-action"], action, "{method} {path}");
            assert_eq!(at(path, method)["x-kubernetes-group-version-kind"], own_entry(facts), "{method} {path}");
        }
        for subresource in facts.subresources {
            let answered = Answered::by(*subresource, facts);
            let entry = &v2["paths"][format!("{object}/{}", subresource.name())];
            let operations = entry.as_object().unwrap().values().filter(|operation| operation.is_object());
            for operation in operations {
                let kind = kind_entry(answered.group, answered.version, answered.kind);
                assert_eq!(operation["x-kubernetes-group-version-kind"], kind);
            }
            if let Subresource::Part(Part::Finalize) = subresource {
                assert_eq!(entry["get"], Value::Null, "{object} has a part that is only updated");
            }
        }
    }
}

#[test]
fn operation_ids_are_unique() {
    let (v2, _) = asked(&Kinds::new(ALL), &OpenApi::V2, "");
    let mut ids = BTreeSet::new();
    for (path, entry) in v2["paths"].as_object().unwrap() {
        for operation in entry.as_object().unwrap().values().filter(|operation| operation.is_object()) {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} again at {path}");
        }
    }
    assert!(ids.contains("listCoreV1PodForAllNamespaces"));
    assert!(ids.contains("connectCoreV1GetNamespacedPodProxyWithPath"));
    assert!(ids.contains("replaceAppsV1NamespacedDeploymentScale"));
}

#[test]
fn writes_can_be_tried_and_checked() {
    let document = core();
    let writes = [("/api/v1/namespaces/{namespace}/pods", "post"), (PODS, "put"), (PODS, "patch")];
    for (path, method) in writes {
        let parameters = document["paths"][path][method]["parameters"].as_array().unwrap();
        for name in ["dryRun", "fieldValidation"] {
            assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{name} of {method} {path}");
        }
    }
}

#[test]
fn lists_say_how_they_are_merged() {
    let document = core();
    let property = |kind: &str, field: &str| {
        document["components"]["schemas"][format!("io.k8s.api.core.v1.{kind}")]["properties"][field].clone()
    };
    let containers = property("PodSpec", "containers");
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    let ports = property("Container", "ports");
    assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
    assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
    assert_eq!(
        property("EphemeralContainer", "ports")["x-kubernetes-list-map-keys"],
        ports["x-kubernetes-list-map-keys"]
    );
    assert_eq!(property("PodSpec", "volumes")["x-kubernetes-patch-strategy"], "merge,retainKeys");
    assert_eq!(property("PodStatus", "hostIPs")["x-kubernetes-list-type"], "atomic");
    let metadata = &document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
    assert_eq!(metadata["properties"]["finalizers"]["x-kubernetes-list-type"], "set");
    let (v2, _) = asked(&Kinds::new(ALL), &OpenApi::V2, "");
    let strategy = &v2["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
    assert_eq!(strategy["x-kubernetes-patch-strategy"], "retainKeys");
}

#[test]
fn the_versions_say_in_their_own_way_what_is_a_number_or_a_text() {
    let (v2, _) = asked(&Kinds::new(ALL), &OpenApi::V2, "");
    let name = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
    assert_eq!(v2["definitions"][name]["type"], "string");
    assert_eq!(v2["definitions"][name]["format"], "int-or-string");
    let document = core();
    let schema = &document["components"]["schemas"][name];
    assert_eq!(schema["oneOf"], json!([{ "type": "string" }, { "type": "integer" }]));
    let pod = &document["components"]["schemas"]["io.k8s.api.core.v1.Pod"];
    assert_eq!(pod["properties"]["spec"]["$ref"], Value::Null, "nothing may stand beside a reference");
    assert_eq!(pod["properties"]["spec"]["allOf"][0]["$ref"], "#/components/schemas/io.k8s.api.core.v1.PodSpec");
}

#[test]
fn only_what_must_be_sent_is_required() {
    let document = core();
    let required =
        |name: &str| document["components"]["schemas"][format!("io.k8s.api.core.v1.{name}")]["required"].clone();
    assert_eq!(required("Pod"), Value::Null);
    assert_eq!(required("LocalObjectReference"), Value::Null);
    assert_eq!(required("SecretKeySelector"), json!(["key"]));
    assert_eq!(required("Container"), json!(["name"]));
}

#[test]
fn the_index_names_every_document_by_what_is_in_it() {
    let kinds = Kinds::new(ALL);
    let (index, _) = asked(&kinds, &OpenApi::V3Index, "");
    assert_eq!(index["paths"].as_object().unwrap().len(), kinds.documents.v3.get().unwrap().all.len());
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    let query = url.strip_prefix("/openapi/v3/apis/apps/v1?").unwrap();
    let apps = OpenApi::V3 { group: "apps".to_owned(), version: "v1".to_owned() };
    let Caching::Immutable(tag) = asked(&kinds, &apps, query).1 else { panic!("the hash is the document's") };
    assert_eq!(asked(&kinds, &apps, "hash=0123").1, Caching::Tagged(tag));
    let unknown = OpenApi::V3 { group: "apps".to_owned(), version: "v2".to_owned() };
    assert_eq!(answer(&kinds, &unknown, &Query::default()).err().unwrap().code, 404);
}

#[test]
fn nothing_is_made_before_somebody_asks() {
    let kinds = Kinds::new(ALL);
    assert!(kinds.documents.v2.get().is_none() && kinds.documents.v3.get().is_none());
    asked(&kinds, &OpenApi::V3Index, "");
    assert!(kinds.documents.v2.get().is_none() && kinds.documents.v3.get().is_some());
}
