//! What can be done at the paths of a kind: each operation with its id, parameters, body and answers.
//!
//! Ids are upstream's, since client generators make method names of them. The deprecated watch paths are left out.

use serde_json::{Map, Value, json};

use super::parameters::{self, Parameter};
use super::schemas::Components;
use super::{below_root, kind_entry, own_entry};
use crate::discovery::Answered;
use crate::kind::{DeleteAnswer, Facts, Scope, Served, Subresource};
use crate::negotiate::PatchFormat;

const ANY: &str = "*/*";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// One operation, before it is written down.
struct Operation<'a> {
    method: &'static str,
    /// What upstream calls the verb.
    action: &'static str,
    id: String,
    kind: Value,
    parameters: &'static [Parameter],
    takes: Option<(&'a str, &'a [&'a str])>,
    gives: Option<&'a str>,
    codes: &'a [&'a str],
}

/// Everything at the paths of one kind.
struct Place<'a> {
    facts: &'static Facts,
    /// `CoreV1`
    prefix: String,
    collection: String,
    components: &'a mut Components,
    /// The component of the kind.
    own: String,
}

/// Writes down the paths of a kind and notes the schemas that they need.
pub fn describe(kind: &'static dyn Served, components: &mut Components, paths: &mut Map<String, Value>) {
    let facts = kind.facts();
    let root = format!("/{}", below_root(facts.group, facts.version));
    let collection = match facts.scope {
        Scope::Namespaced => format!("{root}/namespaces/{{namespace}}/{}", facts.resource),
        Scope::Cluster => format!("{root}/{}", facts.resource),
    };
    let own = components.kind(kind);
    let prefix = id_prefix(facts);
    let mut place = Place { facts, prefix, collection, components, own };
    if facts.scope == Scope::Namespaced {
        let everywhere = place.everywhere();
        paths.insert(format!("{root}/{}", facts.resource), everywhere);
    }
    let collection = place.collection();
    paths.insert(place.collection.clone(), collection);
    let object = place.object();
    paths.insert(format!("{}/{{name}}", place.collection), object);
    for subresource in facts.subresources {
        let path = format!("{}/{{name}}/{}", place.collection, subresource.name());
        if *subresource == Subresource::Proxy {
            let deeper = place.connections(*subresource, "WithPath");
            paths.insert(format!("{path}/{{path}}"), deeper);
        }
        let entry = place.subresource(*subresource);
        paths.insert(path, entry);
    }
}

