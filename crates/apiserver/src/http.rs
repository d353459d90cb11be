//! Sockets: connections in, requests to [`crate::dispatch`], answers out.

mod body;
mod respond;

pub use body::AnswerBody;
pub use respond::{failure, success};
