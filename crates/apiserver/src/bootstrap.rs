//! The objects that every cluster has from its first start, and every namespace from its creation.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use bytes::Bytes;
use serde_json::{Value, json};
use thiserror::Error;

use crate::api::Api;
use crate::call::Call;
use crate::identity::{MASTERS, User};
use crate::negotiate::{Layout, Output, Shape};
use crate::query::Query;
use crate::status::{Reason, Status};

/// Namespaces that are there from the start.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// The name under which the server does things by itself.
const OWN_NAME: &str = "system:apiserver";

/// An IPv4 network from which services get addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceNetwork {
    base: Ipv4Addr,
    bits: u8,
}

/// Why a text is no service network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is no service network: write an IPv4 network of 8 to 29 bits, such as 10.96.0.0/16")]
pub struct ServiceNetworkError(String);

impl std::fmt::Display for ServiceNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

impl Default for ServiceNetwork {
    fn default() -> ServiceNetwork {
        ServiceNetwork { base: Ipv4Addr::new(10, 96, 0, 0), bits: 16 }
    }
}

impl FromStr for ServiceNetwork {
    type Err = ServiceNetworkError;

    fn from_str(text: &str) -> Result<ServiceNetwork, ServiceNetworkError> {
        let bad = || ServiceNetworkError(text.to_owned());
        let (base, bits) = text.split_once('/').ok_or_else(bad)?;
        let (base, bits): (Ipv4Addr, u8) = (base.parse().map_err(|_| bad())?, bits.parse().map_err(|_| bad())?);
        if !(8..=29).contains(&bits) || u32::from(base) & (u32::MAX >> bits) != 0 {
            return Err(bad());
        }
        Ok(ServiceNetwork { base, bits })
    }
}

impl ServiceNetwork {
    /// The address of the service `kubernetes`.
    pub fn first(self) -> IpAddr {
        Ipv4Addr::from(u32::from(self.base) + 1).into()
    }

    pub fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & !(u32::MAX >> self.bits) == u32::from(self.base)
    }

    /// The addresses that are given out: neither the network's own nor the first nor the last.
    pub fn usable(self) -> (u32, u32) {
        let base = u32::from(self.base);
        (base + 2, base + (u32::MAX >> self.bits) - 1)
    }
}

/// Makes whatever is missing.
pub async fn ensure(api: &Api, address: SocketAddr) -> Result<(), Status> {
    for name in NAMESPACES {
        let namespace = json!({ "metadata": { "name": name } });
        make(api, ("", "namespaces"), None, &namespace).await?;
        ensure_in_namespace(api, name).await?;
    }
    let names: Vec<String> = namespaces(api);
    for name in names {
        ensure_in_namespace(api, &name).await?;
    }
    for (name, value, words) in [
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ] {
        let class = json!({ "metadata": { "name": name }, "value": value, "description": words });
        make(api, ("scheduling.k8s.io", "priorityclasses"), None, &class).await?;
    }
    ensure_own_service(api, address).await
}

/// What every namespace has: clients wait for both before they do anything in it.
pub async fn ensure_in_namespace(api: &Api, namespace: &str) -> Result<(), Status> {
    let account = json!({ "metadata": { "name": "default" } });
    tolerate_ending(make(api, ("", "serviceaccounts"), Some(namespace), &account).await)?;
    let authority = json!({
        "metadata": { "name": "kube-root-ca.crt" },
        "data": { "ca.crt": api.authority_pem },
    });
    tolerate_ending(make(api, ("", "configmaps"), Some(namespace), &authority).await)
}

/// A namespace that is ending, or gone, needs nothing any more.
fn tolerate_ending(result: Result<(), Status>) -> Result<(), Status> {
    match result {
        Err(status) if matches!(status.reason, Some(Reason::Forbidden | Reason::NotFound)) => Ok(()),
        other => other,
    }
}

fn namespaces(api: &Api) -> Vec<String> {
    let Some(kind) = api.kinds.find("", "v1", "namespaces") else { return Vec::new() };
    api.cache.shelf(kind.facts()).list("", None).items.iter().map(|item| item.name().to_owned()).collect()
}

/// The service `kubernetes`, behind which is this server.
async fn ensure_own_service(api: &Api, address: SocketAddr) -> Result<(), Status> {
    let first = api.service_network.first().to_string();
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let service = json!({
        "metadata": { "name": "kubernetes", "labels": labels },
        "spec": {
            "clusterIP": first, "clusterIPs": [first], "type": "ClusterIP",
            "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": address.port() }],
        },
    });
    make(api, ("", "services"), Some("default"), &service).await?;
    if address.ip().is_loopback() || address.ip().is_unspecified() || address.is_ipv6() {
        // Nobody else could reach such an address through an endpoint, and validation refuses it.
        return Ok(());
    }
    let slice = json!({
        "metadata": { "name": "kubernetes", "labels": { "kubernetes.io/service-name": "kubernetes" } },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [address.ip().to_string()], "conditions": { "ready": true } }],
        "ports": [{ "name": "https", "port": address.port(), "protocol": "TCP" }],
    });
    make(api, ("discovery.k8s.io", "endpointslices"), Some("default"), &slice).await
}

/// Creates an object if it is not there.
async fn make(
    api: &Api,
    (group, resource): (&str, &str),
    namespace: Option<&str>,
    object: &Value,
) -> Result<(), Status> {
    let kind = api.kinds.find(group, "v1", resource).ok_or_else(Status::unknown_path)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let place = crate::keys::place(namespace, name);
    if api.cache.shelf(kind.facts()).get(&place).is_some() {
        return Ok(());
    }
    let call = Call {
        kind,
        namespace: namespace.map(str::to_owned),
        name: None,
        user: own_user(),
        query: Query::default(),
        output: Output { shape: Shape::Whole, layout: Layout::Compact },
        content_type: String::new(),
        user_agent: String::new(),
        body: Bytes::from(object.to_string()),
    };
    match api.create(&call).await {
        Ok(_) => {
            api.catch_up().await?;
            Ok(())
        }
        Err(status) if status.reason == Some(Reason::AlreadyExists) => Ok(()),
        Err(status) => Err(status),
    }
}

/// Who the server is to itself.
pub fn own_user() -> User {
    User { name: OWN_NAME.to_owned(), groups: vec![MASTERS.to_owned()], ..User::default() }.authenticated()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_network_is_a_whole_network_of_a_sensible_size() {
        assert_eq!("10.96.0.0/16".parse(), Ok(ServiceNetwork::default()));
        let network: ServiceNetwork = "10.0.0.0/24".parse().unwrap();
        assert_eq!(network.first(), IpAddr::from([10, 0, 0, 1]));
        for text in ["", "10.96.0.0", "10.96.0.1/16", "10.96.0.0/30", "10.96.0.0/x", "fd00::/64"] {
            assert!(text.parse::<ServiceNetwork>().is_err(), "{text}");
        }
    }
}
