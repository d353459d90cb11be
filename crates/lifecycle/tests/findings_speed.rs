//! Looking at a very large pod takes time in proportion to its size.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lifecycle::exit_order::{PRIORITY_ANNOTATION, Reserve};
use lifecycle::findings::{Subject, Workload, of_pod};
use model::field::Path;
use model::gates::FeatureGates;
use serde_json::{Map, Value, json};

fn regular(n: usize) -> Value {
    let hook = json!({"exec": {"command": ["sh", "-c", format!("sleep {}", n % 40)]}});
    json!({
        "name": format!("c{n}"),
        "image": "nginx",
        "command": ["sh", "-c", "a; b"],
        "ports": [{"containerPort": 80}],
        "lifecycle": {"preStop": hook, "stopSignal": "SIGURG"},
    })
}

/// Half of the containers are named in the annotation, and so are all init containers, which is refused.
fn large_pod() -> (ObjectMeta, PodSpec) {
    let spec = json!({
        "terminationGracePeriodSeconds": 30,
        "initContainers": (0..5_000).map(|n| json!({"name": format!("s{n}"), "restartPolicy": "Always"})).collect::<Value>(),
        "containers": (0..5_000).map(regular).collect::<Value>(),
    });
    let named = (0..2_500).map(|n| (format!("c{n}"), json!(n % 9)));
    let ranks: Map<String, Value> = named.chain((0..5_000).map(|n| (format!("s{n}"), json!(1)))).collect();
    let annotations = [(PRIORITY_ANNOTATION.to_owned(), Value::Object(ranks).to_string())];
    let metadata = ObjectMeta { annotations: Some(annotations.into()), ..ObjectMeta::default() };
    (metadata, serde_json::from_value(spec).expect("a pod spec"))
}

#[test]
fn findings_of_ten_thousand_containers_come_in_a_moment() {
    let (metadata, spec) = large_pod();
    let subject = Subject {
        metadata: Some(&metadata),
        spec: &spec,
        workload: Workload::LongRunning,
        path: Path::root(),
        gates: FeatureGates::ALL_ON,
        reserve: Reserve::default(),
        grace_seconds: None,
    };
    let started = Instant::now();
    let count = of_pod(&subject).len();
    let took = started.elapsed();
    println!("{count} findings in {took:?}");
    assert!(count > 20_000, "{count}");
    // Far below this on an idle machine; the bound only catches work that grows with the square.
    assert!(took < Duration::from_secs(2), "{took:?}");
}
