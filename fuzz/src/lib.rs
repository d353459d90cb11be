//! Fuzz targets as plain functions, so that tests and libFuzzer run the same code.
//!
//! A target panics when a promise is broken and returns otherwise, whatever the bytes. A new one is a module here, a
//! line in [`TARGETS`], a file in `src/bin` with its entry in `Cargo.toml`, and seeds in `seeds/<name>/`.

mod body;
mod cri_request;
mod exit_priority;
mod gates;
mod image;
mod layer;
mod manifest;
mod patch;
mod protobuf;
mod request_line;
mod review;
mod selector;
mod step;
mod token;

pub use body::body;
pub use cri_request::cri_request;
pub use exit_priority::exit_priority;
pub use gates::gates;
pub use image::image;
pub use layer::layer;
pub use manifest::manifest;
pub use patch::patch;
pub use protobuf::protobuf;
pub use request_line::request_line;
pub use review::review;
pub use selector::selector;
pub use step::step;
pub use token::token;

/// A promise to try to break.
pub type Target = fn(&[u8]);

/// Every target by the name of its binary and of its seeds' directory.
pub const TARGETS: &[(&str, Target)] = &[
    ("body", body),
    ("cri_request", cri_request),
    ("exit_priority", exit_priority),
    ("gates", gates),
    ("image", image),
    ("layer", layer),
    ("manifest", manifest),
    ("patch", patch),
    ("protobuf", protobuf),
    ("request_line", request_line),
    ("review", review),
    ("selector", selector),
    ("step", step),
    ("token", token),
];
