//! The network of sandboxes, on a host of each test's own: a thread in a fresh network and mount namespace, so that
//! nothing of the machine is touched and nothing outlives the test. Needs root.

#[path = "network/bridge.rs"]
mod bridge;
#[path = "network/host.rs"]
mod host;
