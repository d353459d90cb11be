//! The way to etcd: one connection that everybody shares, made again over the endpoints in turn when it breaks, and
//! calls that end within their deadline.

use std::future::Future;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use super::messages::StatusRequest;
use super::messages::kv_client::KvClient;
use super::messages::maintenance_client::MaintenanceClient;
use super::messages::watch_client::WatchClient;
use super::options::{EtcdOptions, EtcdTls, OptionsError};
use super::refusal::{Refusal, chain};
use crate::limits::{MAX_PAGE_BYTES, MAX_VALUE_BYTES};

/// Within this, an endpoint takes a connection and says its version, or the next is tried.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// Between two tries of everything.
const PAUSE: Duration = Duration::from_millis(100);
/// While anything waits for an answer, a silent connection is probed. etcd allows a probe every 5 s.
const PROBE_EVERY: Duration = Duration::from_secs(10);
const PROBE_WITHIN: Duration = Duration::from_secs(5);
/// What one watch that nobody reads can hold back in memory before etcd has to wait.
const STREAM_WINDOW_BYTES: u32 = 512 * 1024;
/// Watches that nobody reads share this with calls, so it must hold many of their windows.
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024 * 1024;
/// A page, one value more, and the keys and numbers around them.
pub const MAX_ANSWER_BYTES: usize = 2 * MAX_PAGE_BYTES + MAX_VALUE_BYTES;

#[derive(Debug)]
pub struct Connections {
    endpoints: Vec<(String, Endpoint)>,
    call_within: Duration,
    pub resume_within: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Option<Connection>,
    /// The endpoint to try first.
    next: usize,
    /// How many connections there were.
    made: u64,
}

#[derive(Clone, Debug)]
pub struct Connection {
    channel: Channel,
    number: u64,
    pub progress: Progress,
}

/// How a watch learns that it has missed nothing, while only keys outside its prefix change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It asks.
    Asked,
    /// It watches everything. Before 3.4.25 and 3.5.8, etcd's answer to the question may overtake an event.
    WatchedByAll,
}

/// When a call may be made a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    Always,
    /// Only if etcd has certainly not got it: it must not happen twice, or be taken for a conflict with itself.
    IfNotSent,
}

impl Connection {
    pub fn kv(&self) -> KvClient<Channel> {
        // What we send is bounded by the store's limits, so etcd's own limit is the one that users meet.
        KvClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    pub fn watches(&self) -> WatchClient<Channel> {
        WatchClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }
}

impl Connections {
    pub fn new(options: &EtcdOptions) -> Result<Connections, OptionsError> {
        let tls = options.tls.as_ref().map(EtcdTls::load).transpose()?;
        let mut endpoints = Vec::new();
        for (name, url) in options.urls()? {
            let unusable = |error: tonic::transport::Error| OptionsError::Certificates { reason: chain(&error) };
            let endpoint = Endpoint::from_shared(url).map_err(unusable)?;
            let endpoint = match &tls {
                Some(tls) => endpoint.tls_config(tls.clone()).map_err(unusable)?,
                None => endpoint,
            };
            endpoints.push((name, tune(endpoint)));
        }
        let state = Mutex::new(State { current: None, next: 0, made: 0 });
        Ok(Connections { endpoints, call_within: options.call_within, resume_within: options.resume_within, state })
    }

    /// Calls `ask` with a connection until it is answered, it may not be repeated, or the deadline has passed.
    pub async fn call<T, A>(&self, repeat: Repeat, ask: impl Fn(Connection) -> A) -> Result<T, Refusal>
    where
        A: Future<Output = Result<T, Status>>,
    {
        let deadline = Instant::now() + self.call_within;
        let mut reason = "it is silent".to_owned();
        loop {
            let mut used = None;
            let refusal = match timeout_at(deadline, self.attempt(&ask, &mut used)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(refusal)) => refusal,
                Err(_) => {
                    self.discard(used).await;
                    let names: Vec<&str> = self.endpoints.iter().map(|(name, _)| name.as_str()).collect();
                    let within = self.call_within.as_secs_f32();
                    let text = format!("no answer from etcd ({}) within {within} s: {reason}", names.join(", "));
                    return Err(Refusal::Broken(text));
                }
            };
            reason = match (refusal, repeat) {
                (Refusal::NotSent(reason), _) | (Refusal::Broken(reason), Repeat::Always) => reason,
                (refusal, _) => return Err(refusal),
            };
            // Past the deadline, the next attempt ends at once and says why.
            let _ = timeout_at(deadline, sleep(PAUSE)).await;
        }
    }

