//! Load for an API server: connections that send one request after the other, and what the server spends on them.

pub mod client;
pub mod figures;
pub mod process;
