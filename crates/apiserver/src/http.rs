//! Sockets: connections in, requests to [`crate::dispatch`], answers out.
//!
//! Every request passes the same gate: who sent it, whether they may, whether there is room, and a body of bounded size
//! within bounded time. What is behind the gate never sees a socket.

mod body;
mod gate;
pub mod limits;
mod observed;
mod respond;
mod serve;

pub use body::{AnswerBody, SentBody};
pub use gate::{Gate, Peer};
pub use observed::AdoptParent;
pub use respond::{failure, success, with_warnings};
pub use serve::serve;
