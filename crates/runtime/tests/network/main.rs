//! The network of sandboxes, on a host of each test's own: a thread in a fresh network and mount namespace, so that
//! nothing of the machine is touched and nothing outlives the test. Needs root.

mod bridge;
mod cni;
mod host;
mod leftovers;
mod namespaces;
mod plugins;
mod ports;
mod refusals;
