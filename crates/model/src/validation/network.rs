//! When a pod's names and name resolution are valid: host names, DNS policy and configuration, host aliases, and the
//! ports of pods on the host's network.

use k8s_openapi::api::core::v1::{HostAlias, PodDNSConfig, PodSpec};
use serde_json::json;

use super::formats;
use super::pod_spec::Subject;
use crate::field::{Errors, Path};
use crate::text;

const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCHES_BYTES_MAX: usize = 2048;
const HOSTNAME_OVERRIDE_BYTES_MAX: usize = 64;

pub(super) fn validate_dns_policy(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let policy = spec.dns_policy.as_deref().unwrap_or_default();
    formats::required_choice(policy, &DNS_POLICIES, path.child("dnsPolicy"), errors);
}

pub(super) fn validate_dns_config(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let alone = spec.dns_policy.as_deref() == Some("None");
    let Some(config) = &spec.dns_config else {
        if alone {
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        return;
    };
    if alone && config.nameservers.as_ref().is_none_or(Vec::is_empty) {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.required(path.child("nameservers"), detail);
        return;
    }
    validate_nameservers(config, path.child("nameservers"), errors);
    validate_searches(config, path.child("searches"), errors);
    let options = path.child("options");
    for (i, option) in config.options.iter().flatten().enumerate() {
        if option.name.as_deref().unwrap_or_default().is_empty() {
            errors.required(options.index(i), "must not be empty");
        }
    }
}

fn validate_nameservers(config: &PodDNSConfig, path: Path<'_>, errors: &mut Errors) {
    let servers = config.nameservers.as_deref().unwrap_or_default();
    if servers.len() > NAMESERVERS_MAX {
        let detail = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        errors.invalid(path, json!(servers), &detail);
    }
    for (i, server) in servers.iter().enumerate() {
        formats::ip_address(server, path.index(i), errors);
    }
}

fn validate_searches(config: &PodDNSConfig, path: Path<'_>, errors: &mut Errors) {
    let searches = config.searches.as_deref().unwrap_or_default();
    if searches.len() > SEARCHES_MAX {
        let detail = format!("must not have more than {SEARCHES_MAX} search paths");
        errors.invalid(path, json!(searches), &detail);
    }
    let bytes = searches.iter().map(String::len).sum::<usize>() + searches.len().saturating_sub(1);
    if bytes > SEARCHES_BYTES_MAX {
        let detail =
            format!("must not have more than {SEARCHES_BYTES_MAX} characters (including spaces) in the search list");
        errors.invalid(path, json!(searches), &detail);
    }
    for (i, search) in searches.iter().enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        formats::report(text::dns_subdomain_with_underscore(search), search, path.index(i), errors);
    }
}

pub(super) fn validate_host_aliases(aliases: &[HostAlias], path: Path<'_>, errors: &mut Errors) {
    for (i, alias) in aliases.iter().enumerate() {
        let path = path.index(i);
        formats::ip_address(&alias.ip, path.child("ip"), errors);
        let hostnames = path.child("hostnames");
        for (j, hostname) in alias.hostnames.iter().flatten().enumerate() {
            formats::dns_subdomain(hostname, hostnames.index(j), errors);
        }
    }
}

pub(super) fn validate_hostname_override(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let Some(hostname) = &spec.hostname_override else { return };
    let path = path.child("hostnameOverride");
    if spec.set_hostname_as_fqdn == Some(true) {
        errors.forbidden(path, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.host_network == Some(true) {
        errors.forbidden(path, "may not be specified when hostNetwork is true");
    }
    if hostname.len() > HOSTNAME_OVERRIDE_BYTES_MAX {
        errors.too_long(path, HOSTNAME_OVERRIDE_BYTES_MAX);
    }
    formats::dns_subdomain(hostname, path, errors);
}

pub(super) fn validate_hostname(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    for (field, name) in [("hostname", &spec.hostname), ("subdomain", &spec.subdomain)] {
        if let Some(name) = name.as_deref().filter(|name| !name.is_empty()) {
            formats::dns_label(name, path.child(field), errors);
        }
    }
}

/// On the host's network a container's port is the host's port. A template may leave the latter to defaulting.
pub(super) fn validate_host_ports(spec: &PodSpec, subject: Subject, path: Path<'_>, errors: &mut Errors) {
    if spec.host_network != Some(true) {
        return;
    }
    let containers = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        let container_path = containers.index(i);
        let ports = container_path.child("ports");
        for (j, port) in container.ports.iter().flatten().enumerate() {
            let host_port = port.host_port.unwrap_or_default();
            let unset = subject == Subject::Template && host_port == 0;
            if !unset && host_port != port.container_port {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(ports.index(j).child("hostPort"), host_port, detail);
            }
        }
    }
}
