//! Endpoint slices: where a service leads, in pieces of bounded size.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointPort, EndpointSlice};
use lifecycle::moment::Moment;
use model::defaults::fill;
use model::field::{Errors, Path};
use model::text;
use model::validation::formats::{self, IMMUTABLE};
use model::validation::{same, validate_labels};
use serde_json::Value;

use super::addresses::validate_reachable;
use crate::kind::{Facts, Kind, Scene};
use crate::table::{Column, Row, age_cell, name_cell, some_of};

const ADDRESS_TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const TOPOLOGY_LABELS_MAX: usize = 16;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const ENDPOINTS_MAX: usize = 1000;
const HINTS_MAX: usize = 8;

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("AddressType", "What kind of addresses the slice holds."),
    Column::text("Ports", "The ports that the endpoints serve."),
    Column::text("Endpoints", "The addresses of the endpoints."),
    Column::AGE,
];

pub struct EndpointSlices;

impl Kind for EndpointSlices {
    type Object = EndpointSlice;

    const FACTS: Facts =
        Facts::namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice");

    fn default(slice: &mut EndpointSlice) {
        for port in slice.ports.iter_mut().flatten() {
            port.name.get_or_insert_default();
            if port.protocol.is_none() {
                fill(&mut port.protocol, "TCP");
            }
        }
    }

    fn prepare_for_create(slice: &mut EndpointSlice, _scene: &Scene) {
        slice.metadata.generation = Some(1);
        slice.endpoints.iter_mut().flatten().for_each(|endpoint| endpoint.deprecated_topology = None);
    }

    fn validate(slice: &EndpointSlice, _scene: &Scene, errors: &mut Errors) {
        validate_type_and_ports(slice, errors);
        validate_endpoints(slice, errors);
    }

    /// Everything but the metadata counts as the spec, and the labels do too.
    fn prepare_for_update(new: &mut EndpointSlice, old: &EndpointSlice, _scene: &Scene) {
        let changed = !same(&new.endpoints, &old.endpoints)
            || !same(&new.ports, &old.ports)
            || new.address_type != old.address_type
            || !same(&new.metadata.labels, &old.metadata.labels);
        if changed {
            new.metadata.generation = Some(old.metadata.generation.unwrap_or_default() + 1);
        }
    }

    fn validate_update(new: &EndpointSlice, old: &EndpointSlice, _scene: &Scene, errors: &mut Errors) {
        validate_type_and_ports(new, errors);
        // Endpoints that were stored before a rule was made may stay.
        if !same(&new.endpoints, &old.endpoints) {
            validate_endpoints(new, errors);
        }
        if new.address_type != old.address_type {
            let root = Path::root();
            errors.invalid(root.child("addressType"), Value::from(new.address_type.as_str()), IMMUTABLE);
        }
    }

    fn warnings(new: &EndpointSlice, old: Option<&EndpointSlice>) -> Vec<String> {
        let warned = old.is_none() && new.address_type == "FQDN";
        if warned { vec!["spec.addressType: FQDN endpoints are deprecated".to_owned()] } else { Vec::new() }
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(slice: &EndpointSlice, now: Moment) -> Row {
        let metadata = &slice.metadata;
        let ports: Vec<_> = slice.ports.iter().flatten().map(port_shown).collect();
        let addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| endpoint.addresses.iter().cloned());
        let addresses: Vec<_> = addresses.collect();
        let or_unset = |list: &[String]| some_of(list).filter(|text| !text.is_empty()).unwrap_or("<unset>".to_owned());
        Row::of([
            name_cell(metadata),
            slice.address_type.clone().into(),
            or_unset(&ports).into(),
            or_unset(&addresses).into(),
            age_cell(metadata, now),
        ])
    }
}

fn port_shown(port: &EndpointPort) -> String {
    match (port.port, &port.name) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.clone(),
        (None, None) => "*".to_owned(),
    }
}

