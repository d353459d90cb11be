//! When a service is valid.
//!
//! A port for health checks is not required: it may be given out after validation.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use model::field::{BadValue, Errors, Path};
use model::text;
use model::validation::formats::{self, IMMUTABLE};
use model::validation::validate_labels;
use serde_json::{Value, json};

use super::{is_external, is_headless, needs_health_check, type_of};
use crate::kinds::addresses::validate_reachable;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const FAMILY_POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const CLIENT_TIMEOUT_SECONDS_MAX: i32 = 86_400;

/// Everything that is wrong with a service. Addresses that the old one had already may stay as they are.
pub(super) fn validate_service(service: &Service, old: Option<&Service>, errors: &mut Errors) {
    let (root, no_spec) = (Path::root(), ServiceSpec::default());
    let path = root.child("spec");
    let spec = service.spec.as_ref().unwrap_or(&no_spec);
    let old = old.and_then(|old| old.spec.as_ref());
    validate_type_rules(spec, path, errors);
    validate_ports(spec, path.child("ports"), errors);
    validate_labels(spec.selector.as_ref(), path.child("selector"), errors);
    validate_affinity(spec, path, errors);
    if type_of(spec) != "ExternalName" {
        validate_cluster_ips(spec, old, path, errors);
    }
    let known = old.and_then(|old| old.external_ips.as_deref()).unwrap_or_default();
    for (i, ip) in spec.external_ips.iter().flatten().enumerate() {
        let list = path.child("externalIPs");
        if validate_ip(ip, known, list.index(i), errors) {
            validate_reachable(ip, list.index(i), errors);
        }
    }
    formats::required_choice(type_of(spec), &TYPES, path.child("type"), errors);
    validate_unique_ports(spec, path.child("ports"), errors);
    validate_balancer(spec, path, errors);
    validate_traffic(spec, path, errors);
}

fn validate_type_rules(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let kind = type_of(spec);
    if spec.ports.as_ref().is_none_or(Vec::is_empty) && !is_headless(spec) && kind != "ExternalName" {
        errors.required(path.child("ports"), "");
    }
    if matches!(kind, "LoadBalancer" | "NodePort") && is_headless(spec) {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.invalid(path.child("clusterIPs").index(0), "None", &detail);
    }
    if kind != "ExternalName" {
        return;
    }
    let refused = [
        ("clusterIPs", spec.cluster_ips.as_ref().is_some_and(|ips| !ips.is_empty())),
        ("ipFamilies", spec.ip_families.as_ref().is_some_and(|families| !families.is_empty())),
        ("ipFamilyPolicy", spec.ip_family_policy.is_some()),
    ];
    for (field, _) in refused.into_iter().filter(|(_, given)| *given) {
        errors.forbidden(path.child(field), "may not be set for ExternalName services");
    }
    let name = spec.external_name.as_deref().unwrap_or_default();
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.required(path.child("externalName"), ""),
        name => formats::dns_subdomain(name, path.child("externalName"), errors),
    }
}

fn validate_ports(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let ports = spec.ports.as_deref().unwrap_or_default();
    let mut names = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        match port.name.as_deref().unwrap_or_default() {
            "" if ports.len() > 1 => errors.required(path.child("name"), ""),
            "" => {}
            name => {
                formats::dns_label(name, path.child("name"), errors);
                if !names.insert(name) {
                    errors.duplicate(path.child("name"), name);
                }
            }
        }
        validate_port(port, path, errors);
    }
}

fn validate_port(port: &ServicePort, path: Path<'_>, errors: &mut Errors) {
    formats::port_number(port.port.into(), path.child("port"), errors);
    let protocol = port.protocol.as_deref().unwrap_or_default();
    formats::required_choice(protocol, &PROTOCOLS, path.child("protocol"), errors);
    match &port.target_port {
        Some(IntOrString::String(name)) => {
            errors.invalid_each(path.child("targetPort"), name, &text::port_name(name));
        }
        Some(IntOrString::Int(number)) => formats::port_number((*number).into(), path.child("targetPort"), errors),
        None => formats::port_number(0, path.child("targetPort"), errors),
    }
    if let Some(protocol) = &port.app_protocol {
        formats::qualified_name(protocol, path.child("appProtocol"), errors);
    }
}

