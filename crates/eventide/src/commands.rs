//! One file per command, named as on the command line.

pub mod apiserver;
pub mod completions;
pub mod explain;
#[cfg(target_os = "linux")]
pub mod image;
#[cfg(target_os = "linux")]
pub mod runtime;
