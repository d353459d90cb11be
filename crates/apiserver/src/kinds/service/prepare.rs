//! What happens to a service's addresses and ports before it is validated.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::ServiceSpec;

use super::{is_external, needs_health_check, type_of};

/// The family of addresses that services have unless they ask for another.
const USUAL_FAMILY: &str = "IPv4";

/// The one address and the list of addresses say the same; families follow from them.
pub(super) fn fill_addresses(spec: &mut ServiceSpec) {
    list_the_one_address(spec);
    if type_of(spec) == "ExternalName" {
        return;
    }
    let bare = spec.cluster_ip.as_deref() == Some("None") && spec.selector.as_ref().is_none_or(BTreeMap::is_empty);
    let policy = spec.ip_family_policy.get_or_insert_with(|| {
        // Whoever leads such a service where it should go may use any family.
        if bare { "RequireDualStack" } else { "SingleStack" }.to_owned()
    });
    let dual = bare && policy != "SingleStack";
    let families = spec.ip_families.get_or_insert_default();
    for ip in spec.cluster_ips.iter().flatten().skip(families.len()).filter_map(|ip| ip.parse::<IpAddr>().ok()) {
        families.push(if ip.is_ipv4() { "IPv4" } else { "IPv6" }.to_owned());
    }
    if families.is_empty() {
        families.push(USUAL_FAMILY.to_owned());
    }
    if dual && families.len() == 1 {
        families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.to_owned());
    }
}

fn list_the_one_address(spec: &mut ServiceSpec) {
    let listed = spec.cluster_ips.as_ref().is_some_and(|ips| !ips.is_empty());
    if let Some(ip) = spec.cluster_ip.as_ref().filter(|ip| !ip.is_empty() && !listed) {
        spec.cluster_ips = Some(vec![ip.clone()]);
    }
}

/// What was given out stays with the service where an update leaves it out.
pub(crate) fn keep_allocated(new: &mut ServiceSpec, old: &ServiceSpec) {
    if has_cluster_ip(new) && has_cluster_ip(old) {
        if new.cluster_ip.as_deref().unwrap_or_default().is_empty() {
            new.cluster_ip.clone_from(&old.cluster_ip);
        }
        if new.cluster_ips.as_ref().is_none_or(Vec::is_empty) {
            new.cluster_ips.clone_from(&old.cluster_ips);
        }
        // Upstream's allocator fills these in again from the addresses that were kept.
        if new.ip_families.as_ref().is_none_or(Vec::is_empty) {
            new.ip_families.clone_from(&old.ip_families);
        }
        if new.ip_family_policy.is_none() {
            new.ip_family_policy.clone_from(&old.ip_family_policy);
        }
    }
    if has_node_ports(new) && has_node_ports(old) {
        keep_node_ports(new, old);
    }
    if needs_health_check(new) && needs_health_check(old) && new.health_check_node_port.unwrap_or_default() == 0 {
        new.health_check_node_port = old.health_check_node_port;
    }
    // A new address over an old list means the list as well.
    if new.cluster_ip != old.cluster_ip && new.cluster_ips == old.cluster_ips {
        new.cluster_ips = new.cluster_ip.clone().filter(|ip| !ip.is_empty()).map(|ip| vec![ip]);
    }
}

fn keep_node_ports(new: &mut ServiceSpec, old: &ServiceSpec) {
    let used = |spec: &ServiceSpec| -> BTreeSet<i32> {
        spec.ports.iter().flatten().filter_map(|port| port.node_port).filter(|port| *port != 0).collect()
    };
    let taken: BTreeSet<i32> = used(old).intersection(&used(new)).copied().collect();
    let known: BTreeMap<&str, Option<i32>> =
        old.ports.iter().flatten().map(|port| (port.name.as_deref().unwrap_or_default(), port.node_port)).collect();
    for port in new.ports.iter_mut().flatten().filter(|port| port.node_port.unwrap_or_default() == 0) {
        let before = known.get(port.name.as_deref().unwrap_or_default()).copied().flatten();
        if before.is_some_and(|before| !taken.contains(&before)) {
            port.node_port = before;
        }
    }
}

/// Clients that only change the type send along what the old type had.
pub(super) fn drop_what_another_type_needed(new: &mut ServiceSpec, old: &ServiceSpec) {
    if has_cluster_ip(old) && !has_cluster_ip(new) {
        if new.cluster_ip == old.cluster_ip && new.cluster_ips == old.cluster_ips {
            (new.cluster_ip, new.cluster_ips) = (None, None);
        }
        if new.ip_families == old.ip_families {
            new.ip_families = None;
        }
        if new.ip_family_policy == old.ip_family_policy {
            new.ip_family_policy = None;
        }
    }
    if has_node_ports(old) && !has_node_ports(new) && node_ports(new) == node_ports(old) {
        new.ports.iter_mut().flatten().for_each(|port| port.node_port = None);
    }
    if needs_health_check(old) && !needs_health_check(new) && new.health_check_node_port == old.health_check_node_port {
        new.health_check_node_port = None;
    }
    if type_of(old) == "LoadBalancer" && type_of(new) != "LoadBalancer" {
        if new.allocate_load_balancer_node_ports == old.allocate_load_balancer_node_ports {
            new.allocate_load_balancer_node_ports = None;
        }
        if new.load_balancer_class == old.load_balancer_class {
            new.load_balancer_class = None;
        }
    }
    if is_external(old) && !is_external(new) && new.external_traffic_policy == old.external_traffic_policy {
        new.external_traffic_policy = None;
    }
}

fn has_cluster_ip(spec: &ServiceSpec) -> bool {
    type_of(spec) != "ExternalName"
}

fn has_node_ports(spec: &ServiceSpec) -> bool {
    matches!(type_of(spec), "NodePort" | "LoadBalancer")
}

fn node_ports(spec: &ServiceSpec) -> BTreeSet<i32> {
    spec.ports.iter().flatten().filter_map(|port| port.node_port).collect()
}
