//! When a pod is valid, with the field paths and messages of upstream.
//!
//! Objects are checked after their defaults are filled in ([`crate::defaults`]). Every mistake is collected, in upstream's
//! order. What a feature gate or an older object changes is decided once, in [`Options`], and passed down as a value.

mod container_security;
mod containers;
mod env;
mod ephemeral_containers;
mod field_refs;
mod handlers;
mod init_containers;
mod lifecycle;
mod options;
mod ports;
mod probes;
mod resource_names;
mod resources;
mod restart;
mod security_profiles;
mod surroundings;
mod volume_mounts;
mod volume_names;
mod windows_options;

use k8s_openapi::api::core::v1::PodSpec;

pub use options::Options;
pub(crate) use volume_names::{VolumeKind, VolumeNames};

use crate::field::{Errors, Path};

/// Checks the containers of every kind in `spec`, which `path` names.
pub fn validate_all_containers(spec: &PodSpec, path: Path<'_>, options: &Options, errors: &mut Errors) {
    let volumes = VolumeNames::of(spec);
    containers::validate_containers(spec, &volumes, path.child("containers"), options, errors);
    init_containers::validate_init_containers(spec, &volumes, path.child("initContainers"), options, errors);
    let path = path.child("ephemeralContainers");
    ephemeral_containers::validate_ephemeral_containers(spec, &volumes, path, options, errors);
}

#[cfg(test)]
mod container_tests;