    async fn attempt<T, A>(&self, ask: &impl Fn(Connection) -> A, used: &mut Option<u64>) -> Result<T, Refusal>
    where
        A: Future<Output = Result<T, Status>>,
    {
        let connection = self.connection().await?;
        *used = Some(connection.number);
        let result = ask(connection).await.map_err(Refusal::from);
        if matches!(result, Err(Refusal::Broken(_) | Refusal::NotSent(_))) {
            self.discard(*used).await;
        }
        result
    }

    /// The connection, made if there is none.
    async fn connection(&self) -> Result<Connection, Refusal> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.current {
            return Ok(connection.clone());
        }
        let mut reasons = Vec::new();
        for _ in 0..self.endpoints.len() {
            let (name, endpoint) = &self.endpoints[state.next];
            match timeout(CONNECT_WITHIN, connect(endpoint)).await {
                Ok(Ok((channel, progress))) => {
                    state.made += 1;
                    let connection = Connection { channel, number: state.made, progress };
                    state.current = Some(connection.clone());
                    return Ok(connection);
                }
                Ok(Err(reason)) => reasons.push(format!("{name}: {reason}")),
                Err(_) => reasons.push(format!("{name}: no connection within {} s", CONNECT_WITHIN.as_secs())),
            }
            state.next = (state.next + 1) % self.endpoints.len();
        }
        Err(Refusal::NotSent(reasons.join("; ")))
    }

    /// Drops a connection that failed, so that the next endpoint is tried, unless somebody did already.
    async fn discard(&self, number: Option<u64>) {
        let mut state = self.state.lock().await;
        if state.current.as_ref().is_some_and(|current| Some(current.number) == number) {
            state.current = None;
            state.next = (state.next + 1) % self.endpoints.len();
        }
    }

    /// For streams, which fail outside of calls.
    pub async fn discard_broken(&self, connection: &Connection) {
        self.discard(Some(connection.number)).await;
    }
}

fn tune(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT_WITHIN)
        .http2_keep_alive_interval(PROBE_EVERY)
        .keep_alive_timeout(PROBE_WITHIN)
        // etcd takes probes of an idle connection for an attack.
        .keep_alive_while_idle(false)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
}

async fn connect(endpoint: &Endpoint) -> Result<(Channel, Progress), String> {
    let channel = endpoint.connect().await.map_err(|error| chain(&error))?;
    let status = MaintenanceClient::new(channel.clone()).status(StatusRequest {}).await;
    let status = status.map_err(|status| Refusal::from(status).to_string())?;
    Ok((channel, progress_of(&status.into_inner().version)))
}

fn progress_of(version: &str) -> Progress {
    let mut numbers = version.split(['.', '-', '+']).map(|number| number.parse::<u32>().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    match (number(), number(), number()) {
        (..=2, _, _) | (3, ..=3, _) | (3, 4, ..=24) | (3, 5, ..=7) => Progress::WatchedByAll,
        _ => Progress::Asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_not_asked_for_progress() {
        for version in ["3.4.23", "3.4.24", "3.3.99", "3.5.7", "3.5.0-alpha.1", "nonsense", ""] {
            assert_eq!(progress_of(version), Progress::WatchedByAll, "{version}");
        }
        for version in ["3.4.25", "3.5.8", "3.5.16", "3.6.0", "4.0.0", "3.6.0-rc.1"] {
            assert_eq!(progress_of(version), Progress::Asked, "{version}");
        }
    }
}
