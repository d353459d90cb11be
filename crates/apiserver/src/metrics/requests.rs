//! What is counted about requests, and by which labels.

use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::api::Kinds;
use crate::call::Call;
use crate::kind::Subresource;
use crate::path::{Probe, ResourcePath, Route, Verb};
use crate::query::Query;

/// What stands for everything that has no name of ours.
pub const OTHER: &str = "other";

/// A get takes tens of microseconds; upstream's buckets begin where ours should end.
const SECONDS: [f64; 16] =
    [0.000_05, 0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 60.0];

/// Requests, finished and under way.
pub struct Requests {
    total: Family<Answered, Counter>,
    seconds: Family<RequestLabels, Histogram, fn() -> Histogram>,
    long_running: Family<RequestLabels, Gauge>,
    reads: Pool,
    writes: Pool,
    streams_rejected: Counter,
}

/// What is counted about requests that share a limit.
struct Pool {
    inflight: Gauge,
    rejected: Counter,
}

/// Which limit a request falls under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    ReadOnly,
    Mutating,
}

/// What a request was about. No value was written by a client.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct RequestLabels {
    /// As upstream's metrics name it: `GET`, `LIST`, `POST`.
    pub verb: &'static str,
    pub group: &'static str,
    pub version: &'static str,
    pub resource: &'static str,
    /// Of what is no resource, the beginning of its path.
    pub subresource: &'static str,
    /// `resource`, `namespace`, `cluster`, or nothing.
    pub scope: &'static str,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    #[prometheus(flatten)]
    request: RequestLabels,
    code: Code,
}

/// The code of an answer. A pod behind a proxy may answer with any number: one without a name is `other`.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
struct Code(Option<StatusCode>);

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Limited {
    request_kind: &'static str,
}

/// One of those that are under way, as long as it is held.
pub struct Held(Gauge);

impl Requests {
    pub(super) fn new(registry: &mut Registry) -> Requests {
        let (total, long_running) = (Family::default(), Family::default());
        let seconds = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let inflight = Family::<Limited, Gauge>::default();
        let rejected = Family::<Limited, Counter>::default();
        registry.register("apiserver_request", "Requests that were answered", total.clone());
        registry.register(
            "apiserver_request_duration_seconds",
            "From a request to the beginning of its answer, long-running ones left out",
            seconds.clone(),
        );
        registry.register("apiserver_longrunning_requests", "Watches and streams under way", long_running.clone());
        registry.register("apiserver_current_inflight_requests", "Requests under way", inflight.clone());
        registry.register("apiserver_rejected_requests", "Requests that found no room", rejected.clone());
        let pool = |request_kind| {
            let labels = Limited { request_kind };
            Pool { inflight: inflight.get_or_create_owned(&labels), rejected: rejected.get_or_create_owned(&labels) }
        };
        let streams_rejected = rejected.get_or_create_owned(&Limited { request_kind: "stream" });
        let (reads, writes) = (pool("readOnly"), pool("mutating"));
        Requests { total, seconds, long_running, reads, writes, streams_rejected }
    }

    /// Counts an answer.
    pub fn answered(&self, request: RequestLabels, code: StatusCode, took: Duration) {
        self.total.get_or_create(&Answered { request, code: code.into() }).inc();
        if !request.is_long_running() {
            self.seconds.get_or_create(&request).observe(took.as_secs_f64());
        }
    }

    /// Counts a request as under way.
    pub fn enter(&self, kind: RequestKind) -> Held {
        Held::new(&self.pool(kind).inflight)
    }

    /// Counts a request that found no room.
    pub fn rejected(&self, kind: RequestKind) {
        self.pool(kind).rejected.inc();
    }

    /// Counts a stream that found no room.
    pub fn stream_rejected(&self) {
        self.streams_rejected.inc();
    }

    /// Counts a watch or a stream as under way.
    pub fn enter_long_running(&self, request: RequestLabels) -> Held {
        Held::new(&self.long_running.get_or_create(&request))
    }

    fn pool(&self, kind: RequestKind) -> &Pool {
        match kind {
            RequestKind::ReadOnly => &self.reads,
            RequestKind::Mutating => &self.writes,
        }
    }
}

impl RequestKind {
    pub fn of(method: &Method) -> RequestKind {
        if matches!(*method, Method::GET | Method::HEAD) { RequestKind::ReadOnly } else { RequestKind::Mutating }
    }
}

