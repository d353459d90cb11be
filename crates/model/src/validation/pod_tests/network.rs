//! DNS, host names, host aliases, host ports.

use serde_json::json;

use super::{accepts, created, refuses};

#[test]
fn the_dns_policy_is_one_of_four() {
    refuses(&[
        (json!({"spec": {"dnsPolicy": ""}}), "spec.dnsPolicy: Required value"),
        (
            json!({"spec": {"dnsPolicy": "x"}}),
            "spec.dnsPolicy: Unsupported value: \"x\": supported values: \"ClusterFirstWithHostNet\", \
             \"ClusterFirst\", \"Default\", \"None\"",
        ),
    ]);
}

#[test]
fn the_dns_policy_none_needs_a_nameserver() {
    accepts(&[json!({"spec": {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.2.3.4"]}}})]);
    refuses(&[
        (
            json!({"spec": {"dnsPolicy": "None"}}),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            json!({"spec": {"dnsPolicy": "None", "dnsConfig": {}}}),
            "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is \
             None",
        ),
    ]);
}

#[test]
fn the_dns_configuration_fits_the_resolver() {
    let config = |config: serde_json::Value| json!({"spec": {"dnsConfig": config}});
    accepts(&[config(json!({"searches": ["a_b.c", ".", "d."], "options": [{"name": "ndots"}]}))]);
    refuses(&[
        (
            config(json!({"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]})),
            "spec.dnsConfig.nameservers: Invalid value: [\"1.1.1.1\",\"1.1.1.2\",\"1.1.1.3\",\"1.1.1.4\"]: must not have \
             more than 3 nameservers",
        ),
        (
            config(json!({"nameservers": ["x"]})),
            "spec.dnsConfig.nameservers[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or \
             2001:db8::ffff)",
        ),
        (config(json!({"options": [{}]})), "spec.dnsConfig.options[0]: Required value: must not be empty"),
    ]);
    let many: Vec<String> = (0..33).map(|i| format!("s{i}")).collect();
    let lines = created(&config(json!({"searches": many})));
    assert!(lines[0].ends_with("must not have more than 32 search paths"), "{lines:?}");
    let long: Vec<String> = (0..10).map(|_| "a".repeat(63) + "." + &"b".repeat(63) + "." + &"c".repeat(120)).collect();
    let lines = created(&config(json!({"searches": long})));
    assert!(lines[0].ends_with("more than 2048 characters (including spaces) in the search list"), "{lines:?}");
}

#[test]
fn host_aliases_give_names_to_an_address() {
    accepts(&[json!({"spec": {"hostAliases": [{"ip": "::1", "hostnames": ["a.b"]}]}})]);
    refuses(&[(
        json!({"spec": {"hostAliases": [{"ip": "010.0.0.1"}]}}),
        "spec.hostAliases[0].ip: Invalid value: \"010.0.0.1\": must not have leading 0s",
    )]);
}

#[test]
fn hostname_and_subdomain_are_dns_labels() {
    refuses(&[
        (json!({"spec": {"hostname": "a.b"}}), "spec.hostname: Invalid value: \"a.b\": must not contain dots"),
        (json!({"spec": {"subdomain": "a.b"}}), "spec.subdomain: Invalid value: \"a.b\": must not contain dots"),
    ]);
}

#[test]
fn the_hostname_is_overridden_only_where_the_pod_has_its_own() {
    accepts(&[json!({"spec": {"hostnameOverride": "a.b"}})]);
    let path = "spec.hostnameOverride: Forbidden: may not be specified when";
    assert_eq!(
        created(&json!({"spec": {"hostnameOverride": "a", "setHostnameAsFQDN": true, "hostNetwork": true}})),
        [format!("{path} setHostnameAsFQDN is true"), format!("{path} hostNetwork is true")]
    );
    refuses(&[(
        json!({"spec": {"hostnameOverride": "a".repeat(65)}}),
        "spec.hostnameOverride: Too long: may not be more than 64 bytes",
    )]);
}

#[test]
fn ports_on_the_host_network_are_the_hosts() {
    let mut pod = super::base();
    pod["spec"]["hostNetwork"] = json!(true);
    pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]);
    accepts(&[pod.clone()]);
    pod["spec"]["containers"][0]["ports"][0]["hostPort"] = json!(81);
    refuses(&[(
        pod,
        "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
    )]);
}
