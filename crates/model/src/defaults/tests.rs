//! The defaults as rows: what is left out, and what it becomes.

#![allow(clippy::needless_pass_by_value, reason = "rows are easier to read with literals")]

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use serde_json::{Value, json};

use super::{default_pod, default_template, warnings};

fn defaulted(spec: Value) -> Value {
    let mut pod: Pod = serde_json::from_value(json!({ "spec": spec })).expect("a pod");
    default_pod(&mut pod);
    serde_json::to_value(pod).expect("JSON")["spec"].take()
}

fn defaulted_template(spec: Value) -> Value {
    let mut template: PodTemplateSpec = serde_json::from_value(json!({ "spec": spec })).expect("a template");
    default_template(&mut template);
    serde_json::to_value(template).expect("JSON")["spec"].take()
}

fn defaulted_container(fields: Value) -> Value {
    defaulted(json!({"containers": [fields]}))["containers"][0].take()
}

/// 1.11.1
#[test]
fn the_grace_period_is_30_seconds_unless_given() {
    assert_eq!(defaulted(json!({"containers": []}))["terminationGracePeriodSeconds"], 30);
    assert_eq!(defaulted_template(json!({"containers": []}))["terminationGracePeriodSeconds"], 30);
    assert_eq!(defaulted(json!({"terminationGracePeriodSeconds": 0}))["terminationGracePeriodSeconds"], 0);
}

/// 1.11.2
#[test]
fn a_negative_grace_period_becomes_one_second_in_pods_only() {
    for seconds in [-1, i64::MIN] {
        let spec = json!({"terminationGracePeriodSeconds": seconds});
        assert_eq!(defaulted(spec.clone())["terminationGracePeriodSeconds"], 1);
        assert_eq!(defaulted_template(spec)["terminationGracePeriodSeconds"], seconds);
    }
}

/// 1.11.3
#[test]
fn a_pod_gets_its_policies_its_scheduler_and_an_empty_security_context() {
    let spec = defaulted(json!({"containers": []}));
    assert_eq!(
        spec,
        json!({
            "containers": [], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "securityContext": {},
            "schedulerName": "default-scheduler", "enableServiceLinks": true, "terminationGracePeriodSeconds": 30,
        })
    );
    assert_eq!(defaulted_template(json!({}))["enableServiceLinks"], Value::Null);
}

/// 1.11.3
#[test]
fn a_container_gets_its_termination_message_and_a_port_its_protocol() {
    let container = defaulted_container(json!({"name": "c", "image": "x:1", "ports": [{"containerPort": 1}]}));
    assert_eq!(
        container,
        json!({
            "name": "c", "image": "x:1", "imagePullPolicy": "IfNotPresent",
            "ports": [{"containerPort": 1, "protocol": "TCP"}],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        })
    );
}

/// 1.11.4
#[test]
fn a_probe_gets_its_numbers_but_no_grace_period() {
    let probe = json!({"exec": {"command": ["a"]}, "periodSeconds": 0, "failureThreshold": 7});
    let container = defaulted_container(json!({"livenessProbe": probe}));
    assert_eq!(
        container["livenessProbe"],
        json!({
            "exec": {"command": ["a"]}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
            "failureThreshold": 7,
        })
    );
    let grpc = defaulted_container(json!({"startupProbe": {"grpc": {"port": 1}}}));
    assert_eq!(grpc["startupProbe"]["grpc"]["service"], "");
}

/// 1.11.5
#[test]
fn http_requests_get_a_path_and_a_scheme_in_containers_of_every_kind() {
    let fields = json!({
        "name": "c",
        "lifecycle": {"preStop": {"httpGet": {"port": 1}}, "postStart": {"httpGet": {"port": 1, "scheme": "HTTPS"}}},
        "readinessProbe": {"httpGet": {"port": 1, "path": "/x"}},
    });
    let spec = defaulted(json!({
        "containers": [fields], "initContainers": [fields], "ephemeralContainers": [fields],
    }));
    for kind in ["containers", "initContainers", "ephemeralContainers"] {
        let container = &spec[kind][0];
        let hook = |name: &str| container["lifecycle"][name]["httpGet"].clone();
        assert_eq!(hook("preStop"), json!({"port": 1, "path": "/", "scheme": "HTTP"}), "{kind}");
        assert_eq!(hook("postStart"), json!({"port": 1, "path": "/", "scheme": "HTTPS"}), "{kind}");
        assert_eq!(container["readinessProbe"]["httpGet"], json!({"port": 1, "path": "/x", "scheme": "HTTP"}));
    }
}

/// 1.11.6
#[test]
fn sleeps_and_stop_signals_have_no_defaults() {
    let lifecycle = json!({"preStop": {"sleep": {"seconds": 0}}});
    assert_eq!(defaulted_container(json!({"lifecycle": lifecycle}))["lifecycle"], lifecycle);
    assert_eq!(defaulted_container(json!({"lifecycle": {}}))["lifecycle"], json!({}));
}

/// 1.11.8
#[test]
fn a_negative_grace_period_is_warned_about() {
    let warned = |seconds: Value| {
        let pod: Pod = serde_json::from_value(json!({"spec": {"terminationGracePeriodSeconds": seconds}})).unwrap();
        warnings(&pod)
    };
    assert_eq!(
        warned(json!(-5)),
        ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"]
    );
    assert!(warned(json!(0)).is_empty() && warned(Value::Null).is_empty());
}

