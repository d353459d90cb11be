//! The runtime as others meet it: a process of its own behind a socket, killed and started again. Needs root.
//!
//! Each test has a machine of its own as far as the network goes: bridge, addresses and rules are in a namespace that
//! goes away with the test.

mod contract;
mod daemon;
mod deaths;
mod leftovers;
mod pods;
mod restarts;
mod streams;
