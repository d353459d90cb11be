//! Findings about sidecars, plain and native.

use serde_json::{Value, json};

use super::{Given, Severity, Workload};

fn beside_web(other: &Value) -> Given {
    Given::containers(&json!([{"name": "web", "image": "example/web"}, other]))
}

#[test]
fn a_sidecar_as_a_plain_container_is_stopped_with_those_who_need_it() {
    let id = "sidecar-as-plain-container";
    let finding = beside_web(&json!({"name": "proxy", "image": "envoyproxy/envoy:v1.30"})).the(id);
    assert_eq!((finding.severity, finding.container.as_deref()), (Severity::Warning, Some("proxy")));
    assert_eq!(finding.field, "spec.template.spec.containers[1]");
    assert!(finding.message.contains("at the same time as the containers that need it"));
    assert!(finding.remedy.contains("restartPolicy: Always") && finding.remedy.contains("rank 0 exits first"));
    for other in [
        json!({"name": "istio-proxy", "image": "x"}),
        json!({"name": "p", "image": "cr.l5d.io/linkerd/proxy:stable"}),
        json!({"name": "p", "image": "gcr.io/cloud-sql-connectors/cloud-sql-proxy:2"}),
        json!({"name": "logs", "image": "fluent/fluent-bit@sha256:00"}),
    ] {
        assert!(beside_web(&other).has(id), "{other}");
    }
}

#[test]
fn a_plain_sidecar_keeps_a_job_from_completing() {
    let id = "sidecar-as-plain-container";
    let given = beside_web(&json!({"name": "istio-proxy"})).in_a(Workload::Job);
    assert_eq!(given.severity(id), Some(Severity::Error));
    assert!(given.the(id).message.contains("the Job never completes"));
    assert!(given.ranks(r#"{"istio-proxy": 1}"#).has(id), "a rank does not end a Job");
}

#[test]
fn a_sidecar_that_exits_later_or_is_alone_is_fine() {
    let id = "sidecar-as-plain-container";
    let envoy = json!({"name": "envoy", "image": "x"});
    assert!(!beside_web(&envoy).ranks(r#"{"envoy": 1}"#).has(id));
    assert!(beside_web(&envoy).ranks(r#"{"envoy": -1}"#).has(id), "it exits first");
    assert!(!Given::containers(&json!([envoy])).has(id));
    assert!(!beside_web(&json!({"name": "worker", "image": "example/worker"})).has(id));
    assert!(!Given::containers(&json!([envoy, {"name": "fluent-bit"}])).has(id), "nobody is served");
}

/// I2
#[test]
fn the_hook_of_a_native_sidecar_starts_first() {
    let id = "sidecar-hook-starts-first";
    let pod = |hook: Value, policy: Value| {
        let proxy = json!({"name": "proxy", "restartPolicy": policy, "lifecycle": {"preStop": hook}});
        Given::spec(json!({"initContainers": [proxy], "containers": [{"name": "web"}]}))
    };
    let finding = pod(json!({"sleep": {"seconds": 5}}), json!("Always")).the(id);
    assert_eq!(finding.severity, Severity::Info);
    assert_eq!(finding.field, "spec.template.spec.initContainers[0].lifecycle.preStop");
    assert!(!pod(json!({"sleep": {"seconds": 0}}), json!("Always")).has(id));
    assert!(!pod(json!({"sleep": {"seconds": 5}}), Value::Null).has(id), "not a sidecar");
    assert!(!Given::sleep(5).has(id));
}
