//! The image that needs no registry: the machine's own root, read-only under an overlay.

use std::sync::Arc;

use super::config::{Config, Process};
use super::digest::Digest;
use super::manifest::Platform;
use super::reference::Reference;
use super::{Image, ImageId};

/// Its complete name.
pub const NAME: &str = "localhost/host:latest";

pub fn id() -> ImageId {
    ImageId::new(Digest::of(NAME.as_bytes()))
}

pub fn is_host(reference: &Reference) -> bool {
    reference.digest().is_none() && reference.to_string() == NAME
}

pub fn image() -> Image {
    let here = Platform::here();
    let env = vec!["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()];
    let process = Process { env, cmd: vec!["/bin/sh".to_owned()], ..Process::default() };
    let config = Config { process, os: here.os, architecture: here.architecture, ..Config::default() };
    Image {
        id: id(),
        repo_tags: vec![NAME.to_owned()],
        repo_digests: Vec::new(),
        // It takes no room, but CRI wants a size.
        size: 1,
        pinned: true,
        config: Arc::new(config),
    }
}
