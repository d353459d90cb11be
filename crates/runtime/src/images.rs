//! Images: fetched or loaded, kept by content, unpacked into snapshots.

pub mod compression;
pub mod config;
pub mod digest;
pub mod manifest;
pub mod reference;
pub mod unpack;
