//! What Kubernetes objects are and when they are valid.
//!
//! The types are `k8s-openapi`'s; this crate adds what the published schema does not say: defaults, validation with
//! upstream's field paths and messages, feature gates as a value, stop signals, quality of service, selectors, patches,
//! and reading manifests. It knows no clock, does no IO and decides nothing about how pods end: that is `lifecycle`.

mod decimal;
pub mod defaults;
pub mod field;
pub mod gates;
pub mod manifest;
pub mod patch;
pub mod prepare;
pub mod qos;
pub mod quantity;
pub mod selector;
pub mod signal;
pub mod termination;
pub mod text;
pub mod validation;
