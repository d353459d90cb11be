//! What every request passes before anything is done for it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request as HttpRequest, Response, header};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use model::selector::Fields;
use tracing::Instrument as _;

use super::body::SentBody;
use super::limits::{MAX_READS, MAX_WRITES, Pool, Room};
use super::observed::{AdoptParent, Observed};
use super::respond;
use crate::api::Api;
use crate::authenticate::{Certified, Credentials, authenticate};
use crate::authorize::{Attributes, Decision, Resource, Target, authorize, forbidden};
use crate::call::Call;
use crate::dispatch::{self, Request};
use crate::identity::User;
use crate::metrics::{Held, RequestKind};
use crate::negotiate::{self, Encoding, Layout, Output, Shape};
use crate::path::{self, Route, Verb};
use crate::query::Query;
use crate::status::Status;
use crate::streaming::{ClientSide, Forwarder};
use crate::tokens::Verifier;

/// The largest body that is read, as upstream's.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
/// Within this, a body has arrived.
const BODY_WITHIN: Duration = Duration::from_secs(60);
/// Within this, a request that does not wait for anything has been answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// The longest header value that is looked at: longer ones are as if they had not been sent.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Who is at the other end of a connection.
#[derive(Clone, Default)]
pub struct Peer {
    /// What the client's own certificate says, which the handshake has verified.
    pub certificate: Option<Certified>,
}

/// The way into the server.
pub struct Gate {
    api: Arc<Api>,
    verifier: Verifier,
    forwarder: Forwarder,
    reads: Arc<Pool>,
    writes: Arc<Pool>,
    adopt_parent: AdoptParent,
}

impl Gate {
    pub fn new(api: Arc<Api>, verifier: Verifier, forwarder: Forwarder, adopt_parent: AdoptParent) -> Gate {
        let (reads, writes) = (Pool::new(MAX_READS), Pool::new(MAX_WRITES));
        Gate { api, verifier, forwarder, reads, writes, adopt_parent }
    }

    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Answers one request, whatever it is.
    pub async fn handle(&self, peer: &Peer, request: HttpRequest<Incoming>) -> Response<SentBody> {
        let route = path::parse(request.uri().path());
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let observed = Observed::begin(&self.api, request.method(), request.uri(), route.as_ref().ok(), &query);
        (self.adopt_parent)(&observed.span, request.headers());
        let user = self.user(peer, request.headers());
        let user_name = user.as_ref().map(|user| user.name.clone()).unwrap_or_default();
        let encoding = negotiate::encoding(text(request.headers(), header::ACCEPT_ENCODING));
        let answered = async { self.answer(user?, &route?, query, request, encoding).await };
        let response = match answered.instrument(observed.span.clone()).await {
            Ok(response) => response,
            Err(status) => respond::failure(&status).map(SentBody::ours),
        };
        observed.end(&self.api, &user_name, response.status());
        response
    }

    async fn answer(
        &self,
        user: User,
        route: &Route,
        query: Query,
        request: HttpRequest<Incoming>,
        encoding: Encoding,
    ) -> Result<Response<SentBody>, Status> {
        let waits = self.authorized(&user, request.method(), request.uri().path(), route, &query)?;
        let _room = match waits {
            Waits::OnNode => return self.stream(user, query, request).await,
            Waits::Long => None,
            Waits::No => Some(self.room(&user, request.method())?),
        };
        let (parts, body) = request.into_parts();
        let body = read(body).await?;
        let request = Request {
            path: parts.uri.path().to_owned(),
            query,
            accept: text(&parts.headers, header::ACCEPT).to_owned(),
            content_type: text(&parts.headers, header::CONTENT_TYPE).to_owned(),
            user_agent: text(&parts.headers, header::USER_AGENT).to_owned(),
            method: parts.method,
            user,
            body,
        };
        let answered = tokio::time::timeout(ANSWER_WITHIN, dispatch::answer(&self.api, request)).await;
        let late = || Status::timeout("request did not complete within the allotted timeout", 1);
        let response = respond::success(answered.unwrap_or_else(|_| Err(late()))?, encoding);
        Ok(respond::unless_known(response, &parts.headers).map(SentBody::ours))
    }

    /// Passes a request on to the node that can answer it.
    async fn stream(
        &self,
        user: User,
        query: Query,
        mut request: HttpRequest<Incoming>,
    ) -> Result<Response<SentBody>, Status> {
        let upgrade = hyper::upgrade::on(&mut request);
        let (parts, body) = request.into_parts();
        let Route::Resource(path) = path::parse(parts.uri.path())? else { return Err(Status::unknown_path()) };
        let found = dispatch::find(&self.api, path, &parts.method)?;
        let subresource = found.subresource.ok_or_else(Status::unknown_path)?;
        let call = Call {
            kind: found.kind,
            namespace: found.path.namespace,
            name: found.path.name,
            user,
            query,
            output: Output { shape: Shape::Whole, layout: Layout::Compact },
            content_type: String::new(),
            user_agent: text(&parts.headers, header::USER_AGENT).to_owned(),
            body: Bytes::new(),
        };
        let client = ClientSide {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            rest: found.path.rest,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            upgrade,
            body: body.map_err(Into::into).boxed_unsync(),
        };
        let answered = self.forwarder.forward(&self.api, call, subresource, client).await?;
        Ok(answered.map(SentBody::FromNode))
    }

