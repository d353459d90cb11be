//! The rules for containers as rows: a pod, and the errors upstream reports for it.

#![allow(clippy::needless_pass_by_value, reason = "rows are easier to read with literals")]

mod fields;
mod gates;
mod handlers;
mod kinds;
mod no_panics;
mod resources;
mod restart;
mod security;
mod sleep;
mod stop_signal;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use serde_json::{Value, json};

use super::containers::validate_containers;
use super::ephemeral_containers::validate_ephemeral_containers;
use super::init_containers::validate_init_containers;
use super::{Options, VolumeNames};
use crate::defaults::default_pod;
use crate::field::{Errors, Path};
use crate::gates::FeatureGates;

/// A spec with its defaults filled in.
fn spec(spec: Value) -> PodSpec {
    let mut pod: Pod = serde_json::from_value(json!({ "spec": spec })).expect("a pod");
    default_pod(&mut pod);
    pod.spec.expect("a spec")
}

/// Every error in the containers of a new pod, each as `path: message`.
fn errors_in(pod: Value) -> Vec<String> {
    errors_with(&spec(pod), &Options::new(FeatureGates::ALL_ON, None))
}

fn errors_with(spec: &PodSpec, options: &Options) -> Vec<String> {
    let mut errors = Errors::new();
    let mut volumes = VolumeNames::default();
    spec.volumes.iter().flatten().for_each(|volume| volumes.insert(volume));
    let root = Path::root();
    let path = root.child("spec");
    validate_containers(spec, &volumes, path.child("containers"), options, &mut errors);
    validate_init_containers(spec, &volumes, path.child("initContainers"), options, &mut errors);
    validate_ephemeral_containers(spec, &volumes, path.child("ephemeralContainers"), options, &mut errors);
    errors.iter().map(ToString::to_string).collect()
}

/// A container with a name, an image and the given fields.
fn container(fields: Value) -> Value {
    merged(json!({"name": "c", "image": "x"}), fields)
}

fn merged(mut base: Value, fields: Value) -> Value {
    if let (Value::Object(base), Value::Object(fields)) = (&mut base, fields) {
        base.extend(fields);
    }
    base
}

/// A pod of one container with the given fields.
fn with_container(fields: Value) -> Value {
    json!({"containers": [container(fields)]})
}

/// The errors of a pod of one container, without the path to that container.
fn container_errors(fields: Value) -> Vec<String> {
    without_prefix(errors_in(with_container(fields)), "spec.containers[0].")
}

fn without_prefix(errors: Vec<String>, prefix: &str) -> Vec<String> {
    errors.into_iter().map(|error| error.strip_prefix(prefix).map_or(error.clone(), str::to_owned)).collect()
}

/// Checks rows of container fields and the errors they lead to.
fn assert_rows(rows: &[(Value, &[&str])]) {
    for (fields, expected) in rows {
        assert_eq!(container_errors(fields.clone()), *expected, "{fields}");
    }
}
