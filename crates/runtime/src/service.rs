//! CRI over the engine: messages in, verbs, messages out. Decides nothing.

mod filters;
pub mod image_service;
mod info;
mod runtime_service;
mod status_codes;
mod update;
mod usage;

pub use runtime_service::RuntimeCalls;
