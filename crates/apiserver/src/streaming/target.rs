//! Where a request goes: the agent of the pod's node, or the pod itself. Reads objects, connects to nothing.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Node, Pod};
use model::field::go_quoted;

use super::ClientSide;
use super::container;
use super::log_options::LogOptions;
use crate::api::Api;
use crate::call::Call;
use crate::kind::{Object, Subresource};
use crate::percent;
use crate::query::Query;
use crate::status::{Qualified, Status};

/// Where agents listen that do not say where.
const AGENT_PORT: u16 = 10250;
/// The addresses of a node, best first.
const ADDRESS_TYPES: [&str; 5] = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"];
const ADDRESS_NOT_ALLOWED: &str = "address not allowed";

/// Where a request goes, and what becomes of it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub scheme: Scheme,
    pub host: String,
    pub port: u16,
    pub path_and_query: String,
    pub manner: Manner,
    /// What was asked for, for messages: `pods/log`.
    pub resource: &'static str,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The agent of a node: HTTPS, with the server's own certificate.
    Agent,
    Https,
    Http,
}

/// What becomes of a request at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// A text is fetched.
    Log,
    /// The connection is upgraded, or nothing comes of it.
    Upgrade,
    /// The request is passed on, whatever it is.
    Pass,
}

impl Target {
    /// Host and port as a URL has them.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// The target of a request; none for the log of a pod that has no node yet, which is empty.
pub fn of(api: &Api, call: &Call, subresource: Subresource, client: &ClientSide) -> Result<Option<Target>, Status> {
    match (subresource, call.kind.facts().resource) {
        (Subresource::Log, _) => log(api, call),
        (Subresource::Exec, _) => in_container(api, call, ("exec", "pods/exec")).map(Some),
        (Subresource::Attach, _) => in_container(api, call, ("attach", "pods/attach")).map(Some),
        (Subresource::PortForward, _) => port_forward(api, call).map(Some),
        (Subresource::Proxy, "nodes") => node_proxy(api, call, client).map(Some),
        (Subresource::Proxy, "pods") => pod_proxy(api, call, client).map(Some),
        (_, _) => Err(Status::method_not_allowed()),
    }
}

fn log(api: &Api, call: &Call) -> Result<Option<Target>, Status> {
    let options = LogOptions::parse(&call.query, call.name())?;
    let pod: Pod = get(api, call, call.name())?;
    let container = container::choose(&pod, &options.container)?;
    let Some(node) = node_of(&pod) else { return Ok(None) };
    let path = format!("/containerLogs/{}/{container}?{}", place(call), options.query());
    let target = agent(&found(api, "nodes", node)?, path)?;
    Ok(Some(Target { manner: Manner::Log, resource: "pods/log", name: call.name().to_owned(), ..target }))
}

fn in_container(api: &Api, call: &Call, (verb, resource): (&str, &'static str)) -> Result<Target, Status> {
    let pod: Pod = get(api, call, call.name())?;
    let container = container::choose(&pod, call.query.first("container").unwrap_or_default())?;
    let target = agent(&assigned(api, call, &pod)?, String::new())?;
    let path_and_query = format!("/{verb}/{}/{container}?{}", place(call), stream_query(&call.query));
    Ok(Target { path_and_query, resource, name: call.name().to_owned(), ..target })
}

/// Which of the standard streams are wanted, and the command.
fn stream_query(query: &Query) -> String {
    // The parameters that agents know have other names than those of the API.
    let switches = [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];
    let on = switches.into_iter().filter(|(name, _)| query.switch(name) == Some(true));
    let on = on.map(|(_, name)| format!("{name}=1"));
    let command = query.all("command").map(|argument| format!("command={}", percent::encode(argument)));
    command.chain(on).collect::<Vec<_>>().join("&")
}

fn port_forward(api: &Api, call: &Call) -> Result<Target, Status> {
    let pod: Pod = get(api, call, call.name())?;
    let mut ports = Vec::new();
    for port in call.query.all("ports").flat_map(|ports| ports.split(',')) {
        let unreadable = |_| Status::bad_request(format!("invalid port {}", go_quoted(port)));
        ports.push(port.parse::<u16>().map_err(unreadable)?.to_string());
    }
    let query = if ports.is_empty() { String::new() } else { format!("?port={}", percent::encode(&ports.join(","))) };
    let target = agent(&assigned(api, call, &pod)?, format!("/portForward/{}{query}", place(call)))?;
    Ok(Target { resource: "pods/portforward", name: call.name().to_owned(), ..target })
}

fn node_proxy(api: &Api, call: &Call, client: &ClientSide) -> Result<Target, Status> {
    let named = Named::parse(call.name(), "node")?;
    let node: Node = get(api, call, named.name)?;
    let own = agent(&node, passed_path(client))?;
    let own = Target { manner: Manner::Pass, resource: "nodes/proxy", name: named.name.to_owned(), ..own };
    match named.port {
        None => Ok(own),
        Some(port) if port == own.port => Ok(own),
        // Not the agent, so nothing proves who answers; at least it must not be this machine.
        Some(_) if own.host.parse().is_ok_and(|address| !is_global_unicast(address)) => {
            Err(Status::bad_request(ADDRESS_NOT_ALLOWED))
        }
        Some(port) => Ok(Target { scheme: named.scheme, port, ..own }),
    }
}

fn pod_proxy(api: &Api, call: &Call, client: &ClientSide) -> Result<Target, Status> {
    let named = Named::parse(call.name(), "pod")?;
    let pod: Pod = get(api, call, named.name)?;
    to_pod(&pod, &named, passed_path(client))
}

fn to_pod(pod: &Pod, named: &Named<'_>, path_and_query: String) -> Result<Target, Status> {
    let status = pod.status.as_ref();
    let first = status.and_then(|status| status.pod_ips.as_ref()?.first().map(|ip| ip.ip.as_str()));
    let address = first.or_else(|| status?.pod_ip.as_deref()).and_then(|address| address.parse().ok());
    let address: IpAddr = address
        .filter(|address| is_global_unicast(*address))
        .ok_or_else(|| Status::bad_request(ADDRESS_NOT_ALLOWED))?;
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let declared = containers.filter_map(|container| container.ports.as_ref()?.first()).map(|port| port.container_port);
    let declared = declared.filter_map(|port| u16::try_from(port).ok()).next();
    let usual = if named.scheme == Scheme::Https { 443 } else { 80 };
    Ok(Target {
        scheme: named.scheme,
        host: address.to_string(),
        port: named.port.or(declared).unwrap_or(usual),
        path_and_query,
        manner: Manner::Pass,
        resource: "pods/proxy",
        name: named.name.to_owned(),
    })
}

/// What follows `proxy`, without anything that would lead out of it.
fn passed_path(client: &ClientSide) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in &client.rest {
        match segment.as_str() {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let mut path: String =
        segments.into_iter().flat_map(|segment| ["/".to_owned(), percent::encode(segment)]).collect();
    if path.is_empty() || client.path.ends_with('/') {
        path.push('/');
    }
    if client.query.is_empty() { path } else { format!("{path}?{}", client.query) }
}

/// A name that may say by which scheme and at which port: `web`, `web:8080`, `https:web:8443`.
struct Named<'a> {
    scheme: Scheme,
    name: &'a str,
    port: Option<u16>,
}

impl<'a> Named<'a> {
    fn parse(text: &'a str, what: &str) -> Result<Named<'a>, Status> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            [..] => ("", "", ""),
        };
        let scheme = match scheme {
            "" | "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            _ => None,
        };
        let port = if port.is_empty() { Some(None) } else { port.parse().ok().map(Some) };
        match (scheme, port) {
            (Some(scheme), Some(port)) if !name.is_empty() => Ok(Named { scheme, name, port }),
            (_, _) => Err(Status::bad_request(format!("invalid {what} request {}", go_quoted(text)))),
        }
    }
}

/// The object that a request names.
fn get<T: Object>(api: &Api, call: &Call, name: &str) -> Result<T, Status> {
    let place = crate::keys::place(call.namespace.as_deref(), name);
    typed(api, call.kind.facts().resource, &place, name)
}

fn found(api: &Api, resource: &'static str, name: &str) -> Result<Node, Status> {
    typed(api, resource, name, name)
}

fn typed<T: Object>(api: &Api, resource: &str, place: &str, name: &str) -> Result<T, Status> {
    let object = api.core_object(resource, place);
    let object = object.as_ref().and_then(|object| object.downcast_ref::<T>());
    object.cloned().ok_or_else(|| Status::not_found(Qualified::core(resource), name))
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

fn assigned(api: &Api, call: &Call, pod: &Pod) -> Result<Node, Status> {
    let unassigned = || Status::bad_request(format!("pod {} does not have a host assigned", call.name()));
    found(api, "nodes", node_of(pod).ok_or_else(unassigned)?)
}

/// The agent of a node, to be asked for an upgrade.
fn agent(node: &Node, path_and_query: String) -> Result<Target, Status> {
    let status = node.status.as_ref();
    let addresses = status.and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let of_type = |wanted: &&str| addresses.iter().find(|address| address.type_ == *wanted);
    let best = ADDRESS_TYPES.iter().find_map(of_type);
    let best = best.ok_or_else(|| Status::internal_error("no preferred addresses found; known addresses: []"))?;
    let endpoints = status.and_then(|status| status.daemon_endpoints.as_ref());
    let port = endpoints.and_then(|endpoints| endpoints.kubelet_endpoint.as_ref()).map(|endpoint| endpoint.port);
    let port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    Ok(Target {
        scheme: Scheme::Agent,
        host: best.address.clone(),
        port: port.unwrap_or(AGENT_PORT),
        path_and_query,
        manner: Manner::Upgrade,
        resource: "",
        name: String::new(),
    })
}

fn place(call: &Call) -> String {
    format!("{}/{}", call.namespace.as_deref().unwrap_or_default(), call.name())
}

/// Whether an address can belong to somebody else on a network.
fn is_global_unicast(address: IpAddr) -> bool {
    let local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => return is_global_unicast(IpAddr::V4(mapped)),
            None => address.is_unicast_link_local(),
        },
    };
    !(local || address.is_loopback() || address.is_multicast() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(address: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "web" },
            "spec": { "containers": [{ "name": "a" }, { "name": "b", "ports": [{ "containerPort": 8080 }] }] },
            "status": { "podIP": address },
        }))
        .unwrap()
    }

    #[test]
    fn a_pod_is_reached_at_its_own_address() {
        let rows = [
            ("web", Scheme::Http, "10.1.2.3:8080"),
            ("web:9090", Scheme::Http, "10.1.2.3:9090"),
            ("https:web:8443", Scheme::Https, "10.1.2.3:8443"),
            ("https:web:", Scheme::Https, "10.1.2.3:8080"),
        ];
        for (name, scheme, authority) in rows {
            let target = to_pod(&pod("10.1.2.3"), &Named::parse(name, "pod").unwrap(), "/".to_owned()).unwrap();
            assert_eq!((target.scheme, target.authority().as_str()), (scheme, authority), "{name}");
        }
        let target = to_pod(&pod("fd00::1"), &Named::parse("web", "pod").unwrap(), "/".to_owned()).unwrap();
        assert_eq!(target.authority(), "[fd00::1]:8080");
    }

    #[test]
    fn a_pod_at_an_address_of_this_machine_is_not_reached() {
        for address in
            ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", ""]
        {
            let refused = to_pod(&pod(address), &Named::parse("web", "pod").unwrap(), "/".to_owned()).unwrap_err();
            assert_eq!((refused.code, refused.message.as_str()), (400, ADDRESS_NOT_ALLOWED), "{address}");
        }
    }

    #[test]
    fn a_node_is_reached_at_its_best_address_and_the_port_of_its_agent() {
        let node = |addresses, port: i32| -> Node {
            let status = json!({ "addresses": addresses, "daemonEndpoints": { "kubeletEndpoint": { "Port": port } } });
            serde_json::from_value(json!({ "metadata": { "name": "n" }, "status": status })).unwrap()
        };
        let both = json!([{ "type": "Hostname", "address": "n" }, { "type": "InternalIP", "address": "10.0.0.1" }]);
        assert_eq!(agent(&node(both, 1234), String::new()).unwrap().authority(), "10.0.0.1:1234");
        let named = json!([{ "type": "Hostname", "address": "n" }]);
        assert_eq!(agent(&node(named, 0), String::new()).unwrap().authority(), "n:10250");
        assert_eq!(agent(&node(json!([]), 0), String::new()).unwrap_err().code, 500);
    }
}
