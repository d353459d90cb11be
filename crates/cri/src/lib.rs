//! The container runtime interface, version 1: its messages, a client, what a server needs, and the contract suite.
//!
//! How things should be done is decided elsewhere: callers and runtimes have the policy, this crate has the language.

pub mod address;
pub mod client;
#[cfg(all(feature = "contract", target_os = "linux"))]
pub mod contract;
pub mod messages;
#[cfg(unix)]
pub mod server;
pub mod signal;

pub use address::{Address, AddressError};
pub use client::{Client, ConnectError, Features};
pub use messages::v1;
pub use signal::{StopSignal, UnknownSignal};
