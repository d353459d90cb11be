//! What a webhook answered: its `AdmissionReview` read, and refused if it is not an answer to what was asked.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::field::go_quoted;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::status::{Cause, Details, Outcome, Reason, Status};

/// All warnings of one answer together are not longer than this, in characters.
const WARNINGS_CHARS_MAX: usize = 4096;
/// Each warning is cut to this when all together are too long.
const WARNING_CHARS: usize = 256;
/// More causes of a denial than this are not passed on.
const CAUSES_MAX: usize = 100;
const KIND: &str = "admission.k8s.io/v1, Kind=AdmissionReview";

/// A webhook's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub ruling: Ruling,
    /// For the client; bounded.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    Allowed,
    /// Allowed with this list of operations applied to the object.
    AllowedWithPatch(Value),
    Denied(Denial),
}

/// Why a webhook says no, in its own words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denial {
    code: i64,
    reason: String,
    message: String,
    details: Details,
}

/// Why an answer is none.
#[derive(Debug, Error)]
pub enum ReviewError {
    #[error("the answer is no AdmissionReview: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("webhook response was absent")]
    NoResponse,
    #[error("expected response.uid={}, got {}", go_quoted(expected), go_quoted(got))]
    OtherUid { expected: String, got: String },
    #[error("expected webhook response of {KIND}, got {version}, Kind={kind}")]
    OtherKind { version: String, kind: String },
    #[error("webhook returned response.patch but not response.patchType")]
    PatchWithoutType,
    #[error("webhook returned response.patchType but not response.patch")]
    TypeWithoutPatch,
    #[error("unsupported patch type {}", go_quoted(.0))]
    PatchType(String),
    #[error("received undecodable patch in webhook response: {0}")]
    Patch(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: Option<String>,
    kind: Option<String>,
    response: Option<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    uid: Option<String>,
    allowed: Option<bool>,
    status: Option<Said>,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    code: Option<i64>,
    reason: Option<String>,
    message: Option<String>,
    details: Option<SaidDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaidDetails {
    name: Option<String>,
    group: Option<String>,
    kind: Option<String>,
    uid: Option<String>,
    causes: Option<Vec<SaidCause>>,
    retry_after_seconds: Option<i64>,
}

#[derive(Deserialize)]
struct SaidCause {
    message: Option<String>,
    field: Option<String>,
}

/// Reads a webhook's answer to the question with this UID.
pub fn read_review(bytes: &[u8], expected_uid: &str) -> Result<Verdict, ReviewError> {
    let answer: Answer = serde_json::from_slice(bytes)?;
    let response = answer.response.ok_or(ReviewError::NoResponse)?;
    let uid = response.uid.unwrap_or_default();
    if uid != expected_uid {
        return Err(ReviewError::OtherUid { expected: expected_uid.to_owned(), got: uid });
    }
    let (version, kind) = (answer.api_version.unwrap_or_default(), answer.kind.unwrap_or_default());
    if version != "admission.k8s.io/v1" || kind != "AdmissionReview" {
        return Err(ReviewError::OtherKind { version, kind });
    }
    let patch = response.patch.filter(|patch| !patch.is_empty());
    let patch = read_patch(patch.as_deref(), response.patch_type.as_deref())?;
    let ruling = match (response.allowed.unwrap_or_default(), patch) {
        (true, Some(patch)) => Ruling::AllowedWithPatch(patch),
        (true, None) => Ruling::Allowed,
        (false, _) => Ruling::Denied(Denial::from(response.status.unwrap_or_default())),
    };
    Ok(Verdict { ruling, warnings: bounded(response.warnings.unwrap_or_default()) })
}

/// A patch without operations is none.
fn read_patch(patch: Option<&str>, patch_type: Option<&str>) -> Result<Option<Value>, ReviewError> {
    let encoded = match (patch, patch_type) {
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(ReviewError::PatchWithoutType),
        (None, Some(_)) => return Err(ReviewError::TypeWithoutPatch),
        (Some(patch), Some("JSONPatch")) => patch,
        (Some(_), Some(other)) => return Err(ReviewError::PatchType(other.to_owned())),
    };
    let text = STANDARD.decode(encoded).map_err(|error| ReviewError::Patch(error.to_string()))?;
    let patch: Value = serde_json::from_slice(&text).map_err(|error| ReviewError::Patch(error.to_string()))?;
    match patch.as_array() {
        Some(operations) => Ok((!operations.is_empty()).then_some(patch)),
        None => Err(ReviewError::Patch("it is not a list of operations".to_owned())),
    }
}

fn bounded(warnings: Vec<String>) -> Vec<String> {
    let length = |warning: &String| warning.chars().count();
    if warnings.iter().map(length).sum::<usize>() <= WARNINGS_CHARS_MAX && warnings.len() <= WARNING_CHARS {
        return warnings;
    }
    let mut left = WARNINGS_CHARS_MAX;
    let cut = warnings.into_iter().take(WARNING_CHARS).map(|warning| warning.chars().take(WARNING_CHARS).collect());
    let fits = |warning: &String| {
        left = left.saturating_sub(length(warning));
        left > 0
    };
    cut.take_while(fits).collect()
}

impl From<Said> for Denial {
    fn from(said: Said) -> Denial {
        Denial {
            code: said.code.unwrap_or_default(),
            reason: said.reason.unwrap_or_default(),
            message: said.message.unwrap_or_default(),
            details: said.details.map(Details::from).unwrap_or_default(),
        }
    }
}

impl From<SaidDetails> for Details {
    fn from(said: SaidDetails) -> Details {
        let cause = |cause: SaidCause| Cause {
            reason: None,
            message: cause.message.unwrap_or_default(),
            field: cause.field.unwrap_or_default(),
        };
        Details {
            name: said.name.unwrap_or_default(),
            group: said.group.unwrap_or_default(),
            kind: said.kind.unwrap_or_default(),
            uid: said.uid.unwrap_or_default(),
            causes: said.causes.into_iter().flatten().take(CAUSES_MAX).map(cause).collect(),
            retry_after_seconds: u32::try_from(said.retry_after_seconds.unwrap_or_default()).unwrap_or_default(),
        }
    }
}

impl Denial {
    /// How the client is told. A denial never looks like a success, whatever code the webhook chose.
    pub fn status(self, webhook: &str) -> Status {
        let denied = format!("admission webhook {} denied the request", go_quoted(webhook));
        let message = match (self.message.as_str(), self.reason.as_str()) {
            ("", "") => format!("{denied} without explanation"),
            ("", said) | (said, _) => format!("{denied}: {said}"),
        };
        Status {
            outcome: Outcome::Failure,
            message,
            reason: known_reason(&self.reason),
            details: (self.details != Details::default()).then(|| Box::new(self.details)),
            code: match self.code {
                ..400 => 400,
                code => u16::try_from(code).ok().filter(|code| *code < 600).unwrap_or(500),
            },
        }
    }
}

/// Reasons that no client of the API knows are left out; they are in the message if there is no other.
fn known_reason(reason: &str) -> Option<Reason> {
    Some(match reason {
        "Unauthorized" => Reason::Unauthorized,
        "Forbidden" => Reason::Forbidden,
        "NotFound" => Reason::NotFound,
        "AlreadyExists" => Reason::AlreadyExists,
        "Conflict" => Reason::Conflict,
        "Gone" => Reason::Gone,
        "Expired" => Reason::Expired,
        "Invalid" => Reason::Invalid,
        "BadRequest" => Reason::BadRequest,
        "MethodNotAllowed" => Reason::MethodNotAllowed,
        "NotAcceptable" => Reason::NotAcceptable,
        "UnsupportedMediaType" => Reason::UnsupportedMediaType,
        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
        "TooManyRequests" => Reason::TooManyRequests,
        "ServerTimeout" => Reason::ServerTimeout,
        "Timeout" => Reason::Timeout,
        "InternalError" => Reason::InternalError,
        "ServiceUnavailable" => Reason::ServiceUnavailable,
        _ => return None,
    })
}
