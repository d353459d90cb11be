//! What is noted about each request: counts, a span if somebody collects spans, and a line in the log.
//!
//! Never noted: bodies, headers, queries. Any of them may hold a secret.

use std::time::{Duration, Instant};

use http::{HeaderMap, Method, StatusCode, Uri};
use tracing::Span;
use tracing::field::Empty;

use crate::api::Api;
use crate::metrics::RequestLabels;
use crate::path::Route;
use crate::query::Query;

/// An answer that takes longer is worth a line, unless the client wanted to wait.
const SLOW: Duration = Duration::from_secs(1);

/// Makes a span part of the trace that a request's headers name. What collects spans is chosen outside of this crate.
pub type AdoptParent = fn(&Span, &HeaderMap);

/// A request as it was when it came.
pub struct Observed {
    began: Instant,
    method: Method,
    uri: Uri,
    labels: RequestLabels,
    pub span: Span,
}

/// Which line an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Usual,
    Failed,
    Slow,
}

impl Observed {
    /// A path that is refused is no route.
    pub fn begin(api: &Api, method: &Method, uri: &Uri, route: Option<&Route>, query: &Query) -> Observed {
        let labels = RequestLabels::of(&api.kinds, route, method, query);
        let path = match route {
            Some(Route::Resource(path)) => Some(path),
            _ => None,
        };
        let span = tracing::info_span!(
            "request",
            otel.name = format!("{} {}{}", labels.verb, labels.resource, labels.subresource_suffix()),
            otel.kind = "server",
            otel.status_code = Empty,
            verb = labels.verb,
            group = labels.group,
            resource = labels.resource,
            subresource = labels.subresource,
            namespace = path.and_then(|path| path.namespace.as_deref()),
            name = path.and_then(|path| path.name.as_deref()),
            code = Empty,
        );
        Observed { began: Instant::now(), method: method.clone(), uri: uri.clone(), labels, span }
    }

    /// Notes how the request was answered.
    pub fn end(&self, api: &Api, user: &str, code: StatusCode) {
        let took = self.began.elapsed();
        api.metrics.requests.answered(self.labels, code, took);
        self.span.record("code", code.as_u16());
        let (verb, path, code, micros) = (&self.method, self.uri.path(), code.as_u16(), took.as_micros());
        if code >= 500 {
            self.span.record("otel.status_code", "ERROR");
        }
        match line(&self.labels, code, took) {
            Line::Usual => tracing::debug!(user, %verb, path, code, micros, "request"),
            Line::Failed => tracing::info!(user, %verb, path, code, micros, "request failed"),
            Line::Slow => tracing::info!(user, %verb, path, code, micros, "request took long"),
        }
    }
}

fn line(labels: &RequestLabels, code: u16, took: Duration) -> Line {
    match code {
        500.. => Line::Failed,
        _ if took > SLOW && !labels.is_long_running() => Line::Slow,
        _ => Line::Usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_and_slow_answers_stand_out() {
        let of = |verb| RequestLabels { verb, group: "", version: "v1", resource: "pods", subresource: "", scope: "" };
        let (fast, slow) = (Duration::from_millis(3), Duration::from_secs(2));
        let cases = [
            ("GET", 200, fast, Line::Usual),
            ("GET", 404, fast, Line::Usual),
            ("GET", 500, fast, Line::Failed),
            ("GET", 504, slow, Line::Failed),
            ("GET", 200, slow, Line::Slow),
            ("WATCH", 200, slow, Line::Usual),
            ("CONNECT", 101, slow, Line::Usual),
        ];
        for (verb, code, took, expected) in cases {
            assert_eq!(line(&of(verb), code, took), expected, "{verb} {code} {took:?}");
        }
    }
}
