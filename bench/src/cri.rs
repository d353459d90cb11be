//! Container runtimes side by side: the same calls through the same client, round by round, and what they take.
//!
//! A [`runtime::Runtime`] is one that is measured; [`rounds`] does what is timed; [`table`] tells it.

pub mod floor;
pub mod memory;
pub mod pod;
pub mod private;
pub mod rounds;
pub mod runtime;
pub mod table;
pub mod target;
