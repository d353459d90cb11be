//! CRI over the engine: messages in, verbs, messages out. Decides nothing.

mod attached;
mod filters;
pub mod image_service;
mod info;
mod pty;
mod runtime_service;
mod sessions;
mod status_codes;
mod update;
mod usage;

use std::net::SocketAddr;
use std::sync::Arc;

use cri::server::{ServeError, Socket};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::images::registry::Registries;
use crate::streaming;
use image_service::ImageCalls;
use runtime_service::RuntimeCalls;
use sessions::Sessions;

/// How the engine is served.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Where streams are connected; port 0 takes any that is free.
    pub streaming: SocketAddr,
    pub registries: Registries,
}

/// Why it could not be served.
#[derive(Debug, Error)]
pub enum ServiceError {
    #[error("cannot listen for streams at {address}: {reason}")]
    Streaming { address: SocketAddr, reason: std::io::Error },
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves until `stop`; containers go on.
pub async fn serve(
    engine: Arc<Engine>,
    socket: Socket,
    serving: Serving,
    stop: CancellationToken,
) -> Result<(), ServiceError> {
    let sessions = Arc::new(Sessions::new(engine.clone()));
    let address = serving.streaming;
    let streams = streaming::Server::start(address, sessions, stop.clone()).await;
    let streams = Arc::new(streams.map_err(|reason| ServiceError::Streaming { address, reason })?);
    let images = ImageCalls::new(engine.images.clone(), serving.registries);
    let calls = RuntimeCalls::new(engine, streams);
    cri::server::serve_on(socket, calls, images, async move { stop.cancelled().await }).await?;
    Ok(())
}
