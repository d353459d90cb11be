//! Runs containers in real Linux namespaces and stops them exactly: images, sandboxes, network, containers, logs.
//!
//! Everything that decides how a process is stopped comes from `lifecycle::stop`; this crate carries it out.

pub mod cgroup;
pub mod container;
pub mod engine;
pub mod events;
pub mod images;
pub mod namespaces;
pub mod network;
mod records;
pub mod sandbox;
pub mod seccomp;
pub mod service;
pub mod shim;
pub mod shims;
pub mod spec;
pub mod stats;
pub mod streaming;
