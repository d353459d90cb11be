//! Answers as HTTP responses.

use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, RETRY_AFTER, VARY, WARNING,
};
use http::{HeaderMap, Response, StatusCode};

use super::body::AnswerBody;
use crate::answer::{Answer, Caching, Payload};
use crate::negotiate::Encoding;
use crate::status::Status;

/// Answers smaller than this are not worth packing.
const GZIP_FROM_BYTES: u64 = 128 * 1024;
/// More warnings than this are not sent; clients show them one by one.
const MAX_WARNINGS: usize = 64;
/// A longer warning is cut.
const MAX_WARNING_BYTES: usize = 4 * 1024;

/// The response that carries an answer.
pub fn success(answer: Answer, encoding: Encoding) -> Response<AnswerBody> {
    let (content_type, body) = match answer.payload {
        Payload::Json(bytes) => ("application/json", AnswerBody::whole(bytes)),
        Payload::Text(bytes) => ("text/plain; charset=utf-8", AnswerBody::whole(bytes)),
        Payload::List(list) => ("application/json", AnswerBody::list(list)),
        Payload::Watch(watching) => ("application/json", AnswerBody::watch(watching)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type.unwrap_or(content_type)));
    cache(headers, &answer.caching);
    packed(with_warnings(response, &answer.warnings), encoding)
}

/// The same response with what the client should be told.
pub fn with_warnings<B>(mut response: Response<B>, warnings: &[String]) -> Response<B> {
    for warning in warnings.iter().take(MAX_WARNINGS) {
        if let Ok(value) = HeaderValue::from_str(&warning_text(warning)) {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}

/// The response that carries a refusal.
pub fn failure(status: &Status) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(status.to_json().into()));
    *response.status_mut() = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Some(seconds) = status.retry_after_seconds() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The same response, or that nothing has changed if the client says that it has just this.
pub fn unless_known(response: Response<AnswerBody>, request: &HeaderMap) -> Response<AnswerBody> {
    let Some(tag) = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()) else { return response };
    let named = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let known = named.flat_map(|value| value.split(',')).map(str::trim);
    if !known.into_iter().any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag) {
        return response;
    }
    let mut unchanged = Response::new(AnswerBody::whole(bytes::Bytes::new()));
    *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
    for name in [ETAG, CACHE_CONTROL, VARY] {
        if let Some(value) = response.headers().get(&name) {
            unchanged.headers_mut().insert(name, value.clone());
        }
    }
    unchanged
}

fn cache(headers: &mut HeaderMap, caching: &Caching) {
    let (tag, control) = match caching {
        Caching::Never => (None, "no-cache, private"),
        Caching::Tagged(tag) => (Some(tag), "no-cache, private"),
        Caching::Immutable(tag) => (Some(tag), "public, immutable, max-age=31536000"),
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(control));
    if let Some(value) = tag.and_then(|tag| HeaderValue::from_str(&format!("\"{tag}\"")).ok()) {
        headers.insert(ETAG, value);
        headers.insert(VARY, HeaderValue::from_static("Accept"));
    }
}

fn packed(response: Response<AnswerBody>, encoding: Encoding) -> Response<AnswerBody> {
    use http_body::Body as _;
    let large = response.body().size_hint().exact().is_some_and(|size| size >= GZIP_FROM_BYTES);
    match encoding {
        Encoding::Gzip if large => {
            let mut response = response.map(AnswerBody::gzip);
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response.headers_mut().append(VARY, HeaderValue::from_static("Accept-Encoding"));
            response
        }
        Encoding::Gzip | Encoding::Identity => response,
    }
}

/// A warning as its header has it: code, agent, and the text in quotes without anything that is not printable ASCII.
fn warning_text(warning: &str) -> String {
    let printable = warning.chars().take(MAX_WARNING_BYTES).map(|c| if (' '..='~').contains(&c) { c } else { '?' });
    let text: String = printable.collect();
    format!("299 - \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_quoted_and_printable() {
        assert_eq!(warning_text("unknown field \"a\\b\""), r#"299 - "unknown field \"a\\b\"""#);
        assert_eq!(warning_text("ä\n"), "299 - \"??\"");
        let answer = Answer::json(200, "{}").with_warnings(vec!["x".to_owned(); 100]);
        let response = success(answer, Encoding::Identity);
        assert_eq!(response.headers().get_all(WARNING).iter().count(), MAX_WARNINGS);
    }

    #[test]
    fn what_a_client_has_is_not_sent_again() {
        let answered = |known: Option<&'static str>| {
            let answer = Answer { caching: Caching::Tagged("AB".to_owned()), ..Answer::json(200, "{}") };
            let mut request = HeaderMap::new();
            if let Some(known) = known {
                request.insert(IF_NONE_MATCH, HeaderValue::from_static(known));
            }
            unless_known(success(answer, Encoding::Identity), &request)
        };
        for known in ["\"AB\"", "\"x\", W/\"AB\"", "*"] {
            let response = answered(Some(known));
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(response.headers()[ETAG], "\"AB\"");
            assert!(http_body::Body::is_end_stream(response.body()));
        }
        for known in [None, Some("\"A\""), Some("AB")] {
            assert_eq!(answered(known).status(), StatusCode::OK, "{known:?}");
        }
        let untagged = success(Answer::json(200, "{}"), Encoding::Identity);
        let mut request = HeaderMap::new();
        request.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        assert_eq!(unless_known(untagged, &request).status(), StatusCode::OK);
    }

    #[test]
    fn an_answer_for_good_says_so() {
        let answer = Answer { caching: Caching::Immutable("AB".to_owned()), ..Answer::json(200, "{}") };
        let response = success(answer, Encoding::Identity);
        assert_eq!(response.headers()[CACHE_CONTROL], "public, immutable, max-age=31536000");
    }

    #[test]
    fn a_refusal_that_may_be_tried_again_says_when() {
        let response = failure(&Status::too_many_requests("busy", 7));
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[RETRY_AFTER], "7");
    }
}