fn validate_type_and_ports(slice: &EndpointSlice, errors: &mut Errors) {
    let root = Path::root();
    formats::required_choice(&slice.address_type, &ADDRESS_TYPES, root.child("addressType"), errors);
    let (ports, path) = (slice.ports.as_deref().unwrap_or_default(), root.child("ports"));
    if ports.len() > PORTS_MAX {
        errors.too_many(path, ports.len(), PORTS_MAX);
        return;
    }
    let mut names = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = port.name.as_deref().unwrap_or_default();
        if !name.is_empty() {
            formats::dns_label(name, path.child("name"), errors);
        }
        if !names.insert(name) {
            errors.duplicate(path.child("name"), Value::from(name));
        }
        match &port.protocol {
            None => errors.required(path.child("protocol"), ""),
            Some(protocol) => formats::choice(protocol, &PROTOCOLS, path.child("protocol"), errors),
        }
        if let Some(protocol) = &port.app_protocol {
            formats::qualified_name(protocol, path.child("appProtocol"), errors);
        }
    }
}

fn validate_endpoints(slice: &EndpointSlice, errors: &mut Errors) {
    let root = Path::root();
    let (endpoints, path) = (slice.endpoints.as_deref().unwrap_or_default(), root.child("endpoints"));
    if endpoints.len() > ENDPOINTS_MAX {
        errors.too_many(path, endpoints.len(), ENDPOINTS_MAX);
        return;
    }
    for (i, endpoint) in endpoints.iter().enumerate() {
        validate_endpoint(endpoint, &slice.address_type, path.index(i), errors);
    }
}

fn validate_endpoint(endpoint: &Endpoint, address_type: &str, path: Path<'_>, errors: &mut Errors) {
    let list = path.child("addresses");
    match endpoint.addresses.len() {
        0 => errors.required(list, "must contain at least 1 address"),
        1..=ADDRESSES_MAX => {}
        count => errors.too_many(list, count, ADDRESSES_MAX),
    }
    for (i, address) in endpoint.addresses.iter().enumerate() {
        validate_address(address, address_type, (list, list.index(i)), errors);
    }
    if let Some(node) = &endpoint.node_name {
        formats::dns_subdomain(node, path.child("nodeName"), errors);
    }
    let topology = endpoint.deprecated_topology.as_ref();
    if let Some(count) = topology.map(std::collections::BTreeMap::len).filter(|count| *count > TOPOLOGY_LABELS_MAX) {
        errors.too_many(path.child("deprecatedTopology"), count, TOPOLOGY_LABELS_MAX);
    }
    validate_labels(topology, path.child("deprecatedTopology"), errors);
    if let Some(hostname) = &endpoint.hostname {
        formats::dns_label(hostname, path.child("hostname"), errors);
    }
    if let Some(hints) = &endpoint.hints {
        validate_hints(hints, path.child("hints"), errors);
    }
}

/// An address of the wrong family is reported at the list, as upstream does.
fn validate_address(text: &str, address_type: &str, (list, path): (Path<'_>, Path<'_>), errors: &mut Errors) {
    let family = match address_type {
        "IPv4" => "IPv4",
        "IPv6" => "IPv6",
        "FQDN" => return validate_domain(text, path, errors),
        _ => return,
    };
    let complaints = text::ip_address(text);
    if !complaints.is_empty() {
        errors.invalid_each(path, text, &complaints);
        return;
    }
    let is_v4 = text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4());
    if is_v4 != (family == "IPv4") {
        errors.invalid(list, text, &format!("must be an {family} address"));
    }
    validate_reachable(text, path, errors);
}

fn validate_domain(text: &str, path: Path<'_>, errors: &mut Errors) {
    let name = text.strip_suffix('.').unwrap_or(text);
    let complaints = text::dns_subdomain(name);
    if text.is_empty() {
        errors.required(path, "");
    } else if !complaints.is_empty() {
        errors.invalid(path, name, &complaints.join(","));
    } else if !name.contains('.') {
        errors.invalid(path, name, "should be a domain with at least two segments separated by dots");
    } else if let Some(label) = name.split('.').find(|label| !text::dns_label(label).is_empty()) {
        errors.invalid(path, label, &text::dns_label(label).join(","));
    }
}

