//! What is not answered here but by the agent of a node, or by a pod: logs, exec, attach, port-forward, proxy.
//!
//! The server decides where a request goes ([`target`]) and passes it on. A connection that both ends agree to upgrade is
//! copied in both directions without being understood, so whatever protocol the client and the node speak
//! (WebSocket channels, SPDY, SPDY inside WebSocket) passes. Every stream ends with the client, with the node, or with
//! the server, and there is a limit to how many there are.
//!
//! Nodes are reached at their IP addresses first (upstream begins with the host name): an address needs no resolver
//! that knows the nodes.

mod admitted;
mod body;
mod connect;
mod container;
mod headers;
mod log_options;
mod log_socket;
mod refusal;
mod relay;
mod target;
#[cfg(test)]
mod tests;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::AbortOnDropHandle;

use crate::api::Api;
use crate::call::Call;
use crate::certificates::{CertificateError, KeyedCertificate};
use crate::http::with_warnings;
use crate::kind::Subresource;
use crate::metrics::{Held, RequestLabels};
use crate::status::Status;
pub use body::{ProxyBody, StreamError};
use connect::Agent;
use target::{Manner, Target};

/// How many streams there may be at the same time.
pub const MAX_STREAMS: usize = 4096;

/// How nodes are reached.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who the server is to the nodes' agents; none for agents that let everyone in.
    pub client: Option<KeyedCertificate>,
    pub trust: Trust,
    /// Within this, a connection stands, its handshake included.
    pub connect_within: Duration,
    /// Within this, an agent has agreed to an upgrade or refused it; starting a process may take it a while.
    pub upgrade_within: Duration,
}

/// Which certificates of nodes are believed.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those signed by one of these authorities (PEM), for the address that was called.
    Authorities(String),
    /// Any. Whoever can answer at a node's address then sees what is sent there.
    Unverified,
}

impl Options {
    pub const CONNECT_WITHIN: Duration = Duration::from_secs(10);
    pub const UPGRADE_WITHIN: Duration = Duration::from_secs(150);

    pub fn new(client: Option<KeyedCertificate>, trust: Trust) -> Options {
        Options { client, trust, connect_within: Self::CONNECT_WITHIN, upgrade_within: Self::UPGRADE_WITHIN }
    }
}

/// The body of a client's request.
pub type RequestBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What the client sent, and the way back to it.
pub struct ClientSide {
    pub method: Method,
    /// As in the request line, without the query.
    pub path: String,
    /// The decoded segments behind the subresource.
    pub rest: Vec<String>,
    /// As in the request line, without the question mark.
    pub query: String,
    pub headers: HeaderMap,
    pub upgrade: OnUpgrade,
    pub body: RequestBody,
}

/// Passes requests on.
pub struct Forwarder {
    options: Options,
    agents: Arc<ClientConfig>,
    /// For pods that are asked by HTTPS: nobody signs for them.
    pods: Arc<ClientConfig>,
    room: Arc<Semaphore>,
}

impl Forwarder {
    pub fn new(options: Options) -> Result<Forwarder, CertificateError> {
        let agents = trust::client_config(options.client.as_ref(), &options.trust)?;
        let pods = trust::client_config(None, &Trust::Unverified)?;
        Ok(Forwarder { options, agents, pods, room: Arc::new(Semaphore::new(MAX_STREAMS)) })
    }

    /// How many streams there are.
    pub fn open_streams(&self) -> usize {
        MAX_STREAMS - self.room.available_permits()
    }

    /// Answers a request on `log`, `exec`, `attach`, `portforward` or `proxy`; the call names the object.
    pub async fn forward(
        &self,
        api: &Api,
        mut call: Call,
        subresource: Subresource,
        mut client: ClientSide,
    ) -> Result<Response<ProxyBody>, Status> {
        let warnings = admitted::admit(api, &mut call, subresource, &mut client).await?;
        let answered = self.pass_on(api, &call, subresource, client).await?;
        Ok(with_warnings(answered, &warnings))
    }

    async fn pass_on(
        &self,
        api: &Api,
        call: &Call,
        subresource: Subresource,
        client: ClientSide,
    ) -> Result<Response<ProxyBody>, Status> {
        let Some(target) = target::of(api, call, subresource, &client)? else {
            return Ok(text(StatusCode::OK, ProxyBody::empty()));
        };
        let upgrade = headers::is_upgrade(&client.headers);
        if target.manner == Manner::Upgrade && !upgrade {
            return Err(Status::bad_request("Upgrade request required"));
        }
        let permit = Arc::clone(&self.room).try_acquire_owned().map_err(|_| {
            api.metrics.requests.stream_rejected();
            Status::too_many_requests("too many streams to nodes, please try again later", 1)
        })?;
        let labels = RequestLabels::of_stream(call, subresource);
        let room = Room { _permit: permit, _held: api.metrics.requests.enter_long_running(labels) };
        let agent = self.connect(&target).await?;
        // Logs are fetched, not passed through: agents do not speak WebSocket there, and what the client asked for is in
        // the query of the target.
        if upgrade && target.manner != Manner::Log {
            return self.upgraded(api, target, client, agent, room).await;
        }
        self.plain(api, target, client, agent, room).await
    }

