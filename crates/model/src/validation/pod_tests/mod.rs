//! Upstream's rules for pods, row by row: a change to a valid pod, and the errors it causes.

mod affinity;
mod metadata;
mod network;
mod resources;
mod scheduling;
mod security;
mod spec;
mod status;
mod template;
mod update;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{validate_pod, validate_pod_update};
use crate::field::Errors;
use crate::gates::FeatureGates;
use crate::prepare::{prepare_for_create, prepare_for_update};

/// A pod as it is after defaulting.
pub(super) fn base() -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "ns", "resourceVersion": "1"},
        "spec": {
            "containers": [{
                "name": "c",
                "image": "i",
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File"
            }],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30
        }
    })
}

/// Lays a change over an object: objects merge, `null` removes, anything else replaces.
pub(super) fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (key, change) in change {
                if change.is_null() {
                    target.remove(key);
                } else {
                    merge(target.entry(key).or_insert(Value::Null), change);
                }
            }
        }
        (target, change) => *target = change.clone(),
    }
}

pub(super) fn pod(change: &Value) -> Pod {
    let mut pod = base();
    merge(&mut pod, change);
    serde_json::from_value(pod).unwrap()
}

pub(super) fn lines(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// What creating the base pod with a change says.
pub(super) fn created(change: &Value) -> Vec<String> {
    let mut pod = pod(change);
    prepare_for_create(&mut pod);
    lines(&validate_pod(&pod, FeatureGates::ALL_ON))
}

/// What updating the base pod with `old` over it to one with `new` over that says.
pub(super) fn updated(old: &Value, new: &Value) -> Vec<String> {
    let mut changed = base();
    merge(&mut changed, old);
    merge(&mut changed, new);
    let old = pod(old);
    let mut new: Pod = serde_json::from_value(changed).unwrap();
    prepare_for_update(&mut new, &old);
    lines(&validate_pod_update(&new, &old, FeatureGates::ALL_ON))
}

pub(super) fn accepts(rows: &[Value]) {
    for row in rows {
        assert_eq!(created(row), [""; 0], "{row}");
    }
}

/// Each row: a change, and the one error it causes.
pub(super) fn refuses(rows: &[(Value, &str)]) {
    for (change, error) in rows {
        assert_eq!(created(change), [*error], "{change}");
    }
}

#[test]
fn the_base_pod_is_valid() {
    accepts(&[json!({})]);
}
