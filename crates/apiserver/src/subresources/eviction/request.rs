//! What an eviction asks for: an `Eviction` of `policy/v1`, or of `policy/v1beta1`, which has the same fields.

use model::field::{Errors, Path};
use model::manifest::{Limits, body};
use serde_json::{Value, json};

use crate::call::Call;
use crate::negotiate::BodyFormat;
use crate::options::{DeleteRequest, DryRun, WriteVerb, parse_delete, parse_write};
use crate::query::Query;
use crate::status::{Outcome, Qualified, Status};

/// An eviction that was read and checked.
pub struct Eviction {
    /// As `policy/v1` has it.
    pub value: Value,
    /// The delete that it comes to.
    pub request: DeleteRequest,
}

impl Eviction {
    pub fn read(call: &Call, sent: &Value) -> Result<Eviction, Status> {
        let value = as_v1(sent)?;
        let eviction = body::decode::<k8s_openapi::api::policy::v1::Eviction>(&value, &Limits::DEFAULT)
            .map_err(|error| Status::bad_request(format!("Eviction cannot be handled as an Eviction: {error}")))?
            .object;
        let name = eviction.metadata.name.as_deref().unwrap_or_default();
        if name != call.name() {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        let options = eviction.delete_options.unwrap_or_default();
        if options.ignore_store_read_error_with_cluster_breaking_potential == Some(true) {
            let root = Path::root();
            let mut errors = Errors::new();
            let path = root.child("deleteOptions");
            let detail = "can not be set for pod eviction, try after removing the option";
            errors.invalid(path.child("ignoreStoreReadErrorWithClusterBreakingPotential"), true, detail);
            return Err(Status::invalid(Qualified::new("policy", "Eviction"), name, &errors));
        }
        let request = delete_request(call, &value, options.dry_run.as_deref().unwrap_or_default())?;
        Ok(Eviction { value, request })
    }
}

/// The same body under the version that is served.
fn as_v1(sent: &Value) -> Result<Value, Status> {
    let said = |field: &str| sent.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (said("apiVersion"), said("kind"));
    let known = matches!(version, "" | "policy/v1" | "policy/v1beta1") && matches!(kind, "" | "Eviction");
    if !known || !sent.is_object() {
        return Err(Status::bad_request(format!(
            "the body of an eviction is an Eviction of policy/v1 or policy/v1beta1, not a {kind:?} of {version:?}"
        )));
    }
    let mut value = sent.clone();
    value["apiVersion"] = "policy/v1".into();
    value["kind"] = "Eviction".into();
    Ok(value)
}

/// A dry run may be asked for in the request or in the body.
fn delete_request(call: &Call, eviction: &Value, in_body: &[String]) -> Result<DeleteRequest, Status> {
    let in_request: Vec<&str> = call.query.all("dryRun").collect();
    if !in_request.is_empty() && !in_body.is_empty() && in_request != in_body {
        let (request, content) = (in_request.join(" "), in_body.join(" "));
        let message = format!("Non-matching dry-run options in request and content: [{request}] and [{content}]");
        return Err(Status { outcome: Outcome::Failure, message, code: 500, ..Status::success(None) });
    }
    let options = eviction.get("deleteOptions").filter(|options| !options.is_null()).cloned().unwrap_or(json!({}));
    let mut request = parse_delete(&Query::default(), options.to_string().as_bytes(), BodyFormat::Json)?;
    if parse_write(&call.query, WriteVerb::Create)?.dry_run == DryRun::All {
        request.dry_run = DryRun::All;
    }
    Ok(request)
}
