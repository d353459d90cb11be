//! The schemas of a document: those of the kinds, of what subresources take and give, and all that these refer to.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::core::v1::Binding;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ListMeta, Patch, Status};
use k8s_openapi::schemars::generate::SchemaSettings;
use k8s_openapi::schemars::{JsonSchema, Schema, SchemaGenerator};
use model::patch::schema::of_kind;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::{kind_entry, merging, own_entry};
use crate::kind::{Facts, Served, Subresource};

const KINDS: &str = "x-kubernetes-group-version-kind";

/// Components that refer to another object by its name, which for historical reasons may be left out.
const NAME_IS_OPTIONAL: [&str; 8] = [
    "io.k8s.api.core.v1.ConfigMapEnvSource",
    "io.k8s.api.core.v1.ConfigMapKeySelector",
    "io.k8s.api.core.v1.ConfigMapProjection",
    "io.k8s.api.core.v1.ConfigMapVolumeSource",
    "io.k8s.api.core.v1.LocalObjectReference",
    "io.k8s.api.core.v1.SecretEnvSource",
    "io.k8s.api.core.v1.SecretKeySelector",
    "io.k8s.api.core.v1.SecretProjection",
];

/// The schemas that a document needs so far.
pub struct Components {
    pub dialect: Dialect,
    generator: SchemaGenerator,
    /// Which kinds a component stands for.
    kinds: Vec<(String, Value)>,
    lists: Vec<(String, Value)>,
    merged: Vec<(String, &'static model::patch::schema::Type)>,
    delete_options: Value,
}

impl Components {
    pub fn new(dialect: Dialect, all: &[&'static dyn Served]) -> Components {
        let settings = SchemaSettings::openapi3().with(|settings| {
            settings.definitions_path = dialect.definitions_path().into();
            settings.transforms.clear();
        });
        let mut versions: Vec<(&str, &str)> =
            all.iter().map(|kind| (kind.facts().group, kind.facts().version)).collect();
        versions.sort_unstable();
        versions.dedup();
        let entries = versions.into_iter().map(|(group, version)| kind_entry(group, version, "DeleteOptions"));
        Components {
            dialect,
            generator: settings.into_generator(),
            kinds: Vec::new(),
            lists: Vec::new(),
            merged: Vec::new(),
            delete_options: entries.collect(),
        }
    }

    /// The component of a kind.
    pub fn kind(&mut self, kind: &'static dyn Served) -> String {
        let facts = kind.facts();
        let component = name_of(&kind.schema(&mut self.generator));
        self.stands_for(&component, json!([own_entry(facts)]));
        if let Some(of) = of_kind(facts.group, facts.kind) {
            self.merged.push((component.clone(), of));
        }
        component
    }

    /// The component of lists of a kind.
    pub fn list(&mut self, facts: &Facts, component: &str) -> String {
        let metadata = self.generator.subschema_for::<ListMeta>();
        let name = format!("{component}List");
        let schema = json!({
            "description": format!("{0}List is a list of objects of the kind {0}.", facts.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": { "type": "string", "description": "The group and version of the list's kind." },
                "kind": { "type": "string", "description": "The kind of the list." },
                "metadata": metadata,
                "items": {
                    "type": "array",
                    "items": self.dialect.reference(component),
                    "description": "The objects.",
                },
            },
        });
        let kind = format!("{}List", facts.kind);
        self.lists.push((name.clone(), schema));
        self.stands_for(&name, json!([kind_entry(facts.group, facts.version, &kind)]));
        name
    }

    /// The component that a subresource takes and gives; none if that is no object, or the object of the kind itself.
    pub fn subresource(&mut self, subresource: Subresource) -> Option<String> {
        match subresource {
            Subresource::Scale => Some(self.known::<Scale>("autoscaling", "v1", "Scale")),
            Subresource::Binding => Some(self.known::<Binding>("", "v1", "Binding")),
            Subresource::Eviction => Some(self.known::<Eviction>("policy", "v1", "Eviction")),
            Subresource::Token => Some(self.known::<TokenRequest>("authentication.k8s.io", "v1", "TokenRequest")),
            Subresource::Part(_)
            | Subresource::Log
            | Subresource::Exec
            | Subresource::Attach
            | Subresource::PortForward
            | Subresource::Proxy => None,
        }
    }

    pub fn delete_options(&mut self) -> String {
        let component = name_of(&self.generator.subschema_for::<DeleteOptions>());
        let entries = self.delete_options.clone();
        self.stands_for(&component, entries);
        component
    }

    pub fn status(&mut self) -> String {
        self.known::<Status>("", "v1", "Status")
    }

    pub fn patch(&mut self) -> String {
        name_of(&self.generator.subschema_for::<Patch>())
    }

    fn known<T: JsonSchema>(&mut self, group: &str, version: &str, kind: &str) -> String {
        let component = name_of(&self.generator.subschema_for::<T>());
        self.stands_for(&component, json!([kind_entry(group, version, kind)]));
        component
    }

    fn stands_for(&mut self, component: &str, kinds: Value) {
        if !self.kinds.iter().any(|(known, _)| known == component) {
            self.kinds.push((component.to_owned(), kinds));
        }
    }

    /// Everything that was asked for, and all that it refers to.
    pub fn finish(mut self) -> Value {
        let mut schemas = self.generator.take_definitions(false);
        schemas.extend(self.lists);
        for (component, kinds) in self.kinds {
            if let Some(schema) = schemas.get_mut(&component) {
                schema[KINDS] = kinds;
            }
        }
        merging::mark_retained(&mut schemas);
        for (component, of) in self.merged {
            merging::mark(&mut schemas, &component, of);
        }
        for (name, schema) in &mut schemas {
            free(name, schema);
            self.dialect.settle(name, schema);
        }
        Value::Object(schemas)
    }
}

/// The types say that metadata is always there, since they always have a place for it, and so are some names. Objects
/// need not have any.
fn free(name: &str, schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    let is_object =
        |properties: &Value| ["apiVersion", "kind", "metadata"].iter().all(|it| properties.get(it).is_some());
    let optional = match fields.get("properties") {
        Some(properties) if is_object(properties) => "metadata",
        Some(_) if NAME_IS_OPTIONAL.contains(&name) => "name",
        Some(_) | None => return,
    };
    if let Some(required) = fields.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|field| field != optional);
        if required.is_empty() {
            fields.remove("required");
        }
    }
}

/// The component that a reference points to.
fn name_of(reference: &Schema) -> String {
    let path = reference.get("$ref").and_then(Value::as_str).unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
