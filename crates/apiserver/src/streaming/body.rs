//! The body that a client gets from a node: piece by piece as it comes, until the node, the client or the server ends it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use thiserror::Error;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::AbortOnDropHandle;

use super::{RequestBody, Room};

/// Why a body ended before its end. The client is to see that something is missing.
#[derive(Debug, Error)]
pub enum StreamError {
    #[error("the node broke off: {0}")]
    Node(#[from] hyper::Error),
    #[error("the server is shutting down")]
    Closing,
}

/// A body that comes from a node, or nothing.
pub struct ProxyBody(Option<Box<FromNode>>);

struct FromNode {
    incoming: Incoming,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Closes the connection when the client has gone.
    _driver: AbortOnDropHandle<()>,
    _room: Room,
}

impl ProxyBody {
    pub const fn empty() -> ProxyBody {
        ProxyBody(None)
    }

    pub(super) fn from_node(
        incoming: Incoming,
        driver: AbortOnDropHandle<()>,
        room: Room,
        closing: CancellationToken,
    ) -> ProxyBody {
        let closing = Box::pin(closing.cancelled_owned());
        ProxyBody(Some(Box::new(FromNode { incoming, closing, _driver: driver, _room: room })))
    }

    /// The body of a request that has none.
    pub(super) fn no_request() -> RequestBody {
        RequestBody::new(Empty::new().map_err(|never| match never {}))
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let Some(node) = &mut self.0 else { return Poll::Ready(None) };
        if node.closing.as_mut().poll(context).is_ready() {
            self.0 = None;
            return Poll::Ready(Some(Err(StreamError::Closing)));
        }
        let frame = ready!(Pin::new(&mut node.incoming).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.0 = None;
        }
        Poll::Ready(frame.map(|frame| frame.map_err(StreamError::Node)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|node| node.incoming.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |node| node.incoming.size_hint())
    }
}