impl Held {
    fn new(gauge: &Gauge) -> Held {
        gauge.inc();
        Held(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl RequestLabels {
    /// What a request is about; a path that is refused is no route.
    pub fn of(kinds: &Kinds, route: Option<&Route>, method: &Method, query: &Query) -> RequestLabels {
        let path = match route {
            Some(Route::Resource(path)) => return RequestLabels::of_resource(kinds, path, method, query),
            Some(Route::Discovery(_)) => "/apis",
            Some(Route::Version) => "/version",
            Some(Route::Health(health)) => match health.probe {
                Probe::Healthz => "/healthz",
                Probe::Livez => "/livez",
                Probe::Readyz => "/readyz",
            },
            Some(Route::OpenApi(_)) => "/openapi",
            Some(Route::Metrics) => "/metrics",
            Some(Route::Root) => "/",
            Some(Route::Unknown) | None => OTHER,
        };
        let verb = known_method(method);
        RequestLabels { verb, group: "", version: "", resource: "", subresource: path, scope: "" }
    }

    fn of_resource(kinds: &Kinds, path: &ResourcePath, method: &Method, query: &Query) -> RequestLabels {
        let verb = path.verb(method.as_str(), query).ok();
        let scope = match (&path.name, &path.namespace) {
            _ if verb == Some(Verb::Create) => "resource",
            (Some(_), _) => "resource",
            (None, Some(_)) => "namespace",
            (None, None) => "cluster",
        };
        let Some(kind) = kinds.find(&path.group, &path.version, &path.resource) else {
            let verb = verb.map_or(OTHER, verb_name);
            return RequestLabels { verb, group: OTHER, version: OTHER, resource: OTHER, subresource: "", scope };
        };
        let facts = kind.facts();
        let subresource = path.subresource.as_deref().map(|name| facts.subresource(name));
        let verb = match (subresource.flatten(), verb) {
            (Some(subresource), Some(_)) if connects(subresource) => "CONNECT",
            (_, verb) => verb.map_or(OTHER, verb_name),
        };
        let subresource = subresource.map_or("", |known| known.map_or(OTHER, Subresource::name));
        RequestLabels { verb, group: facts.group, version: facts.version, resource: facts.resource, subresource, scope }
    }

    /// What a watch is about.
    pub fn of_watch(call: &Call) -> RequestLabels {
        let scope = match (&call.name, &call.namespace) {
            (Some(_), _) => "resource",
            (None, Some(_)) => "namespace",
            (None, None) => "cluster",
        };
        let facts = call.kind.facts();
        let (group, version, resource) = (facts.group, facts.version, facts.resource);
        RequestLabels { verb: "WATCH", group, version, resource, subresource: "", scope }
    }

    /// What a stream to a node is about.
    pub fn of_stream(call: &Call, subresource: Subresource) -> RequestLabels {
        let verb = if connects(subresource) { "CONNECT" } else { "GET" };
        RequestLabels { verb, subresource: subresource.name(), scope: "resource", ..RequestLabels::of_watch(call) }
    }

    /// `/status` for the subresource `status`; a path that is no resource has its slash already.
    pub fn subresource_suffix(&self) -> String {
        let slash = if self.resource.is_empty() || self.subresource.is_empty() { "" } else { "/" };
        format!("{slash}{}", self.subresource)
    }

    /// Whether the answer takes as long as the client, or a node, wants.
    pub fn is_long_running(&self) -> bool {
        matches!(self.verb, "WATCH" | "CONNECT") || self.subresource == Subresource::Log.name()
    }
}

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.0.as_ref().map_or(OTHER, StatusCode::as_str).encode(encoder)
    }
}

impl From<StatusCode> for Code {
    fn from(code: StatusCode) -> Code {
        Code(code.canonical_reason().map(|_| code))
    }
}

/// Whether a subresource connects the client with a process, as upstream sees it.
fn connects(subresource: Subresource) -> bool {
    match subresource {
        Subresource::Exec | Subresource::Attach | Subresource::PortForward | Subresource::Proxy => true,
        Subresource::Part(_)
        | Subresource::Scale
        | Subresource::Binding
        | Subresource::Eviction
        | Subresource::Token
        | Subresource::Log => false,
    }
}

/// What upstream's metrics call a verb.
const fn verb_name(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
    }
}

fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER,
    }
}
