//! Services as upstream defaults, keeps, refuses and shows them.

use serde_json::{Value, json};

use super::Services;
use crate::kind::{Kind, Part};
use crate::kinds::test_support::{
    assert_refused, assert_update_refused, cells, create_errors, created, part_errors, read, updated, with,
};

fn service() -> Value {
    json!({"metadata": {"name": "s", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}})
}

fn spec_of(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap()["spec"].clone()
}

#[test]
fn a_service_is_reached_inside_the_cluster_unless_it_says_otherwise() {
    let expected = json!({
        "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    });
    assert_eq!(spec_of(&created::<Services>(service())), expected);
}

#[test]
fn each_type_has_its_defaults() {
    let default = |patch: Value| spec_of(&created::<Services>(with(&service(), json!({"spec": patch}))));
    let balancer = default(json!({"type": "LoadBalancer"}));
    assert_eq!(balancer["allocateLoadBalancerNodePorts"], true);
    assert_eq!(balancer["externalTrafficPolicy"], "Cluster");
    assert_eq!(default(json!({"externalIPs": ["10.0.0.1"]}))["externalTrafficPolicy"], "Cluster");
    let sticky = default(json!({"sessionAffinity": "ClientIP"}));
    assert_eq!(sticky["sessionAffinityConfig"], json!({"clientIP": {"timeoutSeconds": 10800}}));
    let name = default(json!({"type": "ExternalName", "externalName": "a.b"}));
    assert_eq!((&name["internalTrafficPolicy"], &name["ipFamilies"]), (&Value::Null, &Value::Null));
    let headless = default(json!({"clusterIP": "None"}));
    assert_eq!(headless["clusterIPs"], json!(["None"]));
    assert_eq!(
        (&headless["ipFamilyPolicy"], &headless["ipFamilies"]),
        (&json!("RequireDualStack"), &json!(["IPv4", "IPv6"]))
    );
    assert_eq!(default(json!({"clusterIP": "fd00::1"}))["ipFamilies"], json!(["IPv6"]));
}

#[test]
fn ports_are_checked() {
    let ports = |ports: Value| json!({"spec": {"ports": ports}});
    assert_refused::<Services>(
        &service(),
        &[
            (ports(json!([])), &["spec.ports: Required value"]),
            (
                ports(json!([{"port": 0, "targetPort": 1}])),
                &["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
            ),
            (ports(json!([{"port": 1}, {"port": 2, "name": "b"}])), &["spec.ports[0].name: Required value"]),
            (
                ports(json!([{"port": 1, "name": "a"}, {"port": 2, "name": "a"}])),
                &["spec.ports[1].name: Duplicate value: \"a\""],
            ),
            (
                ports(json!([{"port": 1, "name": "a"}, {"port": 1, "name": "b"}])),
                &["spec.ports[1]: Duplicate value: {\"protocol\":\"TCP\",\"port\":1,\"targetPort\":0}"],
            ),
            (
                ports(json!([{"port": 1, "protocol": "X"}])),
                &["spec.ports[0].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\""],
            ),
            (
                ports(json!([{"port": 1, "nodePort": 30000}])),
                &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
            ),
            (
                ports(json!([{"port": 1, "targetPort": "aB"}])),
                &[
                    "spec.ports[0].targetPort: Invalid value: \"aB\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                ],
            ),
        ],
    );
}

#[test]
fn addresses_are_checked() {
    let spec = |spec: Value| json!({"spec": spec});
    assert_refused::<Services>(
        &service(),
        &[
            (
                spec(json!({"clusterIPs": ["10.0.0.1"]})),
                &["spec.clusterIPs: Invalid value: [\"10.0.0.1\"]: must be empty when `clusterIP` is not specified"],
            ),
            (
                spec(json!({"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.1"]})),
                &["spec.clusterIPs: Invalid value: [\"10.0.0.1\"]: first value must match `clusterIP`"],
            ),
            (
                spec(json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"], "ipFamilies": ["IPv4"]})),
                &[
                    "spec.ipFamilies[1]: Duplicate value: \"IPv4\"",
                    "spec.clusterIPs: Invalid value: [\"10.0.0.1\",\"10.0.0.2\"]: may specify no more than one IP for each IP family",
                ],
            ),
            (
                spec(json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv6"]})),
                &[
                    "spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as indicated by `ipFamilies[0]`",
                ],
            ),
            (
                spec(json!({"type": "NodePort", "clusterIP": "None"})),
                &["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
            ),
            (
                spec(json!({"externalIPs": ["127.0.0.1"]})),
                &[
                    "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
                ],
            ),
            (spec(json!({"type": "ExternalName"})), &["spec.externalName: Required value"]),
            (
                spec(json!({"type": "ExternalName", "externalName": "a", "clusterIP": "10.0.0.1"})),
                &["spec.clusterIPs: Forbidden: may not be set for ExternalName services"],
            ),
        ],
    );
}

#[test]
fn enumerations_and_what_belongs_to_load_balancers_are_checked() {
    let spec = |spec: Value| json!({"spec": spec});
    assert_refused::<Services>(
        &service(),
        &[
            (
                spec(json!({"type": "X", "internalTrafficPolicy": "Local"})),
                &[
                    "spec.type: Unsupported value: \"X\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
                ],
            ),
            (
                spec(json!({"sessionAffinity": "X"})),
                &["spec.sessionAffinity: Unsupported value: \"X\": supported values: \"ClientIP\", \"None\""],
            ),
            (
                spec(
                    json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}}),
                ),
                &[
                    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
                ],
            ),
            (
                spec(json!({"externalTrafficPolicy": "Local"})),
                &[
                    "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
                ],
            ),
            (
                spec(json!({"loadBalancerClass": "a/b"})),
                &["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
            ),
            (
                spec(json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/33"]})),
                &[
                    "spec.LoadBalancerSourceRanges[0]: Invalid value: \"10.0.0.0/33\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
                ],
            ),
            (
                spec(json!({"healthCheckNodePort": 30000})),
                &[
                    "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
                ],
            ),
            (
                spec(json!({"trafficDistribution": "X"})),
                &[
                    "spec.trafficDistribution: Unsupported value: \"X\": supported values: \"PreferClose\", \"PreferSameZone\", \"PreferSameNode\"",
                ],
            ),
        ],
    );
    let mut name = service();
    name["metadata"]["name"] = json!("1.s");
    assert_eq!(create_errors::<Services>(name).len(), 1);
}

#[test]
fn addresses_and_node_ports_are_kept_and_never_changed() {
    let old = with(
        &service(),
        json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30000}]}}),
    );
    let resent = with(&service(), json!({"spec": {"type": "NodePort"}}));
    let spec = spec_of(&updated::<Services>(resent, old.clone()));
    assert_eq!((&spec["clusterIPs"], &spec["ports"][0]["nodePort"]), (&json!(["10.0.0.1"]), &json!(30000)));
    assert_update_refused::<Services>(
        &old,
        &[
            (json!({"spec": {"clusterIP": null}}), &[]),
            (
                json!({"spec": {"clusterIP": "10.0.0.2"}}),
                &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
            ),
            (
                json!({"spec": {"ipFamilies": ["IPv6"]}}),
                &[
                    "spec.ipFamilies[0]: Invalid value: [\"IPv6\"]: may not change once set",
                    "spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as indicated by `ipFamilies[0]`",
                ],
            ),
            (json!({"spec": {"type": "ExternalName", "externalName": "a.b"}}), &[]),
        ],
    );
}

