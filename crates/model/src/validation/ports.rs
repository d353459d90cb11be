//! Rules for the ports of containers, and for the ports of the host they take.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, ContainerPort};
use serde_json::Value;

use crate::field::{Errors, Path};
use crate::text;

/// Checks the ports of one container.
pub(super) fn validate_ports(container: &Container, path: Path<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for (i, port) in container.ports.iter().flatten().enumerate() {
        let path = path.index(i);
        let name = port.name.as_deref().unwrap_or_default();
        if !name.is_empty() {
            let complaints = text::port_name(name);
            errors.invalid_each(path.child("name"), name, &complaints);
            if complaints.is_empty() && !names.insert(name) {
                errors.duplicate(path.child("name"), name);
            }
        }
        validate_port_numbers(port, path, errors);
        match port.protocol.as_deref().unwrap_or_default() {
            "" => errors.required(path.child("protocol"), ""),
            "TCP" | "UDP" | "SCTP" => {}
            other => errors.not_supported(path.child("protocol"), Value::from(other), &["SCTP", "TCP", "UDP"]),
        }
    }
}

fn validate_port_numbers(port: &ContainerPort, path: Path<'_>, errors: &mut Errors) {
    if port.container_port == 0 {
        errors.required(path.child("containerPort"), "");
    } else {
        for complaint in text::port_number(port.container_port.into()) {
            errors.invalid(path.child("containerPort"), port.container_port, &complaint);
        }
    }
    let host_port = port.host_port.unwrap_or_default();
    if host_port != 0 {
        for complaint in text::port_number(host_port.into()) {
            errors.invalid(path.child("hostPort"), host_port, &complaint);
        }
    }
}

/// No two of the containers may take the same port of the host. `path` names their list.
pub(super) fn validate_host_port_conflicts(containers: &[Container], path: Path<'_>, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for (i, container) in containers.iter().enumerate() {
        let container_path = path.index(i);
        let list = container_path.child("ports");
        for (j, port) in container.ports.iter().flatten().enumerate() {
            let Some(number) = port.host_port.filter(|number| *number != 0) else { continue };
            let protocol = port.protocol.as_deref().unwrap_or_default();
            let address = port.host_ip.as_deref().unwrap_or_default();
            let key = format!("{protocol}/{address}/{number}");
            if taken.contains(&key) {
                errors.duplicate(list.index(j).child("hostPort"), key);
            } else {
                taken.insert(key);
            }
        }
    }
}
