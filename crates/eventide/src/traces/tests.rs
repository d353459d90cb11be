//! Spans against a collector that is there, and one that is not.

use std::net::SocketAddr;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::trace::v1::Span as Sent;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

/// A collector that shows what it is sent.
struct Collector(mpsc::UnboundedSender<Sent>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let scopes = request.into_inner().resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            let _ = self.0.send(span);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn collector() -> (Endpoint, mpsc::UnboundedReceiver<Sent>) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (sender, sent) = mpsc::unbounded_channel();
    let service = TraceServiceServer::new(Collector(sender));
    let server = tonic::transport::Server::builder().add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    (endpoint, sent)
}

fn headers(traceparent: &str) -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static(TRACEPARENT), traceparent.parse().unwrap())])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_span_of_ours_arrives_as_part_of_the_clients_trace() {
    let (endpoint, mut sent) = collector().await;
    let traces = Traces::start(&endpoint, "test").unwrap();
    let subscriber = tracing_subscriber::registry().with(vec![traces.layer()]);
    tracing::subscriber::with_default(subscriber, || {
        let request = tracing::info_span!(target: "apiserver::http", "request", code = tracing::field::Empty);
        adopt_parent(&request, &headers("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        request.in_scope(|| {
            tracing::info!(target: "apiserver", token = "hidden", "a line is no part of a span");
            tracing::info_span!(target: "h2::codec", "foreign").in_scope(|| {});
            tracing::info_span!(target: "store::measured", "store.commit").in_scope(|| {});
        });
        request.record("code", 200_u16);
    });
    traces.stop().await;
    let (commit, request) = (sent.recv().await.unwrap(), sent.recv().await.unwrap());
    assert_eq!((commit.name.as_str(), request.name.as_str()), ("store.commit", "request"));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&request.trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex(&request.parent_span_id), "b7ad6b7169203331");
    assert_eq!((&commit.trace_id, &commit.parent_span_id), (&request.trace_id, &request.span_id));
    assert_eq!(request.attributes.iter().map(|attribute| attribute.key.as_str()).collect::<Vec<_>>(), ["code"]);
    assert!(request.events.is_empty());
    assert!(sent.try_recv().is_err(), "the foreign span was sent too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_parent_is_as_good_as_none() {
    let (endpoint, mut sent) = collector().await;
    let traces = Traces::start(&endpoint, "test").unwrap();
    let subscriber = tracing_subscriber::registry().with(vec![traces.layer()]);
    tracing::subscriber::with_default(subscriber, || {
        let span = tracing::info_span!(target: "apiserver", "request");
        adopt_parent(&span, &headers("00-zz-zz-01"));
    });
    traces.stop().await;
    let span = sent.recv().await.unwrap();
    assert_eq!(span.parent_span_id, Vec::<u8>::new());
    assert!(span.trace_id.iter().any(|byte| *byte != 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_gone_costs_spans_and_no_time() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let endpoint: Endpoint = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    // It accepts connections and never says a word, which is worse than refusing them.
    let traces = Traces::start(&endpoint, "test").unwrap();
    let subscriber = tracing_subscriber::registry().with(vec![traces.layer()]);
    let began = Instant::now();
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..4 * MAX_QUEUED {
            tracing::info_span!(target: "apiserver", "request").in_scope(|| {});
        }
    });
    assert!(began.elapsed() < SENT_WITHIN, "{:?}", began.elapsed());
    traces.stop().await;
    // The last batches may be under way when the end is asked for.
    assert!(began.elapsed() < 2 * (SENT_WITHIN + FLUSHED_WITHIN), "{:?}", began.elapsed());
}

#[test]
fn an_endpoint_is_refused_unless_it_can_be_spoken_to() {
    for text in ["", "localhost:4317", "https://localhost:4317", "http://", "/x"] {
        assert!(text.parse::<Endpoint>().is_err(), "{text}");
    }
    assert!("http://localhost:4317".parse::<Endpoint>().is_ok());
}