fn validate_hints(hints: &EndpointHints, path: Path<'_>, errors: &mut Errors) {
    let zones: Vec<_> = hints.for_zones.iter().flatten().map(|zone| zone.name.as_str()).collect();
    let nodes: Vec<_> = hints.for_nodes.iter().flatten().map(|node| node.name.as_str()).collect();
    for (field, names, complaints) in
        [("forZones", zones, text::label_value as fn(&str) -> Vec<String>), ("forNodes", nodes, text::dns_subdomain)]
    {
        let path = path.child(field);
        if names.len() > HINTS_MAX {
            errors.too_many(path, names.len(), HINTS_MAX);
            return;
        }
        let mut seen = BTreeSet::new();
        for (i, name) in names.into_iter().enumerate() {
            let path = path.index(i);
            if !seen.insert(name) {
                errors.duplicate(path.child("name"), name);
            }
            errors.invalid_each(path.child("name"), name, &complaints(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::test_support::{assert_refused, assert_update_refused, cells, created, updated, with};

    fn slice() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "default"},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"]}],
            "ports": [{"port": 80}],
        })
    }

    #[test]
    fn ports_have_a_name_and_a_protocol() {
        let slice = created::<EndpointSlices>(slice());
        let port = &slice.ports.unwrap()[0];
        assert_eq!((port.name.as_deref(), port.protocol.as_deref()), (Some(""), Some("TCP")));
        assert_eq!(slice.metadata.generation, Some(1));
    }

    #[test]
    fn addresses_ports_and_hints_are_checked() {
        let endpoint = |endpoint: Value| json!({"endpoints": [endpoint]});
        let many: Vec<_> = (0..=ADDRESSES_MAX).map(|number| format!("10.0.1.{number}")).collect();
        assert_refused::<EndpointSlices>(
            &slice(),
            &[
                (json!({"addressType": null, "endpoints": null}), &["addressType: Required value"]),
                (
                    json!({"addressType": "X"}),
                    &["addressType: Unsupported value: \"X\": supported values: \"FQDN\", \"IPv4\", \"IPv6\""],
                ),
                (
                    endpoint(json!({"addresses": []})),
                    &["endpoints[0].addresses: Required value: must contain at least 1 address"],
                ),
                (
                    endpoint(json!({"addresses": many})),
                    &["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
                ),
                (
                    endpoint(json!({"addresses": ["fd00::1"]})),
                    &["endpoints[0].addresses: Invalid value: \"fd00::1\": must be an IPv4 address"],
                ),
                (
                    json!({"addressType": "FQDN", "endpoints": [{"addresses": ["host"]}]}),
                    &[
                        "endpoints[0].addresses[0]: Invalid value: \"host\": should be a domain with at least two segments separated by dots",
                    ],
                ),
                (json!({"addressType": "FQDN", "endpoints": [{"addresses": ["a.example."]}]}), &[]),
                (
                    endpoint(json!({"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}})),
                    &["endpoints[0].hints.forZones[1].name: Duplicate value: \"a\""],
                ),
                (json!({"ports": [{}, {}]}), &["ports[1].name: Duplicate value: \"\""]),
            ],
        );
    }

    #[test]
    fn the_address_type_stays_and_changes_begin_a_generation() {
        assert_update_refused::<EndpointSlices>(
            &slice(),
            &[(
                json!({"addressType": "IPv6", "endpoints": null}),
                &["addressType: Invalid value: \"IPv6\": field is immutable"],
            )],
        );
        let generation = |patch| updated::<EndpointSlices>(with(&slice(), patch), slice()).metadata.generation;
        assert_eq!(generation(json!({"metadata": {"annotations": {"a": "b"}}})), Some(1));
        assert_eq!(generation(json!({"metadata": {"labels": {"a": "b"}}})), Some(2));
        assert_eq!(generation(json!({"ports": null})), Some(2));
    }

    #[test]
    fn a_row_shows_ports_and_addresses() {
        assert_eq!(cells::<EndpointSlices>(slice()), ["e", "IPv4", "80", "10.0.0.1", "60m"]);
        let empty = with(&slice(), json!({"ports": null, "endpoints": null}));
        assert_eq!(cells::<EndpointSlices>(empty), ["e", "IPv4", "<unset>", "<unset>", "60m"]);
    }
}
