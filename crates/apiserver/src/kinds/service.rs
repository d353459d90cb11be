//! Services: names and addresses for sets of pods.
//!
//! Addresses and node ports are given out elsewhere, before a service is validated or after: here they are kept as they
//! were sent, and as they were stored where an update leaves them out.

mod prepare;
#[cfg(test)]
mod tests;
mod validation;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ClientIPConfig, Service, ServiceSpec, ServiceStatus, SessionAffinityConfig};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use lifecycle::moment::Moment;
use model::defaults::fill;
use model::field::Errors;

pub(crate) use prepare::keep_allocated;

use crate::kind::{DeleteAnswer, Facts, Kind, NameRule, Part, Scene, SelectableFields, Subresource, UpdateRule};
use crate::table::{Column, Row, age_cell, labels_cell, name_cell, or_none};

const CLIENT_TIMEOUT_SECONDS: i32 = 10_800;

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Type", "How the service is reached."),
    Column::text("Cluster-IP", "The first address inside the cluster."),
    Column::text("External-IP", "Addresses outside of the cluster."),
    Column::text("Port(s)", "Ports of the service, and of the nodes where they have some."),
    Column::AGE,
    Column::SELECTOR,
];

pub struct Services;

impl Kind for Services {
    type Object = Service;

    const FACTS: Facts = Facts {
        short_names: &["svc"],
        categories: &["all"],
        names: NameRule::DnsLabel,
        subresources: &[Subresource::STATUS, Subresource::Proxy],
        delete_answer: DeleteAnswer::Object,
        update: UpdateRule { may_create: true, may_skip_version: true },
        ..Facts::namespaced("", "v1", "Service", "services", "service")
    };

    fn default(service: &mut Service) {
        let spec = service.spec.get_or_insert_default();
        default_affinity(spec);
        fill(&mut spec.type_, "ClusterIP");
        for port in spec.ports.iter_mut().flatten() {
            fill(&mut port.protocol, "TCP");
            let unset =
                |target: &IntOrString| *target == IntOrString::Int(0) || *target == IntOrString::String("".into());
            if port.target_port.as_ref().is_none_or(unset) {
                port.target_port = Some(IntOrString::Int(port.port));
            }
        }
        if is_external(spec) {
            fill(&mut spec.external_traffic_policy, "Cluster");
        }
        if spec.internal_traffic_policy.is_none() && matches!(type_of(spec), "NodePort" | "LoadBalancer" | "ClusterIP")
        {
            spec.internal_traffic_policy = Some("Cluster".to_owned());
        }
        if type_of(spec) == "LoadBalancer" {
            spec.allocate_load_balancer_node_ports.get_or_insert(true);
            let status = service.status.iter_mut().filter_map(|status| status.load_balancer.as_mut());
            for ingress in status.flat_map(|balancer| balancer.ingress.iter_mut().flatten()) {
                if ingress.ip.as_deref().is_some_and(|ip| !ip.is_empty()) && ingress.ip_mode.is_none() {
                    ingress.ip_mode = Some("VIP".to_owned());
                }
            }
        }
    }

    fn prepare_for_create(service: &mut Service, _scene: &Scene) {
        service.status = Some(ServiceStatus::default());
        prepare::fill_addresses(service.spec.get_or_insert_default());
    }

    fn validate(service: &Service, _scene: &Scene, errors: &mut Errors) {
        validation::validate_service(service, None, errors);
    }

    fn prepare_for_update(new: &mut Service, old: &Service, _scene: &Scene) {
        new.status.clone_from(&old.status);
        let (new_spec, no_spec) = (new.spec.get_or_insert_default(), ServiceSpec::default());
        let old_spec = old.spec.as_ref().unwrap_or(&no_spec);
        keep_allocated(new_spec, old_spec);
        prepare::drop_what_another_type_needed(new_spec, old_spec);
        if type_of(new_spec) != "LoadBalancer" {
            new.status.get_or_insert_default().load_balancer = None;
        }
    }

