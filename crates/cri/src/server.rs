//! What a runtime needs to be served: a Unix socket that is safely taken and given back, and both services on it.
//!
//! A socket file that a killed server left behind is replaced; one at which somebody answers is not. Two servers that
//! start at the same moment are kept apart by a lock beside the socket.

mod socket;

use std::future::{Future, pending};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tonic::transport::Server;

use crate::address::Address;
use crate::v1::image_service_server::{ImageService, ImageServiceServer};
use crate::v1::runtime_service_server::{RuntimeService, RuntimeServiceServer};
pub use socket::Socket;

/// The largest message in either direction, as other runtimes have it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// How long calls that are under way may still take when the server is to stop.
pub const DRAIN_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("a runtime already listens at {}: stop it, or choose another address", path.display())]
    InUse { path: PathBuf },
    #[error("{} is there and is not a socket: remove it, or choose another address", path.display())]
    NotASocket { path: PathBuf },
    #[error("cannot listen at {}: {reason}", path.display())]
    Failed { path: PathBuf, reason: String },
}

/// Serves both services at `address` until `stop`, then lets running calls end for a while, and removes the socket.
///
/// Calls that last, such as a stream of events, are broken off in the end.
pub async fn serve<R, I, S>(address: &Address, runtime: R, images: I, stop: S) -> Result<(), ServeError>
where
    R: RuntimeService,
    I: ImageService,
    S: Future<Output = ()>,
{
    serve_on(Socket::bind(address).await?, runtime, images, stop).await
}

/// Serves both services on a socket that is already bound, so that the caller can say that it listens.
pub async fn serve_on<R, I, S>(socket: Socket, runtime: R, images: I, stop: S) -> Result<(), ServeError>
where
    R: RuntimeService,
    I: ImageService,
    S: Future<Output = ()>,
{
    let runtime = RuntimeServiceServer::new(runtime)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let images = ImageServiceServer::new(images)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let (stopping, stopped) = oneshot::channel();
    let stop = async {
        stop.await;
        // Nobody listens when the server has failed already.
        let _ = stopping.send(());
    };
    let server = Server::builder().add_service(runtime).add_service(images);
    let served = pin!(server.serve_with_incoming_shutdown(socket.connections(), stop));
    let drained = pin!(async {
        match stopped.await {
            Ok(()) => sleep(DRAIN_WITHIN).await,
            Err(_) => pending().await,
        }
    });
    match select(served, drained).await {
        Either::Left((Err(error), _)) => {
            Err(ServeError::Failed { path: socket.path().to_owned(), reason: error.to_string() })
        }
        Either::Left((Ok(()), _)) | Either::Right(_) => Ok(()),
    }
}
