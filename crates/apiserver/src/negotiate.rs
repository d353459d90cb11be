//! Formats: what an answer may look like for a client, and what a body claims to be.
//!
//! Answers are JSON; a client that takes nothing else gets a 406 and can fall back. Clauses are weighed exactly as
//! upstream weighs them, oddities included: `q=0` is only the last choice, and a named type goes before a wildcard
//! of higher weight.

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::protobuf::MEDIA_TYPE as PROTOBUF;
use crate::status::Status;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
/// Clauses of an `Accept` header that are looked at; weighing them costs the square of their number.
const MAX_CLAUSES: usize = 64;

/// What kind of answer an endpoint can give besides its own object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Objects, which can be shown as tables or reduced to their metadata.
    Objects,
    /// `/api` and `/apis`, which can be aggregated.
    Discovery,
    /// Nothing but the answer itself.
    Plain,
}

/// The version of the `meta.k8s.io` group in which an answer is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    pub const fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What is shown of the object asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The object itself.
    Whole,
    Table(MetaVersion),
    PartialObjectMetadata(MetaVersion),
    PartialObjectMetadataList(MetaVersion),
    /// All groups with all their resources in one document, `apidiscovery.k8s.io/v2`.
    AggregatedDiscovery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Compact,
    /// Indented for people.
    Pretty,
}

/// The answer a client wants, always as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    pub shape: Shape,
    pub layout: Layout,
}

/// The format of a body that holds an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    Json,
    Yaml,
    Protobuf,
}

/// The format of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchFormat {
    Json,
    Merge,
    StrategicMerge,
}

impl PatchFormat {
    const ALL: [PatchFormat; 3] = [PatchFormat::Json, PatchFormat::Merge, PatchFormat::StrategicMerge];

    pub const fn media_type(self) -> &'static str {
        match self {
            PatchFormat::Json => "application/json-patch+json",
            PatchFormat::Merge => "application/merge-patch+json",
            PatchFormat::StrategicMerge => "application/strategic-merge-patch+json",
        }
    }
}

/// How the bytes of an answer are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Identity,
    Gzip,
}

/// Why no format could be agreed on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NegotiateError {
    #[error("nothing the client accepts is offered")]
    NotAcceptable,
    #[error("the body is neither JSON nor YAML nor protobuf")]
    UnknownBody,
    #[error("the patch is of no known kind")]
    UnknownPatch,
}

impl From<NegotiateError> for Status {
    fn from(error: NegotiateError) -> Status {
        match error {
            NegotiateError::NotAcceptable => Status::not_acceptable(&[JSON]),
            NegotiateError::UnknownBody => Status::unsupported_media_type(&[JSON, YAML, PROTOBUF]),
            NegotiateError::UnknownPatch => {
                Status::unsupported_media_type(&PatchFormat::ALL.map(PatchFormat::media_type))
            }
        }
    }
}

/// Chooses the answer from the `Accept` header; no header accepts everything.
pub fn output(accept: &str, endpoint: Endpoint) -> Result<Output, NegotiateError> {
    if accept.is_empty() {
        return Ok(Output { shape: Shape::Whole, layout: Layout::Compact });
    }
    let mut clauses: Vec<Clause<'_>> = Vec::new();
    for clause in accept.split(',').filter_map(Clause::parse).take(MAX_CLAUSES) {
        // Not a sort of the standard library: the order is not transitive, and this is what upstream's insertion makes
        // of it.
        let mut at = clauses.len();
        while at > 0 && clause.goes_before(&clauses[at - 1]) {
            at -= 1;
        }
        clauses.insert(at, clause);
    }
    clauses.iter().find_map(|clause| clause.offer(endpoint)).ok_or(NegotiateError::NotAcceptable)
}

