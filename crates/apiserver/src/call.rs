//! One request on objects of one kind, as the verbs see it.

use bytes::Bytes;
use model::manifest::body::{self, Body};
use model::manifest::{Format, Limits};
use serde_json::Value;

use crate::identity::User;
use crate::keys;
use crate::kind::{AnyObject, Scope, Served};
use crate::negotiate::{self, BodyFormat, Output};
use crate::options::FieldValidation;
use crate::protobuf;
use crate::query::Query;
use crate::status::Status;

/// A request on objects of one kind.
#[derive(Clone)]
pub struct Call {
    pub kind: &'static dyn Served,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub user: User,
    pub query: Query,
    pub output: Output,
    pub content_type: String,
    pub user_agent: String,
    pub body: Bytes,
}

/// An object that a request brought.
pub struct Sent {
    pub object: Box<dyn AnyObject>,
    pub warnings: Vec<String>,
    /// What there is to say about the object before its defaults, if it is a new one.
    pub warnings_if_new: Vec<String>,
}

impl Call {
    /// The place of the object that is named; a request that needs a name has one by its path.
    pub fn place(&self) -> String {
        keys::place(self.namespace.as_deref(), self.name())
    }

    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// What the places of all objects that are asked for begin with.
    pub fn below(&self) -> String {
        self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default()
    }

    /// Reads the body as one value.
    pub fn value(&self) -> Result<Body, Status> {
        let format = negotiate::body(&self.content_type)?;
        if self.body.is_empty() {
            return Err(Status::bad_request("the request needs a body"));
        }
        read(&self.body, format).map_err(|error| {
            let kind = self.kind.facts().kind;
            let version = self.kind.facts().version;
            Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}"))
        })
    }

    /// Reads the body as an object of the kind, with its defaults.
    pub fn object(&self, validation: FieldValidation) -> Result<Sent, Status> {
        let Body { value, repeated } = self.value()?;
        self.check_type(&value)?;
        let mut sent = decode(self.kind, &value, &repeated, validation)?;
        self.settle_namespace(&mut *sent.object)?;
        Ok(sent)
    }

    /// A body must be of the kind that the path names; one that says nothing is.
    fn check_type(&self, value: &Value) -> Result<(), Status> {
        let facts = self.kind.facts();
        let said = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let (kind, version, expected) = (said("kind"), said("apiVersion"), facts.api_version());
        if !value.is_object() {
            return Err(Status::bad_request(format!("the body is not a {}", facts.kind)));
        }
        if !version.is_empty() && version != expected {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            )));
        }
        if !kind.is_empty() && kind != facts.kind {
            return Err(Status::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {}: the kind does not match the path",
                facts.version, facts.kind
            )));
        }
        Ok(())
    }

    /// An object without a namespace gets that of the path; another one is refused.
    pub fn settle_namespace(&self, object: &mut dyn AnyObject) -> Result<(), Status> {
        let metadata = object.meta_mut();
        let said = metadata.namespace.as_deref().unwrap_or_default();
        match (self.kind.facts().scope, &self.namespace) {
            (Scope::Namespaced, Some(namespace)) if said.is_empty() => metadata.namespace = Some(namespace.clone()),
            (Scope::Namespaced, Some(namespace)) if said != namespace => {
                return Err(Status::bad_request(format!(
                    "the namespace of the provided object does not match the namespace sent on the request ({said} != {namespace})"
                )));
            }
            (Scope::Cluster, _) if said.is_empty() => metadata.namespace = None,
            (Scope::Namespaced | Scope::Cluster, _) => {}
        }
        Ok(())
    }
}

fn read(bytes: &[u8], format: BodyFormat) -> Result<Body, String> {
    let text = |format| body::read(bytes, format, &Limits::DEFAULT).map_err(|error| error.to_string());
    match format {
        BodyFormat::Json => text(Format::Json),
        BodyFormat::Yaml => text(Format::Yaml),
        BodyFormat::Protobuf => {
            let value = protobuf::read(bytes, &Limits::DEFAULT).map_err(|error| error.to_string())?;
            Ok(Body { value, repeated: Vec::new() })
        }
    }
}

