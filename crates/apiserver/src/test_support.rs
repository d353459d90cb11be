//! A whole server without sockets for tests: an embedded store in a directory of its own, a cache that follows it.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use lifecycle::moment::Moment;
use model::gates::FeatureGates;
use model::patch::{PatchKind, apply};
use serde_json::{Value, json};
use store::{BoxedStore, EmbeddedStore, Measured};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::answer::{Answer, Payload};
use crate::api::{Api, Kinds};
use crate::cache::{Cache, feed};
use crate::call::Call;
use crate::dispatch::{self, Request};
use crate::identity::{AUTHENTICATED, MASTERS, User};
use crate::kind::Scope;
use crate::kinds;
use crate::metrics::Metrics;
use crate::negotiate::{Endpoint, output};
use crate::query::Query;
use crate::status::Status;
use crate::tokens::{Issuer, SigningKey};

/// When everything happens in tests.
pub const NOW: Moment = Moment::from_millis(1_700_000_000_000);

/// A server that ends with the test.
pub struct TestApi {
    api: Arc<Api>,
    _directory: TempDir,
}

impl Deref for TestApi {
    type Target = Arc<Api>;

    fn deref(&self) -> &Arc<Api> {
        &self.api
    }
}

/// A server with the namespace `default` and what every namespace has.
pub async fn test_api() -> TestApi {
    let directory = TempDir::new().unwrap();
    let store_metrics = store::Metrics::default();
    let store = EmbeddedStore::open_measured(directory.path(), &store_metrics).unwrap();
    let store = BoxedStore::new(Measured::new(store, store_metrics.clone()));
    let cache = Arc::new(Cache::new(kinds::ALL));
    tokio::spawn(feed(cache.clone(), Arc::new(store.clone())));
    let api = Api {
        store,
        cache,
        kinds: Kinds::new(kinds::ALL),
        admission: Admission { letters: || "abcde".to_owned(), ..Admission::default() },
        metrics: Metrics::new(&store_metrics),
        issuer: Issuer {
            url: "https://test".to_owned(),
            audiences: vec!["https://test".to_owned()],
            max_seconds: None,
            key: SigningKey::from_pkcs8(rcgen::KeyPair::generate().unwrap().serialized_der()).unwrap(),
        },
        authority_pem: "a certificate".to_owned(),
        service_network: crate::bootstrap::ServiceNetwork::default(),
        gates: FeatureGates::default(),
        closing: CancellationToken::new(),
        clock: || NOW,
    };
    let api = TestApi { api: Arc::new(api), _directory: directory };
    api.catch_up().await.unwrap();
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "default"}})).await;
    api
}

pub fn administrator() -> User {
    let groups = vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()];
    User { name: "admin".to_owned(), groups, ..User::default() }
}

impl TestApi {
    /// Sends a request as an administrator; the path may have a query.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Answer, Status> {
        self.send_as(administrator(), method, path, body).await
    }

    pub async fn send_as(&self, user: User, method: Method, path: &str, body: Option<Value>) -> Result<Answer, Status> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let patches = method == Method::PATCH;
        let content_type = if patches { "application/merge-patch+json" } else { "application/json" };
        let request = Request {
            method,
            path: path.to_owned(),
            query: Query::parse(query),
            accept: "application/json".to_owned(),
            content_type: content_type.to_owned(),
            user_agent: "test".to_owned(),
            user,
            body: body.map(|body| Bytes::from(body.to_string())).unwrap_or_default(),
        };
        let answer = dispatch::answer(&self.api, request).await;
        // Whatever the request did is seen by the next one.
        self.api.catch_up().await?;
        answer
    }

    /// Creates an object and returns it as it is stored.
    pub async fn create(&self, path: &str, object: Value) -> Value {
        document(&self.send(Method::POST, path, Some(object)).await.unwrap_or_else(|status| panic!("{status:?}")))
    }

    /// The message of a refusal to create an object, with its code.
    pub async fn create_refused(&self, path: &str, object: Value) -> (u16, String) {
        let refusal = self.send(Method::POST, path, Some(object)).await.map(|answer| document(&answer)).unwrap_err();
        (refusal.code, refusal.message)
    }

    pub async fn get(&self, path: &str) -> Value {
        document(&self.send(Method::GET, path, None).await.unwrap_or_else(|status| panic!("{status:?}")))
    }
}

/// A request on one object, which lives in the namespace `default` if it lives in one.
pub fn call(api: &Api, resource: &str, name: &str) -> Call {
    let kind = api.kinds.all().iter().copied().find(|kind| kind.facts().resource == resource).unwrap();
    Call {
        kind,
        namespace: (kind.facts().scope == Scope::Namespaced).then(|| "default".to_owned()),
        name: Some(name.to_owned()),
        user: administrator(),
        query: Query::default(),
        output: output("application/json", Endpoint::Objects).unwrap(),
        content_type: String::new(),
        user_agent: String::new(),
        body: Bytes::new(),
    }
}

/// The object in an answer.
pub fn document(answer: &Answer) -> Value {
    match &answer.payload {
        Payload::Json(bytes) => serde_json::from_slice(bytes).unwrap(),
        Payload::Text(_) | Payload::List(_) | Payload::Watch(_) => panic!("the answer is no object"),
    }
}

/// A document with a merge patch over it.
pub fn with(document: Value, patch: Value) -> Value {
    apply(PatchKind::Merge, document, patch).unwrap()
}

/// A pod that can be created.
pub fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}})
}
