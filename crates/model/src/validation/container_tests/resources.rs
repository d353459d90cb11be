//! Requests, limits, claims and resize policies.

use serde_json::{Value, json};

use super::{assert_rows, container, errors_in};

fn limits(limits: Value) -> Value {
    json!({"resources": {"limits": limits}})
}

#[test]
fn amounts_are_quantities_that_are_not_negative() {
    assert_rows(&[
        (limits(json!({"cpu": "0.1", "memory": "1Gi"})), &[]),
        (
            json!({"resources": {"requests": {"cpu": "-1"}}}),
            &["resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"],
        ),
        (
            json!({"resources": {"requests": {"cpu": "much"}}}),
            &["resources.requests[cpu]: Invalid value: \"much\": quantities must match the regular expression \
               '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
        ),
    ]);
}

#[test]
fn names_without_a_domain_are_those_of_containers() {
    assert_rows(&[
        (
            json!({"resources": {"requests": {"foo": "1", "pods": "1"}}}),
            &[
                "resources.requests[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
                "resources.requests[foo]: Invalid value: \"foo\": must be a standard resource for containers",
                "resources.requests[pods]: Invalid value: \"pods\": must be a standard resource for containers",
            ],
        ),
        (
            json!({"resources": {"requests": {"requests.example.com/a": "1"}}}),
            &[
                "resources.requests[requests.example.com/a]: Invalid value: \"requests.example.com/a\": doesn't follow \
                 extended resource name standard",
                "resources.limits: Required value: Limit must be set for non overcommitable resources",
            ],
        ),
    ]);
}

#[test]
fn extended_resources_are_whole_and_requested_as_they_are_limited() {
    assert_rows(&[
        (limits(json!({"example.com/gpu": "2"})), &[]),
        (
            json!({"resources": {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1500m"}}}),
            &[
                "resources.requests[example.com/gpu]: Invalid value: \"1500m\": must be an integer",
                "resources.requests: Invalid value: \"1500m\": must be equal to example.com/gpu limit of 2",
            ],
        ),
    ]);
}

#[test]
fn a_request_is_no_larger_than_its_limit() {
    assert_rows(&[(
        json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1001m"}}}),
        &["resources.requests: Invalid value: \"1001m\": must be less than or equal to cpu limit of 1"],
    )]);
}

#[test]
fn huge_pages_come_in_whole_pages_and_with_cpu_or_memory() {
    assert_rows(&[
        (limits(json!({"hugepages-2Mi": "4Mi", "cpu": "1"})), &[]),
        (
            limits(json!({"hugepages-2Mi": "3Mi"})),
            &[
                "resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of \
                 hugepages-2Mi",
                "resources.requests[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of \
                 hugepages-2Mi",
                "resources: Forbidden: HugePages require cpu or memory",
            ],
        ),
    ]);
}

#[test]
fn claims_are_those_of_the_pod_and_named_once() {
    let errors = |of_pod: Value, claims: Value| {
        errors_in(
            json!({"resourceClaims": of_pod, "containers": [container(json!({"resources": {"claims": claims}}))]}),
        )
    };
    let of_pod = json!([{"name": "b"}, {"name": "a"}]);
    assert!(errors(of_pod.clone(), json!([{"name": "a", "request": "x"}, {"name": "a", "request": "y"}])).is_empty());
    assert_eq!(
        errors(of_pod, json!([{"name": "a", "request": "x"}, {"name": "a"}, {"name": "c"}])),
        [
            "spec.containers[0].resources.claims[1]: Duplicate value: \"a\"",
            "spec.containers[0].resources.claims[2]: Not found: \"c\": must be one of the names in \
             pod.spec.resourceClaims: a, b",
        ]
    );
    assert_eq!(
        errors(json!([]), json!([{"name": "c"}])),
        ["spec.containers[0].resources.claims[0]: Not found: \"c\": must be one of the names in \
          pod.spec.resourceClaims which is empty"]
    );
}

#[test]
fn resize_policies_name_cpu_or_memory_once_and_suit_the_pod() {
    let policy = |resource: &str, restart: &str| json!({"resourceName": resource, "restartPolicy": restart});
    assert_rows(&[
        (json!({"resizePolicy": [policy("cpu", "NotRequired"), policy("memory", "RestartContainer")]}), &[]),
        (
            json!({"resizePolicy": [policy("cpu", "NotRequired"), policy("cpu", "Never"), policy("disk", "")]}),
            &[
                "resizePolicy[1]: Duplicate value: \"cpu\"",
                "resizePolicy: Unsupported value: \"Never\": supported values: \"NotRequired\", \"RestartContainer\"",
                "resizePolicy: Unsupported value: \"disk\": supported values: \"cpu\", \"memory\"",
                "resizePolicy: Required value",
            ],
        ),
    ]);
    let never = json!({
        "restartPolicy": "Never",
        "containers": [container(json!({"resizePolicy": [policy("cpu", "RestartContainer")]}))],
    });
    assert_eq!(
        errors_in(never),
        ["spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod \
          `restartPolicy` is 'Never'"]
    );
}
