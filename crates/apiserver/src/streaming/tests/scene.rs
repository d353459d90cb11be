//! A server with two pods and a node, in front of which a test is the client.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{BoxedStore, EmbeddedStore, Revision};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::{ClientSide, Forwarder, MAX_STREAMS, Options, RequestBody, StreamError, Trust};
use super::node::{self, Asked};
use crate::admission::Admission;
use crate::api::{Api, Kinds};
use crate::cache::{Cache, Happened, Item};
use crate::call::Call;
use crate::certificates::{
    Authority, ClientSubject, ServingNames, load_or_create_signing_key, load_or_issue, server_config,
};
use crate::identity::User;
use crate::kinds::ALL;
use crate::metrics::Metrics;
use crate::negotiate::{self, Endpoint};
use crate::path::{self, ResourcePath, Route};
use crate::query::Query;
use crate::status::Status;
use crate::tokens::Issuer;

/// Everything that a test waits for happens within this.
pub const SOON: Duration = Duration::from_secs(20);

pub struct Scene {
    pub api: Arc<Api>,
    pub forwarder: Arc<Forwarder>,
    pub node: mpsc::UnboundedReceiver<Asked>,
    pub front: SocketAddr,
    _directory: TempDir,
}

impl Scene {
    /// A server that trusts the node.
    pub async fn new() -> Scene {
        Scene::with(|authority| Options {
            client: Some(authority.issue_client(ClientSubject { user: "server", group: None }, now()).unwrap()),
            ..Options::new(None, Trust::Authorities(authority.certificate_pem().to_owned()))
        })
        .await
    }

    pub async fn with(options: impl Fn(&Authority) -> Options) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let certificates = directory.path().join("certificates");
        let authority = Authority::load_or_create(&certificates, now()).unwrap();
        let names = ServingNames::new(None, &["127.0.0.1"]).unwrap();
        let serving = load_or_issue(&authority, &certificates, &names, now()).unwrap();
        let tls = server_config(&serving, authority.certificate_pem()).unwrap();
        let (address, asked) = node::start(tls).await;
        let forwarder = Arc::new(Forwarder::new(options(&authority)).unwrap());
        let api = Arc::new(api(&directory));
        put_objects(&api, address.port());
        let front = front(api.clone(), forwarder.clone()).await;
        Scene { api, forwarder, node: asked, front, _directory: directory }
    }

    /// The next request that reaches the node.
    pub async fn asked(&mut self) -> Asked {
        tokio::time::timeout(SOON, self.node.recv()).await.expect("a request reaches the node").unwrap()
    }

    /// A request that is not upgraded, and all that comes back.
    pub async fn get(&self, path: &str) -> String {
        let mut stream = self.open(path, "Connection: close\r\n").await;
        let mut answer = Vec::new();
        tokio::time::timeout(SOON, stream.read_to_end(&mut answer)).await.expect("an answer ends").unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Sends a request with these headers, each ended by a line break.
    pub async fn open(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.front).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: server\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Waits until no stream is left.
    pub async fn all_ended(&self) {
        let all = u32::try_from(MAX_STREAMS).unwrap();
        let everything = tokio::time::timeout(SOON, self.forwarder.room.acquire_many(all)).await;
        drop(everything.expect("every stream ends").unwrap());
        assert_eq!(self.forwarder.open_streams(), 0);
    }
}

/// Reads the head of an answer.
pub async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tokio::time::timeout(SOON, stream.read_u8()).await.expect("the head arrives").unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Reads exactly this.
pub async fn expect(stream: &mut (impl tokio::io::AsyncRead + Unpin), expected: &[u8]) {
    let mut read = vec![0; expected.len()];
    tokio::time::timeout(SOON, stream.read_exact(&mut read)).await.expect("bytes arrive").unwrap();
    assert_eq!(String::from_utf8_lossy(&read), String::from_utf8_lossy(expected));
}

fn now() -> Timestamp {
    Timestamp::now()
}

