//! Reading manifests: bytes to pods, with the place of every mistake.
//!
//! YAML and JSON are read as kubectl reads them (`no` is false, `0644` is 420, several documents, `List` expanded) and
//! decoded as strictly as `--validate=strict` asks: a field nobody knows is an error, not silence. Whatever the bytes,
//! the cost is bounded by [`Limits`]. Nothing here judges values: that is `validation`.

pub mod body;
mod decode;
mod error;
mod kind;
mod locate;
mod source;
mod tree;

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::{Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

pub use error::{FieldFault, FieldFaultKind, Format, ManifestError, Place};
pub use kind::Kind;

use source::Source;
use tree::Meter;

/// What a manifest may cost. Callers read at most `max_bytes + 1` bytes and hand them over; the rest is enforced here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub max_bytes: usize,
    /// Levels of lists and objects; also what keeps recursion off the end of the stack.
    pub max_depth: usize,
    pub max_documents: usize,
    /// Values in all documents together, aliases expanded: bounds the untyped tree.
    pub max_values: usize,
    /// Fields of all typed structures together, filled or not: bounds the typed objects, since a container takes over
    /// two kilobytes even when the manifest says only `{}`.
    pub max_fields: usize,
}

impl Limits {
    pub const DEFAULT: Limits = Limits {
        max_bytes: 16 * 1024 * 1024,
        max_depth: 50,
        max_documents: 10_000,
        max_values: 1_000_000,
        max_fields: 2_000_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}

/// One object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Position among the documents that hold something, from 1; the items of a `List` share their document's.
    pub index: usize,
    /// The line on which the document starts, from 1.
    pub line: usize,
    pub kind: Kind,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub workload: Workload,
}

/// The pod a document holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    Pod(Box<Pod>),
    /// What a controller makes pods from; [`Document::pod_path`] says where it stood.
    Template(Box<PodTemplateSpec>),
}

impl Workload {
    pub fn metadata(&self) -> Option<&ObjectMeta> {
        match self {
            Workload::Pod(pod) => Some(&pod.metadata),
            Workload::Template(template) => template.metadata.as_ref(),
        }
    }

    pub fn spec(&self) -> Option<&PodSpec> {
        match self {
            Workload::Pod(pod) => pod.spec.as_ref(),
            Workload::Template(template) => template.spec.as_ref(),
        }
    }
}

impl Document {
    /// The field in which the pod stands: empty for a Pod, `spec.template` for a Deployment.
    pub const fn pod_path(&self) -> &'static str {
        self.kind.pod_path()
    }

    /// The same pod as one JSON object: a `Pod`, or a `PodTemplate` around the template.
    pub fn to_json(&self) -> Value {
        match &self.workload {
            Workload::Pod(pod) => decode::encode_pod(pod),
            Workload::Template(template) => serde_json::json!({
                "apiVersion": "v1",
                "kind": "PodTemplate",
                "metadata": { "name": self.name, "namespace": self.namespace },
                "template": decode::encode_template(template),
            }),
        }
    }
}

/// Reads every object of a manifest. The first document with a mistake ends the reading; all unknown fields of that
/// document are reported together.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Vec<Document>, ManifestError> {
    let text = source::text(bytes, limits)?;
    let meter = Meter::new(*limits);
    let mut documents = Vec::new();
    let mut index = 0;
    for source in source::split(text)? {
        let Some(value) = tree::parse(&source, index + 1, &meter)? else { continue };
        index += 1;
        if index > limits.max_documents {
            return Err(ManifestError::TooManyDocuments { max_documents: limits.max_documents });
        }
        let read = Object { index, source: &source, items: &[], value: &value };
        read.documents(&meter, &mut documents)?;
    }
    if documents.is_empty() {
        return Err(ManifestError::Empty);
    }
    Ok(documents)
}

/// An object that is about to be decoded, and where it stood in the text.
struct Object<'a> {
    index: usize,
    source: &'a Source<'a>,
    /// The way from the document to this object: one index for each `List` around it.
    items: &'a [usize],
    value: &'a Value,
}

impl Object<'_> {
    fn documents(&self, meter: &Meter, documents: &mut Vec<Document>) -> Result<(), ManifestError> {
        let Value::Object(map) = self.value else {
            let found = tree::describe(self.value);
            return Err(ManifestError::NotAnObject { at: self.place(&[]), found });
        };
        let kind = self.text_of(map.get("kind"), "kind")?;
        let api_version = self.text_of(map.get("apiVersion"), "apiVersion")?;
        if kind == "List" && api_version == "v1" {
            return self.list(map, meter, documents);
        }
        let Some(known) = Kind::named(kind) else {
            let (kind, api_version) = (kind.to_owned(), api_version.to_owned());
            return Err(ManifestError::UnknownKind { at: self.place(&["kind"]), kind, api_version });
        };
        if api_version != known.api_version() {
            let found = api_version.to_owned();
            return Err(ManifestError::WrongApiVersion { at: self.place(&["apiVersion"]), kind: known, found });
        }
        let decoded = decode::object(known, self.value, meter).map_err(|faults| self.faults(faults))?;
        documents.push(Document {
            index: self.index,
            line: self.source.line,
            kind: known,
            name: decoded.name,
            namespace: decoded.namespace,
            workload: decoded.workload,
        });
        Ok(())
    }

    fn list(
        &self,
        map: &serde_json::Map<String, Value>,
        meter: &Meter,
        documents: &mut Vec<Document>,
    ) -> Result<(), ManifestError> {
        let items = match map.get("items") {
            Some(Value::Array(items)) => items.as_slice(),
            None | Some(Value::Null) => &[],
            Some(other) => {
                let found = tree::describe(other);
                return Err(ManifestError::ItemsNotAList { at: self.place(&["items"]), found });
            }
        };
        for (i, value) in items.iter().enumerate() {
            let path = [self.items, &[i]].concat();
            Object { items: &path, value, ..*self }.documents(meter, documents)?;
        }
        Ok(())
    }

    fn text_of<'v>(&self, value: Option<&'v Value>, field: &'static str) -> Result<&'v str, ManifestError> {
        match value {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            None | Some(Value::Null | Value::String(_)) => {
                Err(ManifestError::MissingType { at: self.place(&[]), field })
            }
            Some(other) => {
                Err(ManifestError::TypeNotText { at: self.place(&[field]), field, found: tree::describe(other) })
            }
        }
    }

    fn place(&self, fields: &[&str]) -> Place {
        let steps = fields.iter().map(|field| locate::Step::Key((*field).to_owned()));
        let path = self.path_in_document(steps.collect());
        let (line, column) = locate::find(self.source.text, &path);
        self.source.place(self.index, line, column)
    }

    /// The path as seen from the document rather than from this object.
    fn path_in_document(&self, steps: Vec<locate::Step>) -> Vec<locate::Step> {
        let items = self.items.iter().flat_map(|i| [locate::Step::Key("items".to_owned()), locate::Step::Index(*i)]);
        items.chain(steps).collect()
    }

    fn faults(&self, faults: Vec<decode::Fault>) -> ManifestError {
        let paths: Vec<_> = faults.iter().map(|fault| self.path_in_document(fault.path.clone())).collect();
        let paths: Vec<&[locate::Step]> = paths.iter().map(Vec::as_slice).collect();
        let places = locate::find_all(self.source.text, &paths);
        let faults = faults.into_iter().zip(places).map(|(fault, (line, column))| FieldFault {
            at: self.source.place(self.index, line, column),
            field: locate::render(&fault.path),
            kind: fault.kind,
        });
        ManifestError::Fields(faults.collect())
    }
}