fn validate_affinity(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let affinity = spec.session_affinity.as_deref().unwrap_or_default();
    formats::required_choice(affinity, &["ClientIP", "None"], path.child("sessionAffinity"), errors);
    let path = path.child("sessionAffinityConfig");
    let config = spec.session_affinity_config.as_ref();
    match affinity {
        "None" if config.is_some() => errors.forbidden(path, "must not be set when session affinity is None"),
        "ClientIP" => {
            let timeout = config.and_then(|config| config.client_ip.as_ref()).and_then(|client| client.timeout_seconds);
            let path = path.child("clientIP.timeoutSeconds");
            match timeout {
                None => errors.required(path, "when session affinity type is ClientIP"),
                Some(1..=CLIENT_TIMEOUT_SECONDS_MAX) => {}
                Some(other) => {
                    let detail = format!("must be greater than 0 and less than {CLIENT_TIMEOUT_SECONDS_MAX}");
                    errors.invalid(path, other, &detail);
                }
            }
        }
        _ => {}
    }
}

fn validate_cluster_ips(spec: &ServiceSpec, old: Option<&ServiceSpec>, path: Path<'_>, errors: &mut Errors) {
    let ips = spec.cluster_ips.as_deref().unwrap_or_default();
    let list = path.child("clusterIPs");
    match (spec.cluster_ip.as_deref().unwrap_or_default(), ips.first()) {
        ("", None) => {}
        ("", Some(_)) => errors.invalid(list, json!(ips), "must be empty when `clusterIP` is not specified"),
        (_, None) => errors.required(list, ""),
        (ip, Some(first)) if ip != first => errors.invalid(list, json!(ips), "first value must match `clusterIP`"),
        (_, Some(_)) => {}
    }
    validate_families(spec, path, errors);
    let known = old.and_then(|old| old.cluster_ips.as_deref()).unwrap_or_default();
    let mut well_formed = true;
    for (i, ip) in ips.iter().enumerate() {
        if i == 0 && ip == "None" {
            if ips.len() > 1 {
                well_formed = false;
                errors.invalid(list, json!(ips), "'None' must be the first and only value");
            }
        } else if !validate_ip(ip, known, list.index(i), errors) {
            well_formed = false;
        }
    }
    if ips.len() > 2 {
        errors.invalid(list, json!(ips), "may only hold up to 2 values");
    }
    if !well_formed || is_headless(spec) {
        return;
    }
    let is_v4: Vec<bool> = ips.iter().map(|ip| ip.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4())).collect();
    if ips.len() > 1 && is_v4.iter().all(|v4| *v4 == is_v4[0]) {
        errors.invalid(list, json!(ips), "may specify no more than one IP for each IP family");
    }
    for (i, (family, is_v4)) in spec.ip_families.iter().flatten().zip(is_v4).enumerate() {
        if (family == "IPv4" && !is_v4) || (family == "IPv6" && is_v4) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.invalid(list.index(i), ips[i].as_str(), &detail);
        }
    }
}

fn validate_families(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let list = path.child("ipFamilies");
    let mut seen = BTreeSet::new();
    for (i, family) in spec.ip_families.iter().flatten().enumerate() {
        formats::choice(family, &FAMILIES, list.index(i), errors);
        if !seen.insert(family) {
            errors.duplicate(list.index(i), Value::from(family.as_str()));
        }
    }
    if let Some(policy) = &spec.ip_family_policy {
        formats::choice(policy, &FAMILY_POLICIES, path.child("ipFamilyPolicy"), errors);
    }
}

/// Whether the address is well formed. One that was stored already may stay.
fn validate_ip(ip: &String, known: &[String], path: Path<'_>, errors: &mut Errors) -> bool {
    let complaints = if known.contains(ip) { Vec::new() } else { text::ip_address(ip) };
    errors.invalid_each(path, ip, &complaints);
    complaints.is_empty()
}

