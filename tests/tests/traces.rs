//! Traces of a real server, at a collector that only shows what it is sent.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tests::server::Server;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID: &str = "b7ad6b7169203331";

struct Collector(mpsc::Sender<Span>);

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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(span: &Span) -> HashMap<&str, String> {
    let shown = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let value = |of: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        of.value.as_ref().and_then(|value| value.value.as_ref()).map(shown).unwrap_or_default()
    };
    span.attributes.iter().map(|attribute| (attribute.key.as_str(), value(attribute))).collect()
}

/// Creates a config map with a header that kubectl cannot send, through kubectl's proxy.
fn create_as_part_of_a_trace(server: &Server) {
    let mut proxy = server.kubectl_command(&["proxy", "--port=0"]).spawn().expect("kubectl runs");
    let mut line = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap();
    let body = r#"{"metadata": {"name": "traced"}, "data": {"a": "hidden-in-the-body"}}"#;
    let request = format!(
        "POST /api/v1/namespaces/default/configmaps?fieldManager=hidden-in-the-query HTTP/1.1\r\nHost: localhost\r\n\
         Connection: close\r\nContent-Type: application/json\r\ntraceparent: 00-{TRACE_ID}-{SPAN_ID}-01\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn a_request_is_a_span_with_its_commit_and_all_are_sent_before_the_end() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, sent) = mpsc::channel();
    let collector = tonic::transport::Server::builder().add_service(TraceServiceServer::new(Collector(sender)));
    let _serving = runtime.spawn(collector.serve_with_incoming(TcpIncoming::from(listener)));

    let mut server = Server::start_with(&["--tracing-endpoint", &endpoint]);
    create_as_part_of_a_trace(&server);
    assert_eq!(server.stop(), Some(0));
    let spans: Vec<Span> = sent.try_iter().collect();
    let ours: Vec<&Span> = spans.iter().filter(|span| hex(&span.trace_id) == TRACE_ID).collect();
    let request = ours.iter().find(|span| hex(&span.parent_span_id) == SPAN_ID).expect("the request's span");
    assert_eq!(request.name, "POST configmaps");
    let found = attributes(request);
    let expected =
        [("verb", "POST"), ("resource", "configmaps"), ("namespace", "default"), ("code", "201"), ("group", "")];
    for (key, value) in expected {
        assert_eq!(found.get(key).map(String::as_str), Some(value), "{key} of {found:?}");
    }
    let commit = ours.iter().find(|span| span.name == "store.commit").expect("the commit's span");
    assert_eq!(commit.parent_span_id, request.span_id);
    assert!(!format!("{spans:?}").contains("hidden-in-the"), "{spans:?}");
}

#[test]
fn a_server_whose_collector_is_not_there_serves_and_stops() {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let mut server = Server::start_with(&["--tracing-endpoint", &format!("http://{free}")]);
    server.kubectl_ok(&["create", "configmap", "a"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn an_endpoint_that_cannot_be_used_is_refused_at_once() {
    let run = tests::eventide(&["apiserver", "--tracing-endpoint", "https://collector:4317"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("http://HOST:PORT"), "{}", run.stderr);
}
