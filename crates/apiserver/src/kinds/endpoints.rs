//! Endpoints: where a service leads, in the old form that one object holds all of.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints as Object};
use lifecycle::moment::Moment;
use model::defaults::fill;
use model::field::{Errors, Path};
use model::validation::{formats, same};

use super::addresses::validate_endpoint_ip;
use crate::kind::{Facts, Kind, Scene, UpdateRule};
use crate::table::{Column, Row, age_cell, name_cell, or_none, some_of};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

const COLUMNS: &[Column] =
    &[Column::NAME, Column::text("Endpoints", "Addresses and ports that are ready."), Column::AGE];

pub struct Endpoints;

impl Kind for Endpoints {
    type Object = Object;

    const FACTS: Facts = Facts {
        short_names: &["ep"],
        update: UpdateRule { may_create: true, may_skip_version: true },
        ..Facts::namespaced("", "v1", "Endpoints", "endpoints", "endpoints")
    };

    fn default(endpoints: &mut Object) {
        let subsets = endpoints.subsets.iter_mut().flatten();
        for port in subsets.flat_map(|subset| subset.ports.iter_mut().flatten()) {
            fill(&mut port.protocol, "TCP");
        }
    }

    fn validate(endpoints: &Object, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        validate_subsets(endpoints.subsets.as_deref().unwrap_or_default(), root.child("subsets"), errors);
    }

    /// Subsets that were stored before a rule was made may stay.
    fn validate_update(new: &Object, old: &Object, scene: &Scene, errors: &mut Errors) {
        if !same(&new.subsets, &old.subsets) {
            Self::validate(new, scene, errors);
        }
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(endpoints: &Object, now: Moment) -> Row {
        let metadata = &endpoints.metadata;
        let shown = some_of(&ready(endpoints.subsets.as_deref().unwrap_or_default()));
        let shown = match endpoints.subsets.as_deref() {
            None | Some([]) => or_none(None),
            Some(_) => shown.unwrap_or_default(),
        };
        Row::of([name_cell(metadata), shown.into(), age_cell(metadata, now)])
    }
}

fn ready(subsets: &[EndpointSubset]) -> Vec<String> {
    let mut shown = Vec::new();
    for subset in subsets {
        let addresses = subset.addresses.as_deref().unwrap_or_default();
        match subset.ports.as_deref().unwrap_or_default() {
            [] => shown.extend(addresses.iter().map(|address| address.ip.clone())),
            ports => {
                for port in ports {
                    shown.extend(addresses.iter().map(|address| host_and_port(&address.ip, port.port)));
                }
            }
        }
    }
    shown
}

fn host_and_port(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn validate_subsets(subsets: &[EndpointSubset], path: Path<'_>, errors: &mut Errors) {
    for (i, subset) in subsets.iter().enumerate() {
        let path = path.index(i);
        let lists = [("addresses", &subset.addresses), ("notReadyAddresses", &subset.not_ready_addresses)];
        if lists.iter().all(|(_, list)| list.as_ref().is_none_or(Vec::is_empty)) {
            errors.required(path, "must specify `addresses` or `notReadyAddresses`");
        }
        for (field, list) in lists {
            let path = path.child(field);
            for (j, address) in list.iter().flatten().enumerate() {
                validate_address(address, path.index(j), errors);
            }
        }
        let ports = subset.ports.as_deref().unwrap_or_default();
        let path = path.child("ports");
        for (j, port) in ports.iter().enumerate() {
            if ports.len() > 1 && port.name.as_deref().unwrap_or_default().is_empty() {
                errors.required(path.index(j).child("name"), "");
            }
            validate_port(port, path.index(j), errors);
        }
    }
}

fn validate_address(address: &EndpointAddress, path: Path<'_>, errors: &mut Errors) {
    if let Some(hostname) = address.hostname.as_deref().filter(|hostname| !hostname.is_empty()) {
        formats::dns_label(hostname, path.child("hostname"), errors);
    }
    if let Some(node) = &address.node_name {
        formats::dns_subdomain(node, path.child("nodeName"), errors);
    }
    validate_endpoint_ip(&address.ip, path.child("ip"), errors);
}

fn validate_port(port: &EndpointPort, path: Path<'_>, errors: &mut Errors) {
    if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
        formats::dns_label(name, path.child("name"), errors);
    }
    formats::port_number(port.port.into(), path.child("port"), errors);
    let protocol = port.protocol.as_deref().unwrap_or_default();
    formats::required_choice(protocol, &PROTOCOLS, path.child("protocol"), errors);
    if let Some(protocol) = &port.app_protocol {
        formats::qualified_name(protocol, path.child("appProtocol"), errors);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{assert_refused, assert_update_refused, cells, defaults_of, with};

    fn endpoints() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "default"},
            "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}],
        })
    }

    #[test]
    fn ports_are_tcp_unless_they_say_otherwise() {
        assert_eq!(defaults_of::<Endpoints>(endpoints())["subsets"][0]["ports"][0]["protocol"], "TCP");
    }

    #[test]
    fn subsets_are_checked() {
        assert_refused::<Endpoints>(
            &endpoints(),
            &[
                (
                    json!({"subsets": [{}]}),
                    &["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
                ),
                (
                    json!({"subsets": [{"notReadyAddresses": [{"ip": "127.0.0.1", "nodeName": "_"}]}]}),
                    &[
                        "subsets[0].notReadyAddresses[0].nodeName: Invalid value: \"_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                        "subsets[0].notReadyAddresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
                    ],
                ),
                (
                    json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 0}, {"port": 1, "name": "b", "protocol": "X"}]}]}),
                    &[
                        "subsets[0].ports[0].name: Required value",
                        "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                        "subsets[0].ports[1].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn subsets_that_were_stored_may_stay() {
        let old = with(&endpoints(), json!({"subsets": [{}]}));
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        assert_update_refused::<Endpoints>(&old, &[(label, &[])]);
    }

    #[test]
    fn a_row_shows_the_first_addresses() {
        let shown = |subsets: Value| cells::<Endpoints>(with(&endpoints(), json!({"subsets": subsets})))[1].clone();
        let addresses = json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]);
        assert_eq!(shown(json!(null)), "<none>");
        assert_eq!(shown(json!([{"addresses": addresses.clone()}])), "10.0.0.1,fd00::1");
        let two_ports = json!([{"addresses": addresses, "ports": [{"port": 1}, {"port": 2}]}]);
        assert_eq!(shown(two_ports), "10.0.0.1:1,[fd00::1]:1,10.0.0.1:2 + 1 more...");
        assert_eq!(shown(json!([{"notReadyAddresses": [{"ip": "10.0.0.1"}]}])), "");
    }
}
