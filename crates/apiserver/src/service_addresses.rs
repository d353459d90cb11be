//! Cluster addresses and node ports of services: each is given to one service only, whichever server gives it.
//!
//! An address is taken by creating a key of its own in the store, which only one can do. Keys whose service does not
//! exist, or no longer has the address, are given back by [`crate::upkeep`] after a while, so that nothing is lost when a
//! request fails half-way or a server dies.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use model::field::{Errors, Path};
use rand::RngExt as _;
use store::{Change, CommitError, Key, Prefix, Store as _};

use crate::api::{Api, store_failure};
use crate::kind::AnyObject;
use crate::kinds::service::keep_allocated;
use crate::options::DryRun;
use crate::status::{Qualified, Status};

/// What the keys of all that is taken begin with.
pub const ROOT: &str = "/eventide.taken/";
const SERVICE: Qualified<'static> = Qualified::core("Service");
const PORTS: std::ops::RangeInclusive<i32> = 30_000..=32_767;
/// How many addresses are tried before there is said to be none left.
const TRIES: usize = 256;

/// Something that only one service can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Taken {
    Address(Ipv4Addr),
    Port(i32),
}

impl Taken {
    fn key(self) -> Key {
        let text = match self {
            Taken::Address(address) => format!("{ROOT}addresses/{address}"),
            Taken::Port(port) => format!("{ROOT}ports/{port}"),
        };
        Key::new(text).expect("a short key")
    }

    /// What a key stands for.
    pub fn of_key(key: &Key) -> Option<Taken> {
        let rest = std::str::from_utf8(key.as_bytes()).ok()?.strip_prefix(ROOT)?;
        match rest.split_once('/')? {
            ("addresses", address) => address.parse().ok().map(Taken::Address),
            ("ports", port) => port.parse().ok().map(Taken::Port),
            _ => None,
        }
    }

    /// Everything that a service has.
    pub fn by(service: &Service) -> Vec<Taken> {
        let Some(spec) = &service.spec else { return Vec::new() };
        let address = spec.cluster_ip.as_deref().and_then(|text| text.parse().ok()).map(Taken::Address);
        let ports = spec.ports.iter().flatten().filter_map(|port| port.node_port).filter(|port| *port != 0);
        address.into_iter().chain(ports.map(Taken::Port)).collect()
    }

    /// The prefix of all keys.
    pub fn everything() -> Prefix {
        Prefix::new(ROOT).expect("a short prefix")
    }
}

impl Api {
    /// Gives a service that is about to be stored what it needs and does not have. Does nothing to other objects.
    pub async fn assign_addresses(
        &self,
        object: &mut dyn AnyObject,
        old: Option<&dyn AnyObject>,
        dry_run: DryRun,
    ) -> Result<(), Status> {
        let Some(service) = object.downcast_mut::<Service>() else { return Ok(()) };
        let old = old.and_then(|old| old.downcast_ref::<Service>());
        let had = old.map(Taken::by).unwrap_or_default();
        let name = service.metadata.name.clone().unwrap_or_default();
        let Some(spec) = &mut service.spec else { return Ok(()) };
        if let Some(old) = old.and_then(|old| old.spec.as_ref()) {
            keep_allocated(spec, old);
        }
        self.assign_address(spec, &name, &had, dry_run).await?;
        self.assign_ports(spec, &name, &had, dry_run).await
    }

    async fn assign_address(
        &self,
        spec: &mut ServiceSpec,
        name: &str,
        had: &[Taken],
        dry_run: DryRun,
    ) -> Result<(), Status> {
        if spec.type_.as_deref() == Some("ExternalName") {
            return Ok(());
        }
        let asked = spec.cluster_ip.clone().unwrap_or_default();
        let address = match asked.as_str() {
            "None" => return Ok(()),
            "" => {
                let (first, last) = self.service_network.usable();
                let random = || Taken::Address(Ipv4Addr::from(rand::rng().random_range(first..=last)));
                self.take_any(random, dry_run).await?.ok_or_else(|| {
                    let why = "failed to allocate a serviceIP: range is full";
                    Status::internal_error(why)
                })?
            }
            text => match text.parse::<Ipv4Addr>() {
                // What cannot be read is for validation to say.
                Err(_) => return Ok(()),
                Ok(address) if !self.service_network.contains(address) => {
                    let range = self.service_network;
                    let why = format!(
                        "failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}"
                    );
                    return Err(refused(name, "spec.clusterIPs", text, &why));
                }
                Ok(address) => {
                    let wanted = Taken::Address(address);
                    if !had.contains(&wanted) && !self.take(wanted, dry_run).await? {
                        let why = format!("failed to allocate IP {address}: provided IP is already allocated");
                        return Err(refused(name, "spec.clusterIPs", text, &why));
                    }
                    wanted
                }
            },
        };
        if let Taken::Address(address) = address {
            spec.cluster_ip = Some(address.to_string());
            spec.cluster_ips = Some(vec![address.to_string()]);
        }
        Ok(())
    }

