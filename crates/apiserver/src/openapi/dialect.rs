//! What the two versions of OpenAPI say differently: where schemas stand, references with something beside them,
//! values that are a number or a text, parameters, bodies and answers.

use serde_json::{Map, Value, json};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const JSON: &str = "application/json";

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    V2,
    V3,
}

impl Dialect {
    /// Where the schemas stand in a document.
    pub const fn definitions_path(self) -> &'static str {
        match self {
            Dialect::V2 => "/definitions",
            Dialect::V3 => "/components/schemas",
        }
    }

    pub fn reference(self, component: &str) -> Value {
        json!({ "$ref": format!("#{}/{component}", self.definitions_path()) })
    }

    /// Rewrites a schema, and all schemas inside it, into this version's form.
    pub fn settle(self, name: &str, schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                for (_, inner) in fields.iter_mut() {
                    self.settle(name, inner);
                }
                if fields.remove(INT_OR_STRING).is_some() {
                    self.number_or_text(name, fields);
                }
                if self == Dialect::V3 && fields.len() > 1 && fields.get("$ref").is_some_and(Value::is_string) {
                    // What stands beside a reference does not count in version 3.0.
                    let reference = fields.remove("$ref").unwrap_or_default();
                    fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.settle(name, item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn number_or_text(self, name: &str, fields: &mut Map<String, Value>) {
        let (number, format) = if name == QUANTITY { ("number", None) } else { ("integer", Some("int-or-string")) };
        match self {
            Dialect::V2 => fields.insert("type".to_owned(), "string".into()),
            Dialect::V3 => fields.insert("oneOf".to_owned(), json!([{ "type": "string" }, { "type": number }])),
        };
        if let Some(format) = format {
            fields.insert("format".to_owned(), format.into());
        }
    }

    /// A parameter of an operation or a path.
    pub fn parameter(self, place: &str, name: &str, kind: &str) -> Value {
        let mut parameter = match self {
            Dialect::V2 => json!({ "in": place, "name": name, "type": kind, "uniqueItems": true }),
            Dialect::V3 => json!({ "in": place, "name": name, "schema": { "type": kind, "uniqueItems": true } }),
        };
        if place == "path" {
            parameter["required"] = true.into();
        }
        parameter
    }

    /// Adds to an operation that it takes a body.
    pub fn take(self, operation: &mut Value, component: &str, media_types: &[&str]) {
        let schema = self.reference(component);
        match self {
            Dialect::V2 => {
                operation["consumes"] = json!(media_types);
                let body = json!({ "in": "body", "name": "body", "required": true, "schema": schema });
                if let Some(parameters) = operation["parameters"].as_array_mut() {
                    parameters.push(body);
                }
            }
            Dialect::V3 => {
                let content: Map<String, Value> = media_types
                    .iter()
                    .map(|media_type| ((*media_type).to_owned(), json!({ "schema": schema })))
                    .collect();
                operation["requestBody"] = json!({ "content": content });
            }
        }
    }

    /// Adds to an operation what it answers with: a component, or text where there is none.
    pub fn give(self, operation: &mut Value, codes: &[&str], component: Option<&str>) {
        let (media_type, schema) = match component {
            Some(component) => (JSON, self.reference(component)),
            None => ("*/*", json!({ "type": "string" })),
        };
        let response = |code: &str| {
            let description = if code == "201" { "Created" } else { "OK" };
            match self {
                Dialect::V2 => json!({ "description": description, "schema": schema }),
                Dialect::V3 => json!({ "description": description, "content": { media_type: { "schema": schema } } }),
            }
        };
        let mut responses: Map<String, Value> = codes.iter().map(|code| ((*code).to_owned(), response(code))).collect();
        responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
        operation["responses"] = Value::Object(responses);
        if self == Dialect::V2 {
            operation["produces"] = json!([media_type]);
        }
    }
}