#[test]
fn requests_are_taken_from_limits_in_pods_only() {
    let containers = json!([{"name": "c", "resources": {"limits": {"cpu": "1.5", "memory": "0.1m"}}}]);
    let spec = defaulted(json!({"containers": containers, "initContainers": containers}));
    let expected = json!({
        "limits": {"cpu": "1500m", "memory": "1m"}, "requests": {"cpu": "1500m", "memory": "1m"},
    });
    assert_eq!(spec["containers"][0]["resources"], expected);
    assert_eq!(spec["initContainers"][0]["resources"], expected);
    let template = defaulted_template(json!({"containers": containers}));
    assert_eq!(template["containers"][0]["resources"], json!({"limits": expected["limits"]}));
}

#[test]
fn on_the_network_of_the_host_ports_are_those_of_the_host_in_pods_only() {
    let containers = json!([{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 90}]}]);
    let spec = json!({"hostNetwork": true, "containers": containers});
    let ports = defaulted(spec.clone())["containers"][0]["ports"].take();
    assert_eq!((&ports[0]["hostPort"], &ports[1]["hostPort"]), (&json!(80), &json!(90)));
    assert_eq!(defaulted_template(spec)["containers"][0]["ports"][0]["hostPort"], Value::Null);
}

#[test]
fn both_names_of_the_service_account_hold_the_same() {
    for (given, expected) in [
        (json!({"serviceAccount": "a"}), "a"),
        (json!({"serviceAccountName": "b"}), "b"),
        (json!({"serviceAccount": "a", "serviceAccountName": "b"}), "b"),
    ] {
        let spec = defaulted(given);
        assert_eq!((&spec["serviceAccount"], &spec["serviceAccountName"]), (&json!(expected), &json!(expected)));
    }
}

#[test]
fn references_to_fields_are_of_version_one() {
    let container = defaulted_container(json!({"env": [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "C", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
    ]}));
    assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
    assert_eq!(container["env"][1]["valueFrom"]["resourceFieldRef"]["divisor"], "0");
    assert_eq!(container["env"][2]["valueFrom"]["fileKeyRef"]["optional"], false);
}

#[test]
fn volumes_get_the_defaults_of_their_source() {
    let mode = json!(0o644);
    for (given, expected) in [
        (json!({}), json!({"emptyDir": {}})),
        (json!({"emptyDir": {"sizeLimit": "1024Ki"}}), json!({"emptyDir": {"sizeLimit": "1Mi"}})),
        (json!({"secret": {}}), json!({"secret": {"defaultMode": mode}})),
        (json!({"configMap": {"name": "a"}}), json!({"configMap": {"name": "a", "defaultMode": mode}})),
        (json!({"downwardAPI": {}}), json!({"downwardAPI": {"defaultMode": mode}})),
        (
            json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}),
            json!({"projected": {
                "defaultMode": mode, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
            }}),
        ),
        (json!({"hostPath": {"path": "/"}}), json!({"hostPath": {"path": "/", "type": ""}})),
        (
            json!({"azureDisk": {"diskName": "a", "diskURI": "b"}}),
            json!({"azureDisk": {
                "diskName": "a", "diskURI": "b", "cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared",
                "readOnly": false,
            }}),
        ),
        (
            json!({"rbd": {"monitors": [], "image": "i"}}),
            json!({"rbd": {
                "monitors": [], "image": "i", "pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring",
            }}),
        ),
        (json!({"image": {"reference": "a"}}), json!({"image": {"reference": "a", "pullPolicy": "Always"}})),
    ] {
        let mut volume = given.clone();
        volume["name"] = json!("v");
        let mut expected = expected;
        expected["name"] = json!("v");
        assert_eq!(defaulted(json!({"volumes": [volume]}))["volumes"][0], expected, "{given}");
    }
}

#[test]
fn the_addresses_of_a_pod_agree_and_the_single_one_wins() {
    for (given, expected) in [
        (json!({"podIP": "1.1.1.1"}), json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]})),
        (json!({"podIPs": [{"ip": "1.1.1.1"}]}), json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]})),
        (
            json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "2.2.2.2"}]}),
            json!({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}),
        ),
    ] {
        let mut pod: Pod = serde_json::from_value(json!({"status": given})).expect("a pod");
        default_pod(&mut pod);
        assert_eq!(serde_json::to_value(pod.status).expect("JSON"), expected);
    }
}

#[test]
fn a_pod_without_a_spec_has_an_empty_one() {
    let mut pod = Pod::default();
    default_pod(&mut pod);
    assert_eq!(pod.spec.expect("a spec").termination_grace_period_seconds, Some(30));
}

#[test]
fn defaults_are_filled_in_once() {
    let mut pod: Pod = serde_json::from_value(json!({"spec": {
        "hostNetwork": true, "volumes": [{"name": "v"}],
        "containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 1}], "livenessProbe": {},
            "resources": {"limits": {"cpu": "+08", "memory": "1.0005Ki"}}}],
    }}))
    .expect("a pod");
    default_pod(&mut pod);
    let once = pod.clone();
    default_pod(&mut pod);
    assert_eq!(pod, once);
}