    async fn assign_ports(
        &self,
        spec: &mut ServiceSpec,
        name: &str,
        had: &[Taken],
        dry_run: DryRun,
    ) -> Result<(), Status> {
        let wanted = match spec.type_.as_deref() {
            Some("NodePort") => true,
            Some("LoadBalancer") => spec.allocate_load_balancer_node_ports != Some(false),
            _ => false,
        };
        for (i, port) in spec.ports.iter_mut().flatten().enumerate() {
            match port.node_port.unwrap_or_default() {
                0 if wanted => {
                    let random = || Taken::Port(rand::rng().random_range(PORTS));
                    let Some(Taken::Port(given)) = self.take_any(random, dry_run).await? else {
                        return Err(Status::internal_error("failed to allocate a nodePort: range is full"));
                    };
                    port.node_port = Some(given);
                }
                0 => {}
                asked if had.contains(&Taken::Port(asked)) => {}
                asked => {
                    let field = format!("spec.ports[{i}].nodePort");
                    if !PORTS.contains(&asked) {
                        let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                        return Err(refused(name, &field, asked, why));
                    }
                    if !self.take(Taken::Port(asked), dry_run).await? {
                        return Err(refused(name, &field, asked, "provided port is already allocated"));
                    }
                }
            }
        }
        Ok(())
    }

    async fn take_any(&self, mut random: impl FnMut() -> Taken, dry_run: DryRun) -> Result<Option<Taken>, Status> {
        for _ in 0..TRIES {
            let wanted = random();
            if self.take(wanted, dry_run).await? {
                return Ok(Some(wanted));
            }
        }
        Ok(None)
    }

    /// False if someone else has it.
    async fn take(&self, wanted: Taken, dry_run: DryRun) -> Result<bool, Status> {
        if dry_run == DryRun::All {
            let found = self.store.get(&wanted.key()).await.map_err(|error| store_failure(&error))?;
            return Ok(found.is_none());
        }
        match self.store.commit(Change::create(wanted.key(), "")).await {
            Ok(_) => Ok(true),
            Err(CommitError::Conflict { .. }) => Ok(false),
            Err(CommitError::Store(error)) => Err(store_failure(&error)),
        }
    }
}

fn refused(name: &str, field: &str, value: impl Into<serde_json::Value>, why: &str) -> Status {
    let mut errors = Errors::new();
    let root = Path::root();
    let value: serde_json::Value = value.into();
    errors.invalid(root.child(field), value, why);
    Status::invalid(SERVICE, name, &errors)
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::{Value, json};

    use super::*;
    use crate::test_support::{document, test_api};

    const SERVICES: &str = "/api/v1/namespaces/default/services";

    fn service(name: &str, spec: &Value) -> Value {
        json!({"metadata": {"name": name}, "spec": spec})
    }

    #[tokio::test]
    async fn a_service_gets_an_address_that_nobody_else_has() {
        let api = test_api().await;
        let ports = json!([{"port": 80}]);
        let mut seen = std::collections::BTreeSet::new();
        for i in 0..20 {
            let body = service(&format!("s{i}"), &json!({"ports": ports}));
            let created = document(&api.send(Method::POST, SERVICES, Some(body)).await.unwrap());
            let address: Ipv4Addr = created["spec"]["clusterIP"].as_str().unwrap().parse().unwrap();
            assert!(api.service_network.contains(address));
            assert!(seen.insert(address));
        }
        let taken = seen.first().unwrap().to_string();
        let body = service("thief", &json!({"ports": ports, "clusterIP": taken}));
        let refused = api.send(Method::POST, SERVICES, Some(body)).await.err().unwrap();
        assert!(refused.message.contains("provided IP is already allocated"), "{}", refused.message);
        let body = service("stranger", &json!({"ports": ports, "clusterIP": "192.0.2.1"}));
        let refused = api.send(Method::POST, SERVICES, Some(body)).await.err().unwrap();
        assert!(refused.message.contains("is not in the valid range"), "{}", refused.message);
    }

    #[tokio::test]
    async fn a_node_port_is_given_once_and_kept_by_updates() {
        let api = test_api().await;
        let body = service("a", &json!({"type": "NodePort", "ports": [{"port": 80}]}));
        let created = document(&api.send(Method::POST, SERVICES, Some(body.clone())).await.unwrap());
        let port = created["spec"]["ports"][0]["nodePort"].as_i64().unwrap();
        assert!((30_000..=32_767).contains(&port));
        let updated = api.send(Method::PUT, &format!("{SERVICES}/a"), Some(body)).await.unwrap();
        let updated = document(&updated);
        assert_eq!(updated["spec"]["ports"][0]["nodePort"], port);
        assert_eq!(updated["spec"]["clusterIP"], created["spec"]["clusterIP"]);
        let body = service("b", &json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}));
        let refused = api.send(Method::POST, SERVICES, Some(body)).await.err().unwrap();
        assert!(refused.message.contains("provided port is already allocated"), "{}", refused.message);
    }

    #[tokio::test]
    async fn a_headless_service_and_a_name_need_no_address() {
        let api = test_api().await;
        for (name, spec) in [
            ("headless", json!({"clusterIP": "None", "ports": [{"port": 80}]})),
            ("elsewhere", json!({"type": "ExternalName", "externalName": "example.com"})),
        ] {
            let created = document(&api.send(Method::POST, SERVICES, Some(service(name, &spec))).await.unwrap());
            assert_eq!(created["spec"].get("clusterIP"), spec.get("clusterIP"));
        }
        let range = store::RangeRequest::of(Taken::everything());
        assert!(api.store.range(range).await.unwrap().entries.is_empty());
    }
}
