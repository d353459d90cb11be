//! The `Status` object: how the server tells a client that something failed, or that there is nothing else to say.
//!
//! Every constructor fixes code, reason and the form of the message, as clients know them from upstream. Deciding which
//! failure it was is the caller's work.

#[cfg(test)]
mod tests;

use model::field::{Errors, go_quoted};
use serde::Serialize;

/// A resource or a kind with its group, as messages name it: `pods`, `deployments.apps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qualified<'a> {
    pub group: &'a str,
    pub name: &'a str,
}

impl<'a> Qualified<'a> {
    pub const fn new(group: &'a str, name: &'a str) -> Qualified<'a> {
        Qualified { group, name }
    }

    /// Something of the core group.
    pub const fn core(name: &'a str) -> Qualified<'a> {
        Qualified { group: "", name }
    }

    fn text(self) -> String {
        if self.group.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.name, self.group) }
    }
}

/// The machine-readable reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Reason {
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Expired,
    Invalid,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    UnsupportedMediaType,
    RequestEntityTooLarge,
    TooManyRequests,
    ServerTimeout,
    Timeout,
    InternalError,
    ServiceUnavailable,
}

impl Reason {
    /// The HTTP code that goes with it.
    pub const fn code(self) -> u16 {
        match self {
            Reason::BadRequest => 400,
            Reason::Unauthorized => 401,
            Reason::Forbidden => 403,
            Reason::NotFound => 404,
            Reason::MethodNotAllowed => 405,
            Reason::NotAcceptable => 406,
            Reason::AlreadyExists | Reason::Conflict => 409,
            Reason::Gone | Reason::Expired => 410,
            Reason::RequestEntityTooLarge => 413,
            Reason::UnsupportedMediaType => 415,
            Reason::Invalid => 422,
            Reason::TooManyRequests => 429,
            Reason::InternalError | Reason::ServerTimeout => 500,
            Reason::ServiceUnavailable => 503,
            Reason::Timeout => 504,
        }
    }
}

/// Whether the request was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    Success,
    Failure,
}

/// One of the things that were wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cause {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// What the request was about, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource, or for [`Status::invalid`] the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

impl Details {
    fn about(what: Qualified<'_>, name: &str) -> Details {
        Details {
            name: name.to_owned(),
            group: what.group.to_owned(),
            kind: what.name.to_owned(),
            ..Details::default()
        }
    }

    fn retry_after(seconds: u32) -> Details {
        Details { retry_after_seconds: seconds, ..Details::default() }
    }
}

/// The answer to a request that has no object to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub outcome: Outcome,
    pub message: String,
    pub reason: Option<Reason>,
    pub details: Option<Box<Details>>,
    pub code: u16,
}

impl Status {
    /// It was done, and this is what it was done to.
    pub fn success(details: Option<Details>) -> Status {
        Status {
            outcome: Outcome::Success,
            message: String::new(),
            reason: None,
            details: details.map(Box::new),
            code: 200,
        }
    }

    pub fn not_found(what: Qualified<'_>, name: &str) -> Status {
        let message = format!("{} {} not found", what.text(), go_quoted(name));
        Status::about(Reason::NotFound, message, what, name)
    }

    /// Nothing is served at this path. The words are those clients show when a server says nothing itself.
    pub fn unknown_path() -> Status {
        let message = "the server could not find the requested resource";
        Status::failure(Reason::NotFound, message, Some(Details::default()))
    }

    pub fn already_exists(what: Qualified<'_>, name: &str) -> Status {
        let message = format!("{} {} already exists", what.text(), go_quoted(name));
        Status::about(Reason::AlreadyExists, message, what, name)
    }

    /// Every name that `generateName` led to was taken.
    pub fn generated_name_taken(what: Qualified<'_>, name: &str, retry_after_seconds: u32) -> Status {
        let message = format!(
            "{} {} already exists, the server was not able to generate a unique name for the object",
            what.text(),
            go_quoted(name)
        );
        let details = Details { retry_after_seconds, ..Details::about(what, name) };
        Status::failure(Reason::AlreadyExists, message, Some(details))
    }

    pub fn conflict(what: Qualified<'_>, name: &str, why: &str) -> Status {
        let message = format!("Operation cannot be fulfilled on {} {}: {why}", what.text(), go_quoted(name));
        Status::about(Reason::Conflict, message, what, name)
    }

    /// The object is not valid; `kind` is the kind, not the resource.
    pub fn invalid(kind: Qualified<'_>, name: &str, errors: &Errors) -> Status {
        let causes = errors.iter().map(|error| Cause {
            reason: Some(error.reason()),
            message: error.message.clone(),
            field: error.field.clone(),
        });
        let details = Details { causes: causes.collect(), ..Details::about(kind, name) };
        let subject = format!("{} {} is invalid", kind.text(), go_quoted(name));
        let message = match aggregated(errors) {
            Some(errors) => format!("{subject}: {errors}"),
            None => subject,
        };
        Status::failure(Reason::Invalid, message, Some(details))
    }

