//! Runs containers in real Linux namespaces and stops them exactly: images, sandboxes, network, containers, logs.
//!
//! Everything that decides how a process is stopped comes from `lifecycle::stop`; this crate carries it out.

pub mod cgroup;
pub mod images;
pub mod namespaces;
pub mod network;
pub mod seccomp;
pub mod shim;
pub mod streaming;
