//! Ports of the host that lead to sandboxes: which are asked for, and who has which.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The most ports that one sandbox may publish.
pub const MAX_PORTS_PER_SANDBOX: usize = 1024;
/// The most ports that all of them may.
pub const MAX_PORTS: usize = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

/// A port of the host that leads to a port of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortMapping {
    pub protocol: Protocol,
    pub host_port: u16,
    pub container_port: u16,
    /// The one address of the host that is meant; none means all of them.
    pub host_ip: Option<IpAddr>,
}

/// A port with the sandbox that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub sandbox: String,
    pub targets: Vec<IpAddr>,
    pub mapping: PortMapping,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    #[error("the port mapping {0} has no port of the container")]
    Zero(String),
    #[error("{0} ports of the host are more than the {MAX_PORTS_PER_SANDBOX} that one sandbox may have")]
    TooMany(usize),
    #[error("all {MAX_PORTS} ports of the host that sandboxes may have are taken")]
    Exhausted,
    #[error("{wanted} on the host is already taken by sandbox {holder} (as {held})")]
    Taken { wanted: String, held: String, holder: String },
    #[error("the sandbox has no {family} address that {mapping} could lead to")]
    NoTarget { mapping: String, family: &'static str },
}

/// Who has which port.
#[derive(Debug, Default)]
pub struct Ports {
    of: BTreeMap<String, Vec<Published>>,
}

impl Protocol {
    /// As in an IP header.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Sctp => 132,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }
}

impl PortMapping {
    /// Whether both would be asked about some packet.
    fn overlaps(&self, other: &Self) -> bool {
        let same_host = match (self.host_ip, other.host_ip) {
            (Some(one), Some(two)) => one == two,
            (None, _) | (_, None) => true,
        };
        self.protocol == other.protocol && self.host_port == other.host_port && same_host
    }
}

impl std::fmt::Display for PortMapping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (protocol, port) = (self.protocol.name(), self.host_port);
        match self.host_ip {
            Some(IpAddr::V6(address)) => write!(formatter, "{protocol} [{address}]:{port}"),
            Some(IpAddr::V4(address)) => write!(formatter, "{protocol} {address}:{port}"),
            None => write!(formatter, "{protocol} port {port}"),
        }
    }
}

impl Ports {
    /// Gives a sandbox all the ports it asks for, or none.
    pub fn publish(&mut self, sandbox: &str, mappings: &[PortMapping], targets: &[IpAddr]) -> Result<(), PortError> {
        if mappings.is_empty() {
            return Ok(());
        }
        if mappings.len() > MAX_PORTS_PER_SANDBOX {
            return Err(PortError::TooMany(mappings.len()));
        }
        if self.all().count() + mappings.len() > MAX_PORTS {
            return Err(PortError::Exhausted);
        }
        let mut granted: Vec<Published> = Vec::new();
        for mapping in mappings {
            check_targets(mapping, targets)?;
            if let Some(holder) = self.all().chain(&granted).find(|held| held.mapping.overlaps(mapping)) {
                return Err(PortError::Taken {
                    wanted: mapping.to_string(),
                    held: holder.mapping.to_string(),
                    holder: holder.sandbox.clone(),
                });
            }
            let (sandbox, targets, mapping) = (sandbox.to_owned(), targets.to_vec(), mapping.clone());
            granted.push(Published { sandbox, targets, mapping });
        }
        self.of.insert(sandbox.to_owned(), granted);
        Ok(())
    }

    /// Takes a sandbox's ports back, when it has any.
    pub fn withdraw(&mut self, sandbox: &str) -> Option<Vec<Published>> {
        self.of.remove(sandbox)
    }

    /// Undoes `withdraw`.
    pub fn restore(&mut self, sandbox: &str, published: Vec<Published>) {
        self.of.insert(sandbox.to_owned(), published);
    }

    pub fn all(&self) -> impl Iterator<Item = &Published> {
        self.of.values().flatten()
    }
}

fn check_targets(mapping: &PortMapping, targets: &[IpAddr]) -> Result<(), PortError> {
    if mapping.container_port == 0 || mapping.host_port == 0 {
        return Err(PortError::Zero(mapping.to_string()));
    }
    match mapping.host_ip {
        Some(host) if !targets.iter().any(|target| target.is_ipv4() == host.is_ipv4()) => {
            let family = if host.is_ipv4() { "IPv4" } else { "IPv6" };
            Err(PortError::NoTarget { mapping: mapping.to_string(), family })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn mapping(protocol: Protocol, port: u16, host: Option<&str>) -> PortMapping {
        let host_ip = host.map(|host| host.parse().unwrap());
        PortMapping { protocol, host_port: port, container_port: 80, host_ip }
    }

    #[test]
    fn a_port_that_another_sandbox_has_is_refused_with_its_holder() {
        let mut ports = Ports::default();
        ports.publish("a", &[mapping(Protocol::Tcp, 8080, None)], &[POD]).unwrap();
        let refused = ports.publish("b", &[mapping(Protocol::Tcp, 8080, Some("192.0.2.1"))], &[POD]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "tcp 192.0.2.1:8080 on the host is already taken by sandbox a (as tcp port 8080)"
        );
        assert_eq!(ports.all().count(), 1);
    }

    #[test]
    fn one_port_serves_two_sandboxes_on_two_addresses_or_protocols() {
        let mut ports = Ports::default();
        ports.publish("a", &[mapping(Protocol::Tcp, 53, Some("192.0.2.1"))], &[POD]).unwrap();
        ports.publish("b", &[mapping(Protocol::Tcp, 53, Some("192.0.2.2"))], &[POD]).unwrap();
        ports.publish("c", &[mapping(Protocol::Udp, 53, None)], &[POD]).unwrap();
        assert_eq!(ports.all().count(), 3);
    }

    #[test]
    fn all_ports_of_a_sandbox_are_granted_or_none() {
        let mut ports = Ports::default();
        ports.publish("a", &[mapping(Protocol::Tcp, 1, None)], &[POD]).unwrap();
        let both = [mapping(Protocol::Tcp, 2, None), mapping(Protocol::Tcp, 1, None)];
        ports.publish("b", &both, &[POD]).unwrap_err();
        assert!(ports.withdraw("b").is_none());
        assert!(ports.withdraw("a").is_some());
        ports.publish("b", &both, &[POD]).unwrap();
    }

    #[test]
    fn ports_that_lead_nowhere_are_refused() {
        let mut ports = Ports::default();
        let nowhere = ports.publish("a", &[mapping(Protocol::Tcp, 1, Some("fd00::1"))], &[POD]);
        assert!(matches!(nowhere, Err(PortError::NoTarget { family: "IPv6", .. })), "{nowhere:?}");
        let zero = PortMapping { container_port: 0, ..mapping(Protocol::Tcp, 1, None) };
        assert!(matches!(ports.publish("a", &[zero], &[POD]), Err(PortError::Zero(_))));
        let many = vec![mapping(Protocol::Tcp, 1, None); MAX_PORTS_PER_SANDBOX + 1];
        assert!(matches!(ports.publish("a", &many, &[POD]), Err(PortError::TooMany(_))));
    }
}
