//! Plans, findings and records in the forms people and programs read: text for a terminal, JSON, SVG.
//!
//! Nothing here decides anything: it draws what `lifecycle` says.

mod clip;
pub mod explain;
mod scale;
mod spans;
