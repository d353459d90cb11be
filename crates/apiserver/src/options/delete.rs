//! Options of a delete: from the body if there is one, else from the query, never from both.

use lifecycle::deletion::{DeleteOptions, OptionsError as PropagationError, Preconditions};
use model::field::{Errors, go_quoted};
use model::manifest::Limits;
use serde::Deserialize;
use serde_json::Value;

use super::{DryRun, OptionsError, dry_run, integer, verdict};
use crate::negotiate::BodyFormat;
use crate::protobuf;
use crate::query::Query;

/// Values in a YAML body, aliases expanded. Real ones hold a dozen.
const MAX_YAML_NODES: usize = 10_000;

/// A delete as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteRequest {
    pub options: DeleteOptions,
    pub dry_run: DryRun,
    /// The code of the answer if the object stays for now: 200, or 202 for who sent the old `orphanDependents: false`.
    pub code_when_kept: u16,
}

/// What was sent, from either place.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Sent {
    grace_period_seconds: Option<i64>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    dry_run: Option<Vec<String>>,
    preconditions: Option<SentPreconditions>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentPreconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

/// Reads and checks the options of `delete`, and those that `deletecollection` applies to each object.
pub fn parse_delete(query: &Query, body: &[u8], format: BodyFormat) -> Result<DeleteRequest, OptionsError> {
    let sent = if body.is_empty() { from_query(query)? } else { from_body(body, format)? };
    let mut errors = Errors::new();
    let propagation = match DeleteOptions::parse_propagation(sent.orphan_dependents, sent.propagation_policy.as_deref())
    {
        Ok(propagation) => propagation,
        Err(PropagationError(found)) => {
            errors = found;
            None
        }
    };
    let dry_run = dry_run(&sent.dry_run.unwrap_or_default(), &mut errors);
    verdict("DeleteOptions", errors)?;
    let preconditions = sent.preconditions.unwrap_or_default();
    Ok(DeleteRequest {
        options: DeleteOptions {
            grace_seconds: sent.grace_period_seconds,
            preconditions: Preconditions { uid: preconditions.uid, resource_version: preconditions.resource_version },
            propagation,
        },
        dry_run,
        code_when_kept: if sent.orphan_dependents == Some(false) { 202 } else { 200 },
    })
}

fn from_query(query: &Query) -> Result<Sent, OptionsError> {
    let text = |name: &str| query.first(name).map(str::to_owned);
    // Here an empty precondition is none; in a body it is one that nothing meets.
    let given = |name: &str| text(name).filter(|value| !value.is_empty());
    Ok(Sent {
        grace_period_seconds: integer(query, "gracePeriodSeconds")?,
        orphan_dependents: query.switch("orphanDependents"),
        propagation_policy: text("propagationPolicy"),
        dry_run: Some(query.all("dryRun").map(str::to_owned).collect()),
        preconditions: Some(SentPreconditions { uid: given("uid"), resource_version: given("resourceVersion") }),
    })
}

fn from_body(body: &[u8], format: BodyFormat) -> Result<Sent, OptionsError> {
    let value: Value = match format {
        BodyFormat::Json => serde_json::from_slice(body).map_err(|error| unreadable(&error)),
        BodyFormat::Yaml => read_yaml(body),
        BodyFormat::Protobuf => protobuf::read(body, &Limits::DEFAULT).map_err(|error| unreadable(&error)),
    }?;
    let fields = match &value {
        Value::Null => return Ok(Sent::default()),
        Value::Object(fields) => fields,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(unreadable(&"the body is not an object"));
        }
    };
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = fields.get("apiVersion").and_then(Value::as_str).unwrap_or("v1");
        let (kind, version) = (go_quoted(kind), go_quoted(version));
        let why =
            format!("no kind {kind} is registered for version {version}: the body of a delete is a DeleteOptions");
        return Err(OptionsError::Malformed(why));
    }
    serde_json::from_value(value).map_err(|error| unreadable(&error))
}

fn read_yaml(body: &[u8]) -> Result<Value, OptionsError> {
    let text = std::str::from_utf8(body).map_err(|error| unreadable(&error))?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MAX_YAML_NODES, max_events: 2 * MAX_YAML_NODES },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_YAML_NODES },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| unreadable(&error))
}

fn unreadable(why: &dyn std::fmt::Display) -> OptionsError {
    OptionsError::Malformed(format!("the body cannot be read as DeleteOptions: {why}"))
}
