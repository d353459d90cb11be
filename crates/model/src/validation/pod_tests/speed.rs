//! Validation takes time in proportion to the pod.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{base, pod};
use crate::gates::FeatureGates;
use crate::validation::{validate_pod, validate_pod_update};

/// Generous, for builds without optimization on a busy machine; a quadratic loop would take minutes.
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_pod_of_ten_thousand_containers_is_validated_quickly() {
    let container = base()["spec"]["containers"][0].clone();
    let numbered = |prefix: &str, i: usize| {
        let mut container = container.clone();
        container["name"] = json!(format!("{prefix}{i}"));
        container
    };
    let containers: Vec<Value> = (0..10_000).map(|i| numbered("c", i)).collect();
    let volumes: Vec<Value> = (0..10_000).map(|i| json!({"name": format!("v{i}"), "emptyDir": {}})).collect();
    let tolerations: Vec<Value> = (0..10_000).map(|i| json!({"key": format!("k{i}"), "operator": "Exists"})).collect();
    let large = pod(&json!({"spec": {
        "containers": containers, "volumes": volumes, "tolerations": tolerations, "resources": {"requests": {"cpu": "1"}}
    }}));
    let start = Instant::now();
    assert!(validate_pod(&large, FeatureGates::ALL_ON).is_empty());
    assert!(validate_pod_update(&large, &large, FeatureGates::ALL_ON).is_empty());
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}
