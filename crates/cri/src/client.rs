//! A client of any runtime of CRI v1: both services over one connection to a Unix socket, which is made again when it breaks.
//!
//! Calls go through the generated clients; only what is easily done wrong has a method of its own. Runtimes of an older
//! interface answer too: they skip fields they do not know, and [`Client::features`] tells which newer calls they lack.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, IntoRequest, Request, Status};

use crate::address::{Address, AddressError};
use crate::v1::image_service_client::ImageServiceClient;
use crate::v1::runtime_service_client::RuntimeServiceClient;
use crate::v1::{GetEventsRequest, RuntimeConfigRequest, StopContainerRequest};

/// Runtimes cut their own answers at about 16 MiB; what they say around it must fit too.
pub const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// Within this, a socket that exists takes a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks for a socket that is not there yet.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// Within this, a runtime says whether it has a call.
const PROBE_WITHIN: Duration = Duration::from_secs(10);
/// A stream of events that was opened and is silent for this long, is one.
const SILENT_FOR: Duration = Duration::from_millis(500);

/// A connection to a runtime. Clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    address: Address,
    channel: Channel,
}

/// Which of the newer calls a runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// It tells its cgroup driver.
    pub runtime_config: bool,
    /// It tells what happens to containers; without that, they must be listed again and again.
    pub container_events: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("no runtime listens at {}: there is no such socket", path.display())]
    Missing { path: PathBuf },
    #[error("no runtime listens at {}: the socket is there, but nobody answers; was the runtime killed?", path.display())]
    Refused { path: PathBuf },
    #[error("this user may not use the runtime at {}: run as root, or as a member of the socket's group", path.display())]
    Forbidden { path: PathBuf },
    #[error("cannot connect to the runtime at {}: {reason}", path.display())]
    Failed { path: PathBuf, reason: String },
}

impl Client {
    /// Connects to a runtime that is there, at `unix:///path`, `unix:/path` or `/path`.
    pub async fn connect(address: &str) -> Result<Client, ConnectError> {
        Client::to(address.parse()?).await
    }

    /// Connects to a runtime that may still be starting: waits for it until the time is over.
    pub async fn connect_within(address: &str, patience: Duration) -> Result<Client, ConnectError> {
        let address: Address = address.parse()?;
        let deadline = Instant::now() + patience;
        loop {
            match Client::to(address.clone()).await {
                Err(ConnectError::Missing { .. } | ConnectError::Refused { .. }) if Instant::now() < deadline => {
                    sleep(LOOK_AGAIN_AFTER).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn to(address: Address) -> Result<Client, ConnectError> {
        let failed = |error| not_connected(&address, &error);
        let endpoint = Endpoint::from_shared(address.to_string()).map_err(failed)?.connect_timeout(CONNECT_WITHIN);
        let channel = endpoint.connect().await.map_err(failed)?;
        Ok(Client { address, channel })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The service for sandboxes and containers.
    pub fn runtime(&self) -> RuntimeServiceClient<Channel> {
        RuntimeServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// The service for images.
    pub fn images(&self) -> ImageServiceClient<Channel> {
        ImageServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Stops a container: its stop signal now, SIGKILL after `grace_seconds`, at once when that is 0 or less.
    ///
    /// The call itself may take `margin` longer. It must be enough for the runtime to see the container die: some
    /// runtimes forget the SIGKILL when their caller gives up.
    pub async fn stop_container(&self, id: &str, grace_seconds: i64, margin: Duration) -> Result<(), Status> {
        let grace = Duration::from_secs(u64::try_from(grace_seconds).unwrap_or(0));
        let request = StopContainerRequest { container_id: id.to_owned(), timeout: grace_seconds };
        self.runtime().stop_container(within(grace.saturating_add(margin), request)).await.map(drop)
    }

    /// Asks which newer calls the runtime has. An error is a runtime that does not answer at all.
    pub async fn features(&self) -> Result<Features, Status> {
        let config = self.runtime().runtime_config(within(PROBE_WITHIN, RuntimeConfigRequest {})).await;
        Ok(Features { runtime_config: is_there(config)?, container_events: self.tells_events().await? })
    }

    /// A stream that breaks off with `Unimplemented`, or at once without an error, tells nothing.
    async fn tells_events(&self) -> Result<bool, Status> {
        let deadline = Instant::now() + SILENT_FOR;
        let mut runtime = self.runtime();
        let open = runtime.get_container_events(GetEventsRequest {});
        // A server may answer the headers only with the first event.
        let Ok(opened) = timeout_at(deadline, open).await else { return Ok(true) };
        let mut events = match opened {
            Ok(events) => events.into_inner(),
            Err(status) => return is_there::<()>(Err(status)),
        };
        match timeout_at(deadline, events.message()).await {
            Err(_) => Ok(true),
            Ok(Ok(event)) => Ok(event.is_some()),
            Ok(Err(status)) => is_there::<()>(Err(status)),
        }
    }
}

/// A request whose call ends after `limit`, on both sides of the connection.
pub fn within<T>(limit: Duration, message: T) -> Request<T> {
    let mut request = message.into_request();
    request.set_timeout(limit.min(MAX_TIMEOUT));
    request
}

/// The wire has eight digits for a timeout; this is more than a year, and less than its hours could say.
const MAX_TIMEOUT: Duration = Duration::from_secs(400 * 24 * 3600);

fn is_there<T>(answer: Result<T, Status>) -> Result<bool, Status> {
    match answer {
        Ok(_) => Ok(true),
        Err(status) if status.code() == Code::Unimplemented => Ok(false),
        Err(status) => Err(status),
    }
}

fn not_connected(address: &Address, error: &tonic::transport::Error) -> ConnectError {
    let path = address.path().to_owned();
    let kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::NotFound) => ConnectError::Missing { path },
        Some(io::ErrorKind::ConnectionRefused) => ConnectError::Refused { path },
        Some(io::ErrorKind::PermissionDenied) => ConnectError::Forbidden { path },
        _ => {
            let reason = causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ");
            ConnectError::Failed { path, reason }
        }
    }
}

/// An error, what caused it, what caused that.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause| (*cause).source())
}
