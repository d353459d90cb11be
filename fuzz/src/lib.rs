//! Fuzz targets as plain functions, so that tests and libFuzzer run the same code.
//!
//! A target panics when a promise is broken and returns otherwise, whatever the bytes. A new one is a module here, a
//! line in [`TARGETS`], a file in `src/bin` with its entry in `Cargo.toml`, and seeds in `seeds/<name>/`.

mod gates;
mod manifest;

pub use gates::gates;
pub use manifest::manifest;

/// A promise to try to break.
pub type Target = fn(&[u8]);

/// Every target by the name of its binary and of its seeds' directory.
pub const TARGETS: [(&str, Target); 2] = [("gates", gates), ("manifest", manifest)];