    fn user(&self, peer: &Peer, headers: &HeaderMap) -> Result<User, Status> {
        let credentials = Credentials {
            certificate: peer.certificate.as_ref(),
            authorization: headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes),
        };
        match authenticate(credentials, &self.verifier, &*self.api, jiff::Timestamp::now()) {
            Ok(user) => Ok(user.unwrap_or_else(User::anonymous)),
            Err(error) => {
                tracing::info!(reason = %error, "unable to authenticate the request");
                Err(error.into())
            }
        }
    }

    /// Refuses what the user may not do, and says whether the answer will take as long as the client wants.
    fn authorized(
        &self,
        user: &User,
        method: &Method,
        raw: &str,
        route: &Route,
        query: &Query,
    ) -> Result<Waits, Status> {
        let method_name = method.as_str().to_ascii_lowercase();
        let fields = query.first("fieldSelector").and_then(|text| Fields::parse(text).ok());
        let (attributes, waits) = match route {
            Route::Resource(path) => {
                let verb = path.verb(method.as_str(), query)?;
                let waits = match path.subresource.as_deref() {
                    Some("log" | "exec" | "attach" | "portforward" | "proxy") => Waits::OnNode,
                    _ if verb == Verb::Watch => Waits::Long,
                    _ => Waits::No,
                };
                let resource = Resource::of(path, fields.as_ref());
                (Attributes { user, verb: verb.as_str(), target: Target::Resource(resource) }, waits)
            }
            Route::Discovery(_)
            | Route::Version
            | Route::Health(_)
            | Route::OpenApi(_)
            | Route::Metrics
            | Route::Root
            | Route::Unknown => (Attributes { user, verb: &method_name, target: Target::Path(raw) }, Waits::No),
        };
        self.allowed(&attributes)?;
        if let (Waits::OnNode, "get", Target::Resource(resource)) = (waits, attributes.verb, &attributes.target)
            && matches!(resource.subresource, "exec" | "attach" | "portforward")
        {
            // A WebSocket can only be opened with GET: reading must not be enough to run something.
            self.allowed(&Attributes { verb: Verb::Create.as_str(), ..attributes })?;
        }
        Ok(waits)
    }

    fn allowed(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        match authorize(attributes, &*self.api) {
            Decision::Allow => Ok(()),
            Decision::Deny(reason) => Err(forbidden(attributes, &reason)),
        }
    }

    fn room(&self, user: &User, method: &Method) -> Result<(Room, Held), Status> {
        let kind = RequestKind::of(method);
        let pool = match kind {
            RequestKind::ReadOnly => &self.reads,
            RequestKind::Mutating => &self.writes,
        };
        let requests = &self.api.metrics.requests;
        let room = pool.enter(&user.name).inspect_err(|_| requests.rejected(kind))?;
        Ok((room, requests.enter(kind)))
    }
}

/// How long an answer may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    No,
    /// For what happens to objects.
    Long,
    /// For a node, which answers itself.
    OnNode,
}

/// Reads a body that is neither too large nor too slow.
async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes>,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let collected = tokio::time::timeout(BODY_WITHIN, Limited::new(body, MAX_BODY_BYTES).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Status::request_entity_too_large(&format!("limit is {MAX_BODY_BYTES}")))
        }
        Ok(Err(error)) => Err(Status::bad_request(format!("the body of the request could not be read: {error}"))),
        Err(_) => Err(Status::timeout("the body of the request did not arrive in time", 1)),
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if value.len() > MAX_HEADER_BYTES { "" } else { value }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up_in_time() {
        let began = tokio::time::Instant::now();
        let first = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"{")))]);
        let refused = read(StreamBody::new(first.chain(stream::pending()))).await.err().unwrap();
        assert_eq!((refused.code, refused.retry_after_seconds()), (504, Some(1)));
        assert_eq!(began.elapsed(), BODY_WITHIN);
    }

    #[tokio::test]
    async fn a_body_may_have_the_greatest_size_and_no_more() {
        let body = |bytes: usize| read(Full::new(Bytes::from(vec![b' '; bytes])));
        assert_eq!(body(MAX_BODY_BYTES).await.ok().unwrap().len(), MAX_BODY_BYTES);
        assert_eq!(body(MAX_BODY_BYTES + 1).await.err().unwrap().code, 413);
    }
}
