//! Spans to a collector, by OTLP over gRPC, when one is named at the start.
//!
//! Spans wait in a bounded queue and are sent by a thread of their own: a collector that is slow or gone costs spans,
//! never requests. Only spans of our own crates are sent, and no log lines with them.

use std::time::Duration;

use anyhow::Context as _;
use http::{HeaderMap, Uri};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::{Layer as _, Registry};

use crate::logging::{Layer, is_ours};

/// Spans that wait to be sent; further ones are dropped.
const MAX_QUEUED: usize = 2048;
const MAX_BATCH: usize = 512;
/// How long spans wait for company.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// A collector that takes longer loses what it was sent.
const SENT_WITHIN: Duration = Duration::from_secs(5);
/// How long the end of the process waits for the last spans to be sent.
const FLUSHED_WITHIN: Duration = Duration::from_secs(3);
/// The header by which a client says of which trace its request is a part (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// Where spans are sent: `http://HOST:PORT`.
#[derive(Clone, Debug)]
pub struct Endpoint(Uri);

impl std::str::FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Endpoint, String> {
        let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(_)) => Ok(Endpoint(uri)),
            _ => Err("give it as http://HOST:PORT; spans are sent as OTLP over gRPC, without TLS".to_owned()),
        }
    }
}

/// Sends spans until it is stopped.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Begins to send spans of `service`. Needs a tokio runtime; does not wait for the collector.
    pub fn start(endpoint: &Endpoint, service: &'static str) -> anyhow::Result<Traces> {
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint.0.to_string())
            .with_timeout(SENT_WITHIN)
            .build()
            .context("cannot send traces")?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(SEND_EVERY)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
            .with_resource(Resource::builder_empty().with_service_name(service).build())
            .build();
        Ok(Traces(provider))
    }

    /// What hands spans over to be sent.
    pub fn layer(&self) -> Layer {
        let spans = filter_fn(|metadata| metadata.is_span() && is_ours(metadata.target()));
        tracing_opentelemetry::layer::<Registry>()
            .with_tracer(self.0.tracer(env!("CARGO_PKG_NAME")))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_level(false)
            .with_filter(spans.with_max_level_hint(LevelFilter::INFO))
            .boxed()
    }

    /// Sends what waits, within bounds.
    pub async fn stop(self) {
        let stopped = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(FLUSHED_WITHIN)).await;
        match stopped {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "some traces were not sent"),
            Err(error) => tracing::warn!(%error, "some traces were not sent"),
        }
    }
}

/// Makes a span part of the trace that a request's headers name, if they name one.
pub fn adopt_parent(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() || !headers.contains_key(TRACEPARENT) {
        return;
    }
    // A malformed header names nothing; the span then begins a trace of its own.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(headers)));
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests;