/// Reads the `Content-Type` of a body that holds an object; none at all means JSON.
pub fn body(content_type: &str) -> Result<BodyFormat, NegotiateError> {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media_type.as_str() {
        "" if content_type.is_empty() => Ok(BodyFormat::Json),
        JSON => Ok(BodyFormat::Json),
        YAML => Ok(BodyFormat::Yaml),
        PROTOBUF => Ok(BodyFormat::Protobuf),
        _ => Err(NegotiateError::UnknownBody),
    }
}

/// Reads the `Content-Type` of a patch, which has no default.
pub fn patch(content_type: &str) -> Result<PatchFormat, NegotiateError> {
    let media_type = content_type.split(';').next().unwrap_or_default();
    let known = PatchFormat::ALL.into_iter().find(|format| format.media_type() == media_type);
    known.ok_or(NegotiateError::UnknownPatch)
}

/// Whether the client takes gzip. As upstream has it, a weight makes the client one that does not.
pub fn encoding(accept_encoding: &str) -> Encoding {
    let gzip = accept_encoding.split(',').any(|token| token.trim() == "gzip");
    if gzip { Encoding::Gzip } else { Encoding::Identity }
}

/// One alternative of an `Accept` header.
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    weight: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Clause<'a>> {
        let mut parts = text.split(';');
        let mut names = parts.next()?.split('/').map(|name| name.trim_matches(' '));
        let (kind, subtype) = match (names.next()?, names.next(), names.next()) {
            ("*", None | Some(""), None) => ("*", "*"),
            (kind, Some(subtype), None) if !subtype.is_empty() => (kind, subtype),
            _ => return None,
        };
        let mut clause = Clause { kind, subtype, weight: 1.0, parameters: Vec::new() };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let name = name.trim_matches(' ');
            if value.is_empty() || value.contains('=') {
                continue;
            }
            if name == "q" {
                clause.weight = value.parse().unwrap_or(0.0);
            } else {
                clause.parameters.push((name, value.trim_matches(' ')));
            }
        }
        Some(clause)
    }

    fn goes_before(&self, other: &Clause<'_>) -> bool {
        self.weight > other.weight
            || (self.kind != "*" && other.kind == "*")
            || (self.subtype != "*" && other.subtype == "*")
    }

    /// A repeated parameter counts as it was given last.
    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn offer(&self, endpoint: Endpoint) -> Option<Output> {
        let json = matches!((self.kind, self.subtype), ("application", "json" | "*") | ("*", "*"));
        let stream = self.parameter("stream").is_none_or(|schema| matches!(schema, "" | "watch"));
        let version = self.parameter("sv").is_none_or(|version| match endpoint {
            Endpoint::Objects => matches!(version, "" | "v1"),
            Endpoint::Discovery | Endpoint::Plain => version.is_empty(),
        });
        if !(json && stream && version) {
            return None;
        }
        let layout = if self.parameter("pretty") == Some("1") { Layout::Pretty } else { Layout::Compact };
        Some(Output { shape: self.shape(endpoint)?, layout })
    }

    fn shape(&self, endpoint: Endpoint) -> Option<Shape> {
        let target = (self.parameter("g"), self.parameter("v"), self.parameter("as"));
        let (group, version, kind) = match target {
            (None, None, None) => return Some(Shape::Whole),
            (group, version, kind) => (group?, version?, kind?),
        };
        match endpoint {
            Endpoint::Plain => None,
            Endpoint::Discovery => {
                let aggregated = (group, version, kind) == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList");
                aggregated.then_some(Shape::AggregatedDiscovery)
            }
            Endpoint::Objects => {
                let version = match (group, version) {
                    ("meta.k8s.io", "v1") => MetaVersion::V1,
                    ("meta.k8s.io", "v1beta1") => MetaVersion::V1Beta1,
                    _ => return None,
                };
                match kind {
                    "Table" => Some(Shape::Table(version)),
                    "PartialObjectMetadata" => Some(Shape::PartialObjectMetadata(version)),
                    "PartialObjectMetadataList" => Some(Shape::PartialObjectMetadataList(version)),
                    _ => None,
                }
            }
        }
    }
}