impl Place<'_> {
    /// `NamespacedPod`, `Node`
    fn noun(&self) -> String {
        let scope = if self.facts.scope == Scope::Namespaced { "Namespaced" } else { "" };
        format!("{scope}{}", self.facts.kind)
    }

    fn everywhere(&mut self) -> Value {
        let list = self.components.list(self.facts, &self.own);
        let id = format!("list{}{}ForAllNamespaces", self.prefix, self.facts.kind);
        let operation = Operation { id, gives: Some(&list), ..self.read("get", "list", parameters::LIST) };
        self.entry(&[], vec![operation], &[])
    }

    fn collection(&mut self) -> Value {
        let (list, status) = (self.components.list(self.facts, &self.own), self.components.status());
        let options = self.components.delete_options();
        let (prefix, noun) = (&self.prefix, self.noun());
        let operations = vec![
            Operation {
                id: format!("list{prefix}{noun}"),
                gives: Some(&list),
                ..self.read("get", "list", parameters::LIST)
            },
            Operation {
                id: format!("create{prefix}{noun}"),
                takes: Some((&self.own, &[ANY])),
                codes: &["200", "201", "202"],
                ..self.read("post", "post", parameters::WRITE)
            },
            Operation {
                id: format!("delete{prefix}Collection{noun}"),
                takes: Some((&options, &[ANY])),
                gives: Some(&status),
                ..self.read("delete", "deletecollection", parameters::DELETE_COLLECTION)
            },
        ];
        self.entry(&[], operations, &[])
    }

    fn object(&mut self) -> Value {
        let (status, options, patch) =
            (self.components.status(), self.components.delete_options(), self.components.patch());
        let (prefix, noun) = (&self.prefix, self.noun());
        let deleted = match self.facts.delete_answer {
            DeleteAnswer::Object => &self.own,
            DeleteAnswer::Status => &status,
        };
        let mut operations = self.reads_and_writes("", &self.own, &own_entry(self.facts), &patch);
        operations.push(Operation {
            id: format!("delete{prefix}{noun}"),
            takes: Some((&options, &[ANY])),
            gives: Some(deleted),
            codes: &["200", "202"],
            ..self.read("delete", "delete", parameters::DELETE)
        });
        self.entry(&["name"], operations, &[])
    }

    fn subresource(&mut self, subresource: Subresource) -> Value {
        let patch = self.components.patch();
        let component = self.components.subresource(subresource).unwrap_or_else(|| self.own.clone());
        let answered = Answered::by(subresource, self.facts);
        let kind = kind_entry(answered.group, answered.version, answered.kind);
        let name = capitalized(subresource.name());
        let operations = match subresource {
            Subresource::Part(_) | Subresource::Scale => {
                let mut operations = self.reads_and_writes(&name, &component, &kind, &patch);
                operations.retain(|operation| answered.verbs.contains(&verb_of(operation.action)));
                operations
            }
            Subresource::Binding | Subresource::Eviction | Subresource::Token => vec![Operation {
                id: format!("create{}{}{name}", self.prefix, self.noun()),
                kind,
                takes: Some((&component, &[ANY])),
                gives: Some(&component),
                codes: &["200", "201", "202"],
                ..self.read("post", "post", parameters::WRITE)
            }],
            Subresource::Log => vec![Operation {
                id: format!("read{}{}{name}", self.prefix, self.noun()),
                gives: None,
                ..self.read("get", "get", &[])
            }],
            Subresource::Exec | Subresource::Attach | Subresource::PortForward | Subresource::Proxy => {
                return self.connections(subresource, "");
            }
        };
        self.entry(&["name"], operations, parameters::of_subresource(subresource))
    }

    /// What is not read or written but connected to, by any of its methods.
    fn connections(&self, subresource: Subresource, suffix: &str) -> Value {
        let answered = Answered::by(subresource, self.facts);
        let kind = kind_entry(answered.group, answered.version, answered.kind);
        let methods: &[&'static str] = match subresource {
            Subresource::Proxy => &["delete", "get", "head", "options", "patch", "post", "put"],
            _ => &["get", "post"],
        };
        let name = capitalized(subresource.name());
        let operation = |method: &&'static str| Operation {
            id: format!("connect{}{}{}{name}{suffix}", self.prefix, capitalized(method), self.noun()),
            kind: kind.clone(),
            gives: None,
            ..self.read(method, "connect", &[])
        };
        let names: &[&str] = if suffix.is_empty() { &["name"] } else { &["name", "path"] };
        self.entry(names, methods.iter().map(operation).collect(), parameters::of_subresource(subresource))
    }

    /// What a whole object and its parts have in common: they are read, replaced and patched.
    fn reads_and_writes<'a>(
        &'a self,
        part: &str,
        component: &'a str,
        kind: &Value,
        patch: &'a str,
    ) -> Vec<Operation<'a>> {
        const FORMATS: &[&str] = &[
            PatchFormat::Json.media_type(),
            PatchFormat::Merge.media_type(),
            PatchFormat::StrategicMerge.media_type(),
        ];
        let id = |verb: &str| format!("{verb}{}{}{part}", self.prefix, self.noun());
        let of = |operation: Operation<'a>| Operation { kind: kind.clone(), gives: Some(component), ..operation };
        vec![
            of(Operation { id: id("read"), ..self.read("get", "get", &[]) }),
            of(Operation {
                id: id("replace"),
                takes: Some((component, &[ANY])),
                codes: &["200", "201"],
                ..self.read("put", "put", parameters::WRITE)
            }),
            of(Operation {
                id: id("patch"),
                takes: Some((patch, FORMATS)),
                codes: &["200", "201"],
                ..self.read("patch", "patch", parameters::PATCH)
            }),
        ]
    }

    /// An operation that takes no body and gives the object.
    fn read<'a>(
        &'a self,
        method: &'static str,
        action: &'static str,
        parameters: &'static [Parameter],
    ) -> Operation<'a> {
        let kind = own_entry(self.facts);
        let (id, gives) = (String::new(), Some(self.own.as_str()));
        Operation { method, action, id, kind, parameters, takes: None, gives, codes: &["200"] }
    }

    /// The entry of a path: its operations, and the parameters that all of them have.
    fn entry(&self, names: &[&str], operations: Vec<Operation<'_>>, shared: &[Parameter]) -> Value {
        let dialect = self.components.dialect;
        let mut entry = Map::new();
        for operation in operations {
            entry.insert(operation.method.to_owned(), self.written(&operation));
        }
        let namespace = self.facts.scope == Scope::Namespaced && (!names.is_empty() || entry.contains_key("post"));
        let in_path = names.iter().copied().chain(namespace.then_some("namespace"));
        let in_path = in_path.map(|name| dialect.parameter("path", name, "string"));
        // What is behind a proxy can stand in the path and in the query, under the same name.
        let in_query = shared.iter().chain(&[("pretty", "string")]);
        let in_query = in_query.map(|(name, kind)| dialect.parameter("query", name, kind));
        entry.insert("parameters".to_owned(), in_path.chain(in_query).collect());
        Value::Object(entry)
    }

    fn written(&self, operation: &Operation<'_>) -> Value {
        let dialect = self.components.dialect;
        let parameters = operation.parameters.iter().map(|(name, kind)| dialect.parameter("query", name, kind));
        let tag = self.prefix_tag();
        let mut written = json!({
            "operationId": operation.id,
            "tags": [tag],
            "parameters": parameters.collect::<Vec<Value>>(),
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": operation.kind,
        });
        if let Some((component, media_types)) = operation.takes {
            let readable: &[&str] = if media_types == [ANY] { &[JSON, YAML] } else { media_types };
            dialect.take(&mut written, component, readable);
        }
        dialect.give(&mut written, operation.codes, operation.gives);
        written
    }

    /// `core_v1`
    fn prefix_tag(&self) -> String {
        let group = short_group(self.facts.group).replace('.', "_");
        format!("{}_{}", if group.is_empty() { "core" } else { &group }, self.facts.version)
    }
}

/// The verb of discovery that an action is.
fn verb_of(action: &str) -> &str {
    match action {
        "put" => "update",
        "post" => "create",
        same => same,
    }
}

/// `CoreV1`, `RbacAuthorizationV1`
fn id_prefix(facts: &Facts) -> String {
    let group = match short_group(facts.group) {
        "" => "Core".to_owned(),
        group => group.split('.').map(capitalized).collect(),
    };
    format!("{group}{}", capitalized(facts.version))
}

fn short_group(group: &str) -> &str {
    group.strip_suffix(".k8s.io").unwrap_or(group)
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
