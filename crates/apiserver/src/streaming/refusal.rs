//! How it is told that a node could not be reached, or did not want to.

use http_body_util::{BodyExt as _, Limited};

use super::NodeResponse;
use super::target::{Manner, Target};
use crate::status::{Details, Outcome, Reason, Status};

/// What is read of a refusal, as upstream does.
const MAX_REFUSAL_BYTES: usize = 2 * 1024;

/// There is no answer from the node.
pub fn unreachable(target: &Target, why: &str) -> Status {
    match target.manner {
        Manner::Pass => Status::service_unavailable(format!("error trying to reach service: {why}")),
        Manner::Log | Manner::Upgrade => failure(500, None, format!("error dialing backend: {why}"), None),
    }
}

/// The node refused to give a log.
pub async fn of_log(response: NodeResponse, target: &Target) -> Status {
    let code = response.status().as_u16();
    let said = said(response).await;
    match code {
        500 => Status::internal_error(&said),
        400 => Status::bad_request(said),
        _ => {
            let (reason, message) = in_general(code, &said);
            let message = format!("{message} ( {} {})", target.resource, target.name);
            let (kind, name) = (target.resource.to_owned(), target.name.clone());
            failure(code, reason, message, Some(Details { kind, name, ..Details::default() }))
        }
    }
}

/// The node did not upgrade the connection. Its own words go first: they say what is wrong with the container.
pub async fn of_upgrade(response: NodeResponse, target: &Target) -> Status {
    let code = response.status().as_u16();
    if code < 400 {
        return failure(500, None, format!("invalid upgrade response: status code {code}"), None);
    }
    let said = said(response).await;
    let (reason, message) = in_general(code, &said);
    let message = if said.is_empty() { message } else { said };
    let (kind, name) = (target.resource.to_owned(), target.name.clone());
    failure(code, reason, message, Some(Details { kind, name, ..Details::default() }))
}

/// The beginning of what the node said; if that is a `Status`, its message.
async fn said(response: NodeResponse) -> String {
    let mut body = Limited::new(response.into_body(), MAX_REFUSAL_BYTES);
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data.as_ref()));
    }
    let status: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
    match status.as_ref().and_then(|status| status.get("message")).and_then(serde_json::Value::as_str) {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(&bytes).trim().to_owned(),
    }
}

/// What a code means, for an answer that says nothing itself.
fn in_general(code: u16, said: &str) -> (Option<Reason>, String) {
    let (reason, message) = match code {
        400 => (Reason::BadRequest, "the server rejected our request for an unknown reason"),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => (Reason::Forbidden, said),
        404 => (Reason::NotFound, "the server could not find the requested resource"),
        405 => (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"),
        406 => (Reason::NotAcceptable, said),
        409 => (Reason::Conflict, "the server reported a conflict"),
        415 => (Reason::UnsupportedMediaType, said),
        422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
        429 => {
            (Reason::TooManyRequests, "the server has received too many requests and has asked us to try again later")
        }
        503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => (
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        500.. => {
            let said = model::field::go_quoted(said);
            let message = format!("an error on the server ({said}) has prevented the request from succeeding");
            return (Some(Reason::InternalError), message);
        }
        _ => {
            let message =
                format!("the server responded with the status code {code} but did not return more information");
            return (None, message);
        }
    };
    (Some(reason), message.to_owned())
}

fn failure(code: u16, reason: Option<Reason>, message: String, details: Option<Details>) -> Status {
    Status { outcome: Outcome::Failure, message, reason, details: details.map(Box::new), code }
}
