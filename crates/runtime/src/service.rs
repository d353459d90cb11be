//! What is served by CRI: calls from outside, turned into work of this crate.

pub mod image_service;