#[test]
fn a_change_of_type_drops_what_the_old_type_had() {
    let old = with(
        &service(),
        json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30000}]}}),
    );
    let spec = spec_of(&updated::<Services>(with(&old, json!({"spec": {"type": "ClusterIP"}})), old.clone()));
    assert_eq!(spec["ports"][0]["nodePort"], Value::Null);
    let named =
        with(&old, json!({"spec": {"type": "ExternalName", "externalName": "a.b", "clusterIPs": ["10.0.0.1"]}}));
    assert_eq!(spec_of(&updated::<Services>(named, old))["clusterIP"], Value::Null);
}

#[test]
fn only_load_balancers_report_where_they_are() {
    let ingress = json!({"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}});
    let errors = part_errors::<Services>(Part::Status, with(&service(), ingress.clone()), service());
    assert_eq!(errors, ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]);
    let balancer = with(&service(), json!({"spec": {"type": "LoadBalancer"}}));
    assert_eq!(part_errors::<Services>(Part::Status, with(&balancer, ingress), balancer.clone()), [""; 0]);
    let odd = json!({"status": {"loadBalancer": {"ingress": [{"hostname": "1.2.3.4", "ipMode": "VIP"}]}}});
    let errors = part_errors::<Services>(Part::Status, with(&balancer, odd), balancer);
    assert_eq!(
        errors,
        [
            "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set",
            "status.loadBalancer.ingress[0].hostname: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
        ]
    );
}

#[test]
fn a_row_shows_how_the_service_is_reached() {
    let row = |patch: Value| cells::<Services>(with(&service(), patch));
    assert_eq!(row(json!({})), ["s", "ClusterIP", "<none>", "<none>", "80/TCP", "60m", "<none>"]);
    let balancer = row(json!({
        "spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "selector": {"a": "b"},
            "externalIPs": ["1.1.1.1"], "ports": [{"port": 80, "nodePort": 30000}, {"port": 53, "protocol": "UDP"}]},
        "status": {"loadBalancer": {"ingress": [{"hostname": "h"}]}},
    }));
    assert_eq!(balancer, ["s", "LoadBalancer", "10.0.0.1", "h,1.1.1.1", "80:30000/TCP,53/UDP", "60m", "a=b"]);
    assert_eq!(row(json!({"spec": {"type": "LoadBalancer"}}))[3], "<pending>");
    assert_eq!(
        row(json!({"spec": {"type": "ExternalName", "externalName": "a.b", "ports": null}}))[3..5],
        ["a.b", "<none>"]
    );
    let fields =
        Services::selectable_fields(&read::<Services>(with(&service(), json!({"spec": {"clusterIP": "10.0.0.1"}}))));
    assert_eq!(fields[0], ("spec.clusterIP", "10.0.0.1".into()));
}
