//! The network of sandboxes, on a host of each test's own: a thread in a fresh network and mount namespace, so that
//! nothing of the machine is touched and nothing outlives the test. Needs root.

#[path = "network/bridge.rs"]
mod bridge;
#[path = "network/cni.rs"]
mod cni;
#[path = "network/host.rs"]
mod host;
#[path = "network/leftovers.rs"]
mod leftovers;
#[path = "network/namespaces.rs"]
mod namespaces;
#[path = "network/plugins.rs"]
mod plugins;
#[path = "network/ports.rs"]
mod ports;
#[path = "network/refusals.rs"]
mod refusals;
