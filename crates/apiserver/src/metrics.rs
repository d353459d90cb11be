//! What is counted about the server, and how it is shown to those who scrape it.
//!
//! Names are upstream's where upstream counts the same. Every label value comes from a table of ours or from the
//! configuration, never from what a client sent: what is not known is `other`. Recording a request allocates next to nothing.

mod exposition;
mod process;
mod requests;
mod webhooks;

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

pub use requests::{Held, RequestKind, RequestLabels, Requests};
pub use webhooks::{Asked, Webhooks};

use crate::answer::Answer;
use crate::api::Api;
use crate::kind::Facts;
use crate::status::Status;

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    pub requests: Requests,
    pub webhooks: Webhooks,
    /// Connections that ended before TLS stood.
    pub tls_handshake_errors: Counter,
    watch_events: Family<Resource, Counter>,
    objects: Family<Stored, Gauge<u64, AtomicU64>>,
    process: process::Process,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Resource {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Stored {
    /// `pods`, or `deployments.apps`.
    resource: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

impl Stored {
    fn new(kind: &Facts) -> Stored {
        let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
        Stored { resource: format!("{}{group}", kind.resource) }
    }
}

impl Metrics {
    /// Nothing counted yet. The store counts by itself; what it counts is shown with the rest.
    pub fn new(store: &store::Metrics) -> Metrics {
        let mut registry = Registry::default();
        let (watch_events, objects) = (Family::default(), Family::default());
        let tls_handshake_errors = Counter::default();
        registry.register("apiserver_watch_events", "Events sent to watchers", watch_events.clone());
        registry.register("apiserver_storage_objects", "Stored objects", objects.clone());
        registry.register(
            "apiserver_tls_handshake_errors",
            "Connections that ended before TLS was established",
            tls_handshake_errors.clone(),
        );
        register_store(&mut registry, store);
        let build = Family::<Build, Gauge>::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("eventide_build_info", "The version that is running", build);
        Metrics {
            requests: Requests::new(&mut registry),
            webhooks: Webhooks::new(&mut registry),
            process: process::Process::new(&mut registry),
            tls_handshake_errors,
            watch_events,
            objects,
            registry,
        }
    }

    /// Counts the events that watches of this kind send.
    pub fn watch_events(&self, kind: &Facts) -> Counter {
        let Facts { group, version, resource, .. } = *kind;
        self.watch_events.get_or_create_owned(&Resource { group, version, resource })
    }

    /// Everything as OpenMetrics text.
    fn text(&self, api: &Api) -> Result<String, std::fmt::Error> {
        for shelf in api.cache.shelves() {
            self.objects.get_or_create(&Stored::new(shelf.kind)).set(shelf.count() as u64);
        }
        self.process.refresh();
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn register_store(registry: &mut Registry, store: &store::Metrics) {
    registry.register(
        "eventide_store_commit_duration_seconds",
        "From asking for a change to its answer, waiting included",
        store.commit_seconds.clone(),
    );
    registry.register(
        "eventide_store_batch_changes",
        "Requests that became durable together",
        store.batch_changes.clone(),
    );
    registry.register("eventide_store_revision", "The newest revision that is known", store.revision.clone());
    registry.register(
        "eventide_store_compacted_revision",
        "History before this revision is forgotten; 0 if this process has not compacted yet",
        store.compacted_revision.clone(),
    );
}

/// Answers `/metrics`: OpenMetrics for those who ask for it, else the older format of Prometheus.
pub fn answer(api: &Api, accept: &str) -> Result<Answer, Status> {
    let text = api.metrics.text(api).map_err(|error| Status::internal_error(&error.to_string()))?;
    let wants_openmetrics = accept.contains(exposition::OPENMETRICS);
    let (content_type, text) = if wants_openmetrics {
        (exposition::OPENMETRICS_TYPE, text)
    } else {
        (exposition::PROMETHEUS_TYPE, exposition::prometheus(&text))
    };
    Ok(Answer { content_type: Some(content_type), ..Answer::text(text) })
}

#[cfg(test)]
mod tests;
