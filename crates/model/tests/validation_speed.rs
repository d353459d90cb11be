//! Validation takes time in proportion to the pod.

use std::fmt::Write;
use std::time::{Duration, Instant};

use model::defaults::default_pod;
use model::gates::FeatureGates;
use model::manifest::{Limits, Workload, read};
use model::prepare::prepare_for_create;
use model::validation::{validate_pod, validate_pod_update};

/// Generous, for builds without optimization on a busy machine; a quadratic loop would take minutes.
const LIMIT: Duration = Duration::from_secs(30);

fn large_manifest() -> String {
    let mut text = String::from(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"large\",\"namespace\":\"default\"},\"spec\":{",
    );
    for (field, entry) in [
        ("containers", r#"{"name":"c#","image":"app"}"#),
        ("volumes", r#"{"name":"v#","emptyDir":{}}"#),
        ("tolerations", r#"{"key":"k#","operator":"Exists"}"#),
    ] {
        let entries: Vec<String> = (0..10_000).map(|i| entry.replace('#', &i.to_string())).collect();
        let _ = write!(text, "\"{field}\":[{}],", entries.join(","));
    }
    text + "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}}"
}

#[test]
fn a_pod_of_ten_thousand_containers_is_validated_quickly() {
    let mut documents = read(large_manifest().as_bytes(), &Limits::DEFAULT).expect("a manifest");
    let Some(Workload::Pod(mut pod)) = documents.pop().map(|document| document.workload) else { panic!("a pod") };
    default_pod(&mut pod);
    prepare_for_create(&mut pod);
    pod.metadata.resource_version = Some("1".to_owned());
    let start = Instant::now();
    assert!(validate_pod(&pod, FeatureGates::ALL_ON).is_empty());
    assert!(validate_pod_update(&pod, &pod, FeatureGates::ALL_ON).is_empty());
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}
