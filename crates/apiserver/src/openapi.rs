//! OpenAPI documents: what every kind looks like and what can be done with it, for clients that explain, check and
//! merge objects.
//!
//! The schemas come with the types of the kinds; [`schemas`] brings them into upstream's form, [`merging`] says how
//! lists are merged, [`operations`] what stands at each path. A document is made when it is first asked for and kept: what
//! is served does not change while the server runs, so there is one per group version, the index, and the one of
//! version 2.

mod dialect;
mod merging;
mod operations;
mod parameters;
mod schemas;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bytes::Bytes;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Caching};
use crate::api::Kinds;
use crate::kind::{Facts, Served};
use crate::path::OpenApi;
use crate::query::Query;
use crate::status::Status;
use crate::verbs::to_json;
use dialect::Dialect;

/// The version that documents say the API is of.
const INFO_VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The documents that somebody has asked for.
#[derive(Default)]
pub struct Documents {
    v2: OnceLock<Document>,
    v3: OnceLock<V3>,
}

/// The documents of version 3, which the index names by what is in them, so that they are made together.
struct V3 {
    index: Document,
    /// By group and version.
    all: BTreeMap<(&'static str, &'static str), Document>,
}

/// A document and the hash of its bytes.
struct Document {
    body: Bytes,
    hash: String,
}

impl Document {
    fn new(value: &Value) -> Document {
        let body = to_json(value);
        let hash = digest(&SHA256, &body).as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        Document { body, hash }
    }

    /// A client that names the right hash has a URL under which nothing else will ever be found.
    fn answer(&self, query: &Query) -> Answer {
        let mut answer = Answer::json(200, self.body.clone());
        answer.caching = match query.first("hash") {
            Some(hash) if hash == self.hash => Caching::Immutable(self.hash.clone()),
            Some(_) | None => Caching::Tagged(self.hash.clone()),
        };
        answer
    }
}

/// Answers a request for a document, as JSON.
pub fn answer(kinds: &Kinds, wanted: &OpenApi, query: &Query) -> Result<Answer, Status> {
    let v3 = || kinds.documents.v3.get_or_init(|| v3(kinds.all()));
    let document = match wanted {
        OpenApi::V2 => kinds.documents.v2.get_or_init(|| Document::new(&v2(kinds.all()))),
        OpenApi::V3Index => &v3().index,
        OpenApi::V3 { group, version } => {
            let named = v3().all.iter().find(|((g, v), _)| g == group && v == version);
            named.map(|(_, document)| document).ok_or_else(Status::unknown_path)?
        }
    };
    Ok(document.answer(query))
}

fn v2(kinds: &[&'static dyn Served]) -> Value {
    let (definitions, paths) = described(kinds, kinds, Dialect::V2);
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": INFO_VERSION },
        "paths": paths,
        "definitions": definitions,
    })
}

fn v3(kinds: &[&'static dyn Served]) -> V3 {
    let mut by_version: BTreeMap<_, Vec<&'static dyn Served>> = BTreeMap::new();
    for kind in kinds {
        by_version.entry((kind.facts().group, kind.facts().version)).or_default().push(*kind);
    }
    let all: BTreeMap<_, _> = by_version
        .into_iter()
        .map(|(version, here)| {
            let (schemas, paths) = described(&here, kinds, Dialect::V3);
            let document = json!({
                "openapi": "3.0.0",
                "info": { "title": "Kubernetes", "version": INFO_VERSION },
                "paths": paths,
                "components": { "schemas": schemas },
            });
            (version, Document::new(&document))
        })
        .collect();
    let entries = all.iter().map(|((group, version), document)| {
        let path = below_root(group, version);
        let url = format!("/openapi/v3/{path}?hash={}", document.hash);
        (path, json!({ "serverRelativeURL": url }))
    });
    let paths: Map<String, Value> = entries.collect();
    V3 { index: Document::new(&json!({ "paths": paths })), all }
}

/// The schemas and the paths of some of the kinds.
fn described(some: &[&'static dyn Served], all: &[&'static dyn Served], dialect: Dialect) -> (Value, Value) {
    let mut components = schemas::Components::new(dialect, all);
    let mut paths = Map::new();
    for kind in some {
        operations::describe(*kind, &mut components, &mut paths);
    }
    (components.finish(), Value::Object(paths))
}

/// `api/v1`, or `apis/apps/v1`.
fn below_root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// A kind as documents name it.
fn kind_entry(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

fn own_entry(facts: &Facts) -> Value {
    kind_entry(facts.group, facts.version, facts.kind)
}