    async fn connect(&self, target: &Target) -> Result<Agent, Status> {
        let tls = match target.scheme {
            target::Scheme::Agent => Some(&self.agents),
            target::Scheme::Https => Some(&self.pods),
            target::Scheme::Http => None,
        };
        let connecting = connect::connect(&target.host, target.port, tls);
        match tokio::time::timeout(self.options.connect_within, connecting).await {
            Ok(Ok(agent)) => Ok(agent),
            Ok(Err(error)) => Err(refusal::unreachable(target, &error.to_string())),
            Err(_) => Err(refusal::unreachable(target, &format!("dial tcp {}: i/o timeout", target.authority()))),
        }
    }

    async fn plain(
        &self,
        api: &Api,
        target: Target,
        client: ClientSide,
        mut agent: Agent,
        room: Room,
    ) -> Result<Response<ProxyBody>, Status> {
        let socket = match target.manner {
            Manner::Log => log_socket::LogSocket::asked_for(&client.headers)?,
            Manner::Upgrade | Manner::Pass => None,
        };
        let (headers, body) = match target.manner {
            Manner::Log => (HeaderMap::new(), ProxyBody::no_request()),
            Manner::Upgrade | Manner::Pass => (headers::passed_on(client.headers), client.body),
        };
        let method = if target.manner == Manner::Log { Method::GET } else { client.method };
        let request = request(&target, method, headers, body)?;
        let answered = tokio::select! {
            answered = agent.sender.send_request(request) => answered,
            () = api.closing.cancelled() => return Err(Status::service_unavailable("the server is shutting down")),
        };
        let response = answered.map_err(|error| refusal::unreachable(&target, &error.to_string()))?;
        if target.manner == Manner::Log {
            if !response.status().is_success() {
                return Err(refusal::of_log(response, &target).await);
            }
            let body = ProxyBody::from_node(response.into_body(), agent.driver, room, api.closing.clone());
            return match socket {
                None => Ok(text(StatusCode::OK, body)),
                Some(socket) => Ok(socket.open(client.upgrade, body)),
            };
        }
        let (mut parts, body) = response.into_parts();
        headers::drop_hops(&mut parts.headers);
        Ok(Response::from_parts(parts, ProxyBody::from_node(body, agent.driver, room, api.closing.clone())))
    }

    async fn upgraded(
        &self,
        api: &Api,
        target: Target,
        client: ClientSide,
        mut agent: Agent,
        room: Room,
    ) -> Result<Response<ProxyBody>, Status> {
        let headers = headers::passed_on_with_upgrade(client.headers);
        let request = request(&target, client.method, headers, ProxyBody::no_request())?;
        let answered = tokio::time::timeout(self.options.upgrade_within, agent.sender.send_request(request)).await;
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(refusal::unreachable(&target, &error.to_string())),
            Err(_) => return Err(refusal::unreachable(&target, "the node did not answer in time")),
        };
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(refusal::of_upgrade(response, &target).await);
        }
        let node = hyper::upgrade::on(&mut response);
        let closing = api.closing.clone();
        let both = Both { client: client.upgrade, node, driver: agent.driver, room };
        tokio::spawn(async move {
            tokio::select! {
                () = both.copied() => {}
                () = closing.cancelled() => {}
            }
        });
        let (parts, _) = response.into_parts();
        Ok(Response::from_parts(parts, ProxyBody::empty()))
    }
}

/// A stream's room among all streams, given back when dropped.
struct Room {
    _permit: OwnedSemaphorePermit,
    _held: Held,
}

/// The two ends of an upgraded connection. Dropping it closes both.
struct Both {
    client: OnUpgrade,
    node: OnUpgrade,
    /// Hands over the node's end, then ends.
    driver: AbortOnDropHandle<()>,
    room: Room,
}

impl Both {
    async fn copied(self) {
        let Both { client, node, driver, room } = self;
        let ends = tokio::time::timeout(Options::UPGRADE_WITHIN, async { tokio::try_join!(client, node) }).await;
        match ends {
            Ok(Ok((client, node))) => relay::both_ways(TokioIo::new(client), TokioIo::new(node)).await,
            Ok(Err(error)) => tracing::debug!(%error, "a connection was not upgraded"),
            Err(_) => tracing::debug!("a connection was not upgraded in time"),
        }
        drop((driver, room));
    }
}

fn request(
    target: &Target,
    method: Method,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Request<RequestBody>, Status> {
    let built = Request::builder().method(method).uri(&target.path_and_query).body(body);
    let mut request = built.map_err(|error| Status::bad_request(error.to_string()))?;
    *request.headers_mut() = headers;
    let host = target.authority().parse().map_err(|_| refusal::unreachable(target, "it has no valid address"))?;
    request.headers_mut().insert(http::header::HOST, host);
    Ok(request)
}

fn text(code: StatusCode, body: ProxyBody) -> Response<ProxyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let content_type = http::HeaderValue::from_static("text/plain");
    response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
    response
}

/// What an agent answers with.
type NodeResponse = Response<Incoming>;