/// Decodes a value as an object of the kind and fills in its defaults; what the client wants to hear about unknown and
/// repeated fields becomes warnings, or an error.
pub fn decode(
    kind: &'static dyn Served,
    value: &Value,
    repeated: &[String],
    validation: FieldValidation,
) -> Result<Sent, Status> {
    let facts = kind.facts();
    let decoded = kind.decode(value).map_err(|error| {
        let (name, version) = (facts.kind, facts.version);
        Status::bad_request(format!("{name} in version {version:?} cannot be handled as a {name}: {error}"))
    })?;
    let unknown = decoded.unknown.iter().map(|field| format!("unknown field {field:?}"));
    let repeated = repeated.iter().map(|field| format!("duplicate field {field:?}"));
    let mut warnings: Vec<String> = unknown.chain(repeated).collect();
    match validation {
        FieldValidation::Strict if !warnings.is_empty() => {
            let (name, version) = (facts.kind, facts.version);
            return Err(Status::bad_request(format!(
                "{name} in version {version:?} cannot be handled as a {name}: strict decoding error: {}",
                warnings.join(", ")
            )));
        }
        FieldValidation::Ignore => warnings.clear(),
        FieldValidation::Strict | FieldValidation::Warn => {}
    }
    let mut object = decoded.object;
    let warnings_if_new = kind.warnings_as_sent(&*object);
    kind.default(&mut *object);
    Ok(Sent { object, warnings, warnings_if_new })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::negotiate::{Layout, Shape};

    /// A config map named `a` with the entry `k: v`.
    const PROTOBUF: &[u8] =
        b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0d\x0a\x03\x0a\x01a\x12\x06\x0a\x01k\x12\x01v";

    fn call(resource: &str, content_type: &str, body: &'static [u8]) -> Call {
        let kind = crate::kinds::ALL.iter().find(|kind| kind.facts().resource == resource).unwrap();
        Call {
            kind: *kind,
            namespace: Some("n".to_owned()),
            name: None,
            user: User::anonymous(),
            query: Query::default(),
            output: Output { shape: Shape::Whole, layout: Layout::Compact },
            content_type: content_type.to_owned(),
            user_agent: String::new(),
            body: Bytes::from_static(body),
        }
    }

    #[test]
    fn the_same_object_may_be_sent_in_each_format() {
        let formats: [(&str, &[u8]); 3] = [
            ("application/json", br#"{"metadata": {"name": "a"}, "data": {"k": "v"}}"#),
            ("application/yaml", b"metadata: {name: a}\ndata: {k: v}"),
            ("application/vnd.kubernetes.protobuf", PROTOBUF),
        ];
        for (content_type, body) in formats {
            let sent = call("configmaps", content_type, body).object(FieldValidation::Strict).ok().unwrap();
            let value = sent.object.to_value();
            let metadata = serde_json::json!({"name": "a", "namespace": "n"});
            assert_eq!((&value["metadata"], &value["data"]["k"]), (&metadata, &Value::from("v")), "{content_type}");
        }
    }

    #[test]
    fn a_protobuf_body_of_another_kind_or_none_is_a_bad_request() {
        let refusal = |resource, body| {
            let call = call(resource, "application/vnd.kubernetes.protobuf", body);
            let status = call.object(FieldValidation::Ignore).err().unwrap();
            (status.code, status.message)
        };
        let (code, message) = refusal("secrets", PROTOBUF);
        assert_eq!(code, 400);
        assert!(message.starts_with("ConfigMap in version \"v1\" cannot be handled as a Secret"), "{message}");
        let (code, message) = refusal("secrets", b"{}");
        assert_eq!(code, 400);
        assert!(message.starts_with("Secret in version \"v1\" cannot be handled as a Secret: the body"), "{message}");
    }
}