    /// An empty name speaks of the resource as a whole, an empty resource of none at all.
    pub fn forbidden(what: Qualified<'_>, name: &str, why: &str) -> Status {
        let message = match (what.text().as_str(), name) {
            ("", _) => format!("forbidden: {why}"),
            (resource, "") => format!("{resource} is forbidden: {why}"),
            (resource, name) => format!("{resource} {} is forbidden: {why}", go_quoted(name)),
        };
        Status::about(Reason::Forbidden, message, what, name)
    }

    /// An empty text says `not authorized`.
    pub fn unauthorized(why: &str) -> Status {
        Status::failure(Reason::Unauthorized, if why.is_empty() { "not authorized" } else { why }, None)
    }

    pub fn bad_request(why: impl Into<String>) -> Status {
        Status::failure(Reason::BadRequest, why, None)
    }

    /// `action` is the verb that the resource does not have.
    pub fn method_not_supported(what: Qualified<'_>, action: &str) -> Status {
        let message = format!("{action} is not supported on resources of kind {}", go_quoted(&what.text()));
        Status::about(Reason::MethodNotAllowed, message, what, "")
    }

    /// The HTTP method fits nothing at this path.
    pub fn method_not_allowed() -> Status {
        let message = "the server does not allow this method on the requested resource";
        Status::failure(Reason::MethodNotAllowed, message, Some(Details::default()))
    }

    pub fn not_acceptable(offered: &[&str]) -> Status {
        let message = format!("only the following media types are accepted: {}", offered.join(", "));
        Status::failure(Reason::NotAcceptable, message, None)
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Status {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Status::failure(Reason::UnsupportedMediaType, message, None)
    }

    pub fn too_many_requests(why: impl Into<String>, retry_after_seconds: u32) -> Status {
        Status::failure(Reason::TooManyRequests, why, Some(Details::retry_after(retry_after_seconds)))
    }

    /// The revision asked for has been compacted away.
    pub fn expired(why: impl Into<String>) -> Status {
        Status::failure(Reason::Expired, why, None)
    }

    pub fn gone(why: impl Into<String>) -> Status {
        Status::failure(Reason::Gone, why, None)
    }

    /// It took too long; it may still happen.
    pub fn timeout(why: &str, retry_after_seconds: u32) -> Status {
        let details = Details::retry_after(retry_after_seconds);
        Status::failure(Reason::Timeout, format!("Timeout: {why}"), Some(details))
    }

    /// It cannot be done at the moment and did not happen.
    pub fn server_timeout(what: Qualified<'_>, operation: &str, retry_after_seconds: u32) -> Status {
        let message = format!(
            "The {operation} operation against {} could not be completed at this time, please try again.",
            what.text()
        );
        let details = Details { retry_after_seconds, ..Details::about(what, operation) };
        Status::failure(Reason::ServerTimeout, message, Some(details))
    }

    pub fn request_entity_too_large(why: &str) -> Status {
        Status::failure(Reason::RequestEntityTooLarge, format!("Request entity too large: {why}"), None)
    }

    /// The request is well-formed but cannot be carried out on this object.
    pub fn unprocessable(why: &str) -> Status {
        let message = format!("the server rejected our request due to an error in our request: {why}");
        Status::failure(Reason::Invalid, message, Some(Details::default()))
    }

    pub fn internal_error(why: &str) -> Status {
        let causes = vec![Cause { message: why.to_owned(), ..Cause::default() }];
        let details = Details { causes, ..Details::default() };
        Status::failure(Reason::InternalError, format!("Internal error occurred: {why}"), Some(details))
    }

    pub fn service_unavailable(why: impl Into<String>) -> Status {
        Status::failure(Reason::ServiceUnavailable, why, None)
    }

    /// What the `Retry-After` header says, if the client is to come back.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0)
    }

    /// The object as JSON, ended by a line feed as upstream's encoder ends it.
    pub fn to_json(&self) -> Vec<u8> {
        let document = Document {
            kind: "Status",
            api_version: "v1",
            metadata: Metadata {},
            status: self.outcome,
            message: &self.message,
            reason: self.reason,
            details: self.details.as_deref(),
            code: self.code,
        };
        let mut bytes = serde_json::to_vec(&document).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    fn about(reason: Reason, message: String, what: Qualified<'_>, name: &str) -> Status {
        Status::failure(reason, message, Some(Details::about(what, name)))
    }

    fn failure(reason: Reason, message: impl Into<String>, details: Option<Details>) -> Status {
        let message = message.into();
        let details = details.map(Box::new);
        Status { outcome: Outcome::Failure, message, reason: Some(reason), details, code: reason.code() }
    }
}

/// The fields in upstream's order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata,
    status: Outcome,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct Metadata {}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// All errors as one text, each said once; several stand in brackets.
fn aggregated(errors: &Errors) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for error in errors {
        let text = error.to_string();
        if seen.insert(text.clone()) {
            said.push(text);
        }
    }
    match said.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}
