//! Resources of the pod as a whole, overhead, and resource claims.

use serde_json::{Value, json};

use super::{accepts, created, pod, refuses};
use crate::prepare::prepare_for_create;

fn with(pod_resources: Value, container_resources: Value) -> Value {
    let mut pod = super::base();
    pod["spec"]["resources"] = pod_resources;
    pod["spec"]["containers"][0]["resources"] = container_resources;
    pod
}

#[test]
fn a_pod_is_promised_at_least_what_its_containers_are() {
    accepts(&[with(json!({"requests": {"cpu": "2"}}), json!({"requests": {"cpu": "2"}}))]);
    refuses(&[(
        with(json!({"requests": {"cpu": "1"}}), json!({"requests": {"cpu": "1500m"}})),
        "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate container \
         requests of 1500m",
    )]);
}

#[test]
fn sidecars_count_beside_the_main_containers_and_init_containers_alone() {
    let mut pod = with(json!({"requests": {"cpu": "3"}}), json!({"requests": {"cpu": "1"}}));
    let container = |name: &str, cpu: &str, restart: Option<&str>| {
        let mut container = super::base()["spec"]["containers"][0].clone();
        container["name"] = json!(name);
        container["resources"] = json!({"requests": {"cpu": cpu}});
        if let Some(restart) = restart {
            container["restartPolicy"] = json!(restart);
        }
        container
    };
    let sidecar = container("s", "1", Some("Always"));
    pod["spec"]["initContainers"] = json!([sidecar, container("i", "2", None)]);
    accepts(&[pod.clone()]);
    pod["spec"]["initContainers"] = json!([sidecar, container("i", "2500m", None)]);
    refuses(&[(
        pod,
        "spec.resources.requests[cpu]: Invalid value: \"3\": must be greater than or equal to aggregate container \
         requests of 3500m",
    )]);
}

#[test]
fn no_container_may_use_more_than_its_pod() {
    refuses(&[(
        with(json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}})),
        "spec.resources.containers[0][cpu].limits: Invalid value: \"2\": must be less than or equal to pod limits of 1",
    )]);
}

#[test]
fn a_pod_asks_for_cpu_memory_and_huge_pages_only() {
    refuses(&[(
        with(json!({"limits": {"ephemeral-storage": "1"}}), json!({})),
        "spec.resources.limits[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": supported values: \"cpu\", \
         \"hugepages-\", \"memory\"",
    )]);
    let claims = created(&with(json!({"limits": {"cpu": "1"}, "claims": []}), json!({})));
    assert_eq!(claims, ["spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level"]);
}

#[test]
fn a_windows_pod_has_no_resources_of_its_own() {
    let mut pod = with(json!({"limits": {"x": "1"}}), json!({}));
    pod["spec"]["os"] = json!({"name": "windows"});
    refuses(&[(pod, "spec.resources: Forbidden: may not be set for a windows pod")]);
}

#[test]
fn what_a_pod_leaves_open_is_filled_in_from_its_containers() {
    let own = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "3Gi"}});
    let mut pod = pod(&with(json!({"requests": {"memory": "2Gi"}}), own));
    prepare_for_create(&mut pod);
    let filled = serde_json::to_value(pod.spec.unwrap().resources).unwrap();
    let expected = json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "3Gi"}});
    assert_eq!(filled, expected);
}

#[test]
fn overhead_is_checked_like_limits() {
    accepts(&[json!({"spec": {"overhead": {"cpu": "1", "memory": "1Gi"}}})]);
    refuses(&[(
        json!({"spec": {"overhead": {"cpu": "-1"}}}),
        "spec.overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
    )]);
}

#[test]
fn a_resource_claim_names_one_source() {
    let claims = |claims: Value| json!({"spec": {"resourceClaims": claims}});
    accepts(&[claims(
        json!([{"name": "a", "resourceClaimName": "x"}, {"name": "b", "resourceClaimTemplateName": "y"}]),
    )]);
    refuses(&[
        (
            claims(json!([{"name": "a"}])),
            "spec.resourceClaims[0]: Invalid value: {\"Name\":\"a\",\"ResourceClaimName\":null,\
             \"ResourceClaimTemplateName\":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            claims(json!([{"name": "a", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "y"}])),
            "spec.resourceClaims[1].name: Duplicate value: \"a\"",
        ),
        (claims(json!([{"name": "", "resourceClaimName": "x"}])), "spec.resourceClaims[0].name: Required value"),
    ]);
}