    fn validate_update(new: &Service, old: &Service, _scene: &Scene, errors: &mut Errors) {
        validation::validate_kept(new, old, errors);
        validation::validate_service(new, Some(old), errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut Service, old: &Service, _scene: &Scene) {
        new.spec.clone_from(&old.spec);
    }

    fn validate_part_update(_part: Part, new: &Service, _old: &Service, _scene: &Scene, errors: &mut Errors) {
        validation::validate_status(new, errors);
    }

    fn selectable_fields(service: &Service) -> SelectableFields {
        let spec = service.spec.clone().unwrap_or_default();
        vec![
            ("spec.clusterIP", spec.cluster_ip.unwrap_or_default().into()),
            ("spec.type", spec.type_.unwrap_or_default().into()),
        ]
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(service: &Service, now: Moment) -> Row {
        let (metadata, no_spec) = (&service.metadata, ServiceSpec::default());
        let spec = service.spec.as_ref().unwrap_or(&no_spec);
        let first = spec.cluster_ips.as_ref().and_then(|ips| ips.first());
        Row::of([
            name_cell(metadata),
            type_of(spec).into(),
            first.map_or_else(|| or_none(None), Clone::clone).into(),
            external_address(spec, service.status.as_ref()).into(),
            ports_shown(spec).into(),
            age_cell(metadata, now),
            labels_cell(spec.selector.as_ref()),
        ])
    }
}

fn default_affinity(spec: &mut ServiceSpec) {
    fill(&mut spec.session_affinity, "None");
    match spec.session_affinity.as_deref() {
        Some("None") => spec.session_affinity_config = None,
        Some("ClientIP") => {
            let config = spec.session_affinity_config.as_ref();
            let timeout = config.and_then(|config| config.client_ip.as_ref()).and_then(|client| client.timeout_seconds);
            if timeout.is_none() {
                let client_ip = Some(ClientIPConfig { timeout_seconds: Some(CLIENT_TIMEOUT_SECONDS) });
                spec.session_affinity_config = Some(SessionAffinityConfig { client_ip });
            }
        }
        _ => {}
    }
}

fn type_of(spec: &ServiceSpec) -> &str {
    spec.type_.as_deref().unwrap_or_default()
}

/// Whether traffic from outside of the cluster gets in.
fn is_external(spec: &ServiceSpec) -> bool {
    match type_of(spec) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => spec.external_ips.as_ref().is_some_and(|ips| !ips.is_empty()),
        _ => false,
    }
}

/// Whether a port of every node answers for the service's health.
fn needs_health_check(spec: &ServiceSpec) -> bool {
    type_of(spec) == "LoadBalancer" && spec.external_traffic_policy.as_deref() == Some("Local")
}

fn is_headless(spec: &ServiceSpec) -> bool {
    matches!(spec.cluster_ips.as_deref(), Some([ip]) if ip == "None")
}

fn external_address(spec: &ServiceSpec, status: Option<&ServiceStatus>) -> String {
    let external = spec.external_ips.as_deref().unwrap_or_default();
    match type_of(spec) {
        "ClusterIP" | "NodePort" => or_none(Some(&external.join(","))),
        "LoadBalancer" => {
            let ingress = status.and_then(|status| status.load_balancer.as_ref()).into_iter();
            let ingress = ingress.flat_map(|balancer| balancer.ingress.iter().flatten());
            let given: BTreeSet<&str> = ingress
                .filter_map(|ingress| {
                    let names = [ingress.ip.as_deref(), ingress.hostname.as_deref()];
                    names.into_iter().flatten().find(|name| !name.is_empty())
                })
                .collect();
            let all: Vec<&str> = given.into_iter().chain(external.iter().map(String::as_str)).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => spec.external_name.clone().unwrap_or_default(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports_shown(spec: &ServiceSpec) -> String {
    let ports = spec.ports.iter().flatten().map(|port| {
        let protocol = port.protocol.as_deref().unwrap_or_default();
        match port.node_port {
            Some(node_port) if node_port > 0 => format!("{}:{node_port}/{protocol}", port.port),
            Some(_) | None => format!("{}/{protocol}", port.port),
        }
    });
    or_none(Some(&ports.collect::<Vec<_>>().join(",")))
}