fn api(directory: &TempDir) -> Api {
    let key = load_or_create_signing_key(&directory.path().join("certificates")).unwrap();
    Api {
        store: BoxedStore::new(EmbeddedStore::open(&directory.path().join("store")).unwrap()),
        cache: Arc::new(Cache::new(ALL)),
        kinds: Kinds::new(ALL),
        admission: Admission::default(),
        metrics: Metrics::new(&store::Metrics::default()),
        issuer: Issuer { url: String::new(), audiences: Vec::new(), max_seconds: None, key },
        authority_pem: String::new(),
        service_network: crate::bootstrap::ServiceNetwork::default(),
        gates: model::gates::FeatureGates::default(),
        closing: CancellationToken::new(),
        clock: crate::verbs::system_clock,
    }
}

fn put_objects(api: &Api, port: u16) {
    let pod = |name: &str, containers: Value, node: Option<&str>| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
            "spec": { "containers": containers, "nodeName": node },
        })
    };
    let node = |name: &str, port: u16| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "status": {
                "addresses": [
                    { "type": "Hostname", "address": "nowhere.invalid" },
                    { "type": "InternalIP", "address": "127.0.0.1" },
                ],
                "daemonEndpoints": { "kubeletEndpoint": { "Port": port } },
            },
        })
    };
    put(api, ("", "pods"), "default/web", &pod("web", json!([{ "name": "a" }, { "name": "b" }]), Some("n1")));
    put(api, ("", "pods"), "default/one", &pod("one", json!([{ "name": "a" }]), Some("n1")));
    put(api, ("", "pods"), "default/new", &pod("new", json!([{ "name": "a" }]), None));
    put(api, ("", "nodes"), "n1", &node("n1", port));
}

/// Puts an object where the server looks for it.
pub fn put(api: &Api, (group, resource): (&str, &str), place: &str, object: &Value) {
    let shelf = api.cache.shelf(api.kinds.find(group, "v1", resource).unwrap().facts());
    let bytes = serde_json::to_vec(object).unwrap();
    shelf.apply(Happened::Added, Item::new(place, Happened::Added, &bytes, Revision::FIRST));
}

type FrontBody = UnsyncBoxBody<Bytes, StreamError>;

async fn front(api: Arc<Api>, forwarder: Arc<Forwarder>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (api, forwarder) = (api.clone(), forwarder.clone());
            let service = service_fn(move |request| {
                let (api, forwarder) = (api.clone(), forwarder.clone());
                async move {
                    let response = handle(&api, &forwarder, request).await;
                    Ok::<_, Infallible>(response.unwrap_or_else(|status| told(&status)))
                }
            });
            let builder = hyper::server::conn::http1::Builder::new();
            tokio::spawn(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
        }
    });
    address
}

fn told(status: &Status) -> Response<FrontBody> {
    let body = Full::new(Bytes::from(status.to_json())).map_err(|never| match never {});
    let mut response = Response::new(FrontBody::new(body));
    *response.status_mut() = http::StatusCode::from_u16(status.code).unwrap();
    response
}

async fn handle(
    api: &Api,
    forwarder: &Forwarder,
    mut request: Request<Incoming>,
) -> Result<Response<FrontBody>, Status> {
    let Route::Resource(path) = path::parse(request.uri().path())? else { return Err(Status::unknown_path()) };
    let query = request.uri().query().unwrap_or_default().to_owned();
    let ResourcePath { namespace, name, resource, subresource, rest, .. } = path;
    let kind = api.kinds.find("", "v1", &resource).unwrap();
    let subresource = kind.facts().subresource(&subresource.unwrap()).unwrap();
    let call = Call {
        kind,
        namespace,
        name,
        user: User::anonymous(),
        query: Query::parse(&query),
        output: negotiate::output("", Endpoint::Objects)?,
        content_type: String::new(),
        user_agent: String::new(),
        body: Bytes::new(),
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, body) = request.into_parts();
    let client = ClientSide {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        rest,
        query,
        headers: parts.headers,
        upgrade,
        body: RequestBody::new(body.map_err(Into::into)),
    };
    Ok(forwarder.forward(api, call, subresource, client).await?.map(FrontBody::new))
}
