//! When a pod, and what other kinds share with it, is valid, with the field paths and messages of upstream.
//!
//! Objects are checked after their defaults are filled in ([`crate::defaults`]). Every mistake is collected, in upstream's
//! order. What a feature gate or an older object changes is decided once, in [`Options`], and passed down as a value.

mod affinity;
pub(crate) mod aggregate;
mod annotations;
mod container_security;
mod containers;
mod env;
mod ephemeral_containers;
mod field_refs;
pub mod formats;
mod handlers;
mod host_process;
mod init_containers;
mod int_or_percent;
mod kept;
mod labels;
mod lifecycle;
mod metadata;
mod network;
mod options;
mod os;
mod pod;
mod pod_resources;
mod pod_spec;
#[cfg(test)]
mod pod_tests;
mod ports;
mod probes;
mod resource_claims;
mod resource_names;
mod resources;
mod restart;
mod same;
mod scheduling;
mod security;
mod security_profiles;
mod status;
mod surroundings;
mod topology;
mod update;
mod visit;
mod volume_mounts;
mod volume_names;
mod volumes;
mod windows_options;

pub use int_or_percent::{int_or_percent_value, validate_at_most_all, validate_int_or_percent};
pub use labels::{InvalidValues, shown as shown_selector, validate_labels, validate_selector};
pub use metadata::{NameRule, Scope, pin_metadata, validate_metadata, validate_metadata_update};
pub use options::Options;
pub use pod::{Workload, validate_pod, validate_template};
pub use same::same;
pub use status::validate_pod_status_update;
pub use update::{validate_ephemeral_containers_update, validate_pod_update};
pub(crate) use volume_names::{VolumeKind, VolumeNames};

#[cfg(test)]
mod container_tests;