fn validate_unique_ports(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let ports = spec.ports.as_deref().unwrap_or_default();
    let node_port = |port: &ServicePort| port.node_port.filter(|number| *number != 0);
    if type_of(spec) == "ClusterIP" {
        for (i, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port).is_some()) {
            errors.forbidden(path.index(i).child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        if let Some(number) = node_port(port)
            && !seen.insert((&port.protocol, number))
        {
            errors.duplicate(path.index(i).child("nodePort"), number);
        }
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        if !seen.insert((&port.protocol, port.port)) {
            errors.duplicate(path.index(i), shown(port));
        }
    }
}

/// Protocol and number, in the order and with the empty fields that upstream shows.
fn shown(port: &ServicePort) -> BadValue {
    let protocol = port.protocol.as_deref().unwrap_or_default();
    let fields = vec![("protocol", Value::from(protocol).into()), ("port", port.port.into()), ("targetPort", 0.into())];
    BadValue::Ordered(fields)
}

fn validate_balancer(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let only = "may only be used when `type` is 'LoadBalancer'";
    let is_balancer = type_of(spec) == "LoadBalancer";
    // Upstream writes the name of this field with a capital.
    let ranges = path.child("LoadBalancerSourceRanges");
    let given = spec.load_balancer_source_ranges.as_deref().unwrap_or_default();
    if !given.is_empty() && !is_balancer {
        errors.forbidden(ranges, only);
    }
    for (i, range) in given.iter().enumerate().filter(|(_, range)| !is_range(range.trim())) {
        errors.invalid(
            ranges.index(i),
            range.trim(),
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        );
    }
    if spec.allocate_load_balancer_node_ports.is_some() && !is_balancer {
        errors.forbidden(path.child("allocateLoadBalancerNodePorts"), only);
    }
    match &spec.load_balancer_class {
        Some(class) if is_balancer => formats::qualified_name(class, path.child("loadBalancerClass"), errors),
        Some(_) => errors.forbidden(path.child("loadBalancerClass"), only),
        None => {}
    }
}

fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn validate_traffic(spec: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let external = spec.external_traffic_policy.as_deref().unwrap_or_default();
    let field = path.child("externalTrafficPolicy");
    if is_external(spec) {
        formats::required_choice(external, &["Cluster", "Local"], field, errors);
    } else if !external.is_empty() {
        errors.invalid(field, Value::from(external), "may only be set for externally-accessible services");
    }
    let health = spec.health_check_node_port.unwrap_or_default();
    if health != 0 && needs_health_check(spec) {
        formats::port_number(health.into(), path.child("healthCheckNodePort"), errors);
    } else if health != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.invalid(path.child("healthCheckNodePort"), health, detail);
    }
    match &spec.internal_traffic_policy {
        Some(policy) => formats::choice(policy, &["Cluster", "Local"], path.child("internalTrafficPolicy"), errors),
        None if type_of(spec) != "ExternalName" => errors.required(path.child("internalTrafficPolicy"), ""),
        None => {}
    }
    if let Some(distribution) = &spec.traffic_distribution
        && !DISTRIBUTIONS.contains(&distribution.as_str())
    {
        errors.not_supported(path.child("trafficDistribution"), distribution.as_str(), &DISTRIBUTIONS);
    }
}

/// What an update must keep.
pub(super) fn validate_kept(new: &Service, old: &Service, errors: &mut Errors) {
    let (root, no_spec) = (Path::root(), ServiceSpec::default());
    let path = root.child("spec");
    let (new, old) = (new.spec.as_ref().unwrap_or(&no_spec), old.spec.as_ref().unwrap_or(&no_spec));
    if type_of(new) != "ExternalName" && type_of(old) != "ExternalName" {
        validate_kept_ips(new, old, path, errors);
        if !is_headless(new) && !is_headless(old) {
            validate_kept_families(new, old, path, errors);
        }
    }
    if type_of(new) == "LoadBalancer"
        && type_of(old) == "LoadBalancer"
        && new.load_balancer_class != old.load_balancer_class
    {
        errors.invalid(path.child("loadBalancerClass"), json!(new.load_balancer_class), "may not change once set");
    }
    if needs_health_check(new)
        && needs_health_check(old)
        && new.health_check_node_port.unwrap_or_default() != old.health_check_node_port.unwrap_or_default()
    {
        errors.forbidden(path.child("healthCheckNodePort"), IMMUTABLE);
    }
}

fn validate_kept_ips(new: &ServiceSpec, old: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    if is_headless(new) && is_headless(old) {
        return;
    }
    let list = path.child("clusterIPs");
    let new_ips = new.cluster_ips.as_deref().unwrap_or_default();
    let old_ips = old.cluster_ips.as_deref().unwrap_or_default();
    if !old_ips.is_empty() && new_ips.is_empty() {
        errors.invalid(list.index(0), json!(new_ips), "primary clusterIP can not be unset");
    }
    for (i, _) in old_ips.iter().zip(new_ips).enumerate().filter(|(_, (old, new))| old != new) {
        // The second address may come and go with the list; only where the lists are alike has it to stay.
        if i == 0 || old_ips.len() == new_ips.len() {
            errors.invalid(list.index(i), json!(new_ips), "may not change once set");
        }
    }
    if old_ips.len() > new_ips.len() && new_ips.len() == 1 && new.ip_family_policy.as_deref() != Some("SingleStack") {
        let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        errors.invalid(path.child("ipFamilyPolicy"), json!(new.ip_family_policy), detail);
    }
}

fn validate_kept_families(new: &ServiceSpec, old: &ServiceSpec, path: Path<'_>, errors: &mut Errors) {
    let list = path.child("ipFamilies");
    let new_families = new.ip_families.as_deref().unwrap_or_default();
    let old_families = old.ip_families.as_deref().unwrap_or_default();
    let alike = old_families.len() == new_families.len();
    for (i, _) in old_families.iter().zip(new_families).enumerate().filter(|(_, (old, new))| old != new) {
        if i == 0 || alike {
            errors.invalid(list.index(0), json!(new_families), "may not change once set");
        }
    }
    let released = old_families.len() > new_families.len() && new_families.len() == 1;
    if released && new.ip_family_policy.as_deref() != Some("SingleStack") {
        let detail = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        errors.invalid(path.child("ipFamilyPolicy"), json!(new.ip_family_policy), detail);
    }
}

/// Where the load balancer is reached, which only a service of that type has.
pub(super) fn validate_status(service: &Service, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("status.loadBalancer.ingress");
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = balancer.and_then(|balancer| balancer.ingress.as_deref()).unwrap_or_default();
    let is_balancer = service.spec.as_ref().is_some_and(|spec| type_of(spec) == "LoadBalancer");
    if !is_balancer && !ingress.is_empty() {
        errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    for (i, ingress) in ingress.iter().enumerate() {
        let path = path.index(i);
        let ip = ingress.ip.as_deref().unwrap_or_default();
        if !ip.is_empty() {
            formats::ip_address(ip, path.child("ip"), errors);
        }
        match &ingress.ip_mode {
            None if !ip.is_empty() => errors.required(path.child("ipMode"), "must be specified when `ip` is set"),
            None => {}
            Some(_) if ip.is_empty() => {
                errors.forbidden(path.child("ipMode"), "may not be specified when `ip` is not set");
            }
            Some(mode) => formats::choice(mode, &["Proxy", "VIP"], path.child("ipMode"), errors),
        }
        if let Some(name) = ingress.hostname.as_deref().filter(|name| !name.is_empty()) {
            formats::dns_subdomain(name, path.child("hostname"), errors);
            if name.parse::<IpAddr>().is_ok() {
                errors.invalid(path.child("hostname"), name, "must be a DNS name, not an IP address");
            }
        }
    }
}
