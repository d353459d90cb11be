//! The built-in network: a bridge, a veth pair and an address for each sandbox, and ports of the host that lead to it.
//!
//! Everything is a few netlink requests; no process is started. All of a sandbox's things are found by its id alone
//! (its link's name, its addresses' files, its rules), so that taking them away needs no memory of how far setting
//! them up had come.

mod host;
mod subnet;

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::links::{Link, LinkError, Links, MacAddress, VethPair};
use super::nftables::Tables;
use super::pool::{Pool, PoolError};
use super::ports::{PortError, PortMapping, Ports, Protocol};
use super::{INTERFACE, conntrack, rules};
use crate::namespaces::{self, NamespaceError};

/// Veth pairs of sandboxes begin with this.
const VETH_PREFIX: &str = "evt";

/// What the built-in network is to be.
#[derive(Debug, Clone)]
pub struct BridgeSettings {
    /// The bridge, and the nf_tables table: two runtimes on one machine need two names.
    pub name: String,
    /// None: the first of a few usual ones that overlaps no route of the host.
    pub ipv4: Option<Ipv4Net>,
    /// None: sandboxes have no IPv6 addresses. With one, the host forwards IPv6 and so stops to listen to router
    /// advertisements, unless its `accept_ra` is 2.
    pub ipv6: Option<Ipv6Net>,
    /// None: the kernel's own.
    pub mtu: Option<u32>,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self { name: "eventide0".to_owned(), ipv4: None, ipv6: None, mtu: None }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("the built-in network needs CAP_NET_ADMIN and CAP_SYS_ADMIN: run as root, or give a CNI configuration")]
    Capability,
    #[error("{0:?} cannot be the name of a bridge: 1 to 15 letters, digits, - or _ are needed")]
    Name(String),
    #[error("there is a link {0} already, and it is no bridge; choose another name for the bridge")]
    NotABridge(String),
    #[error("the subnet {subnet} overlaps the host's route to {route}; choose another subnet")]
    Overlap { subnet: IpNet, route: IpNet },
    #[error("all subnets that are tried by themselves overlap routes of the host; choose a free one")]
    NoSubnet,
    #[error("the bridge {name} still serves sandboxes of {old}; remove them before its subnet becomes {new}")]
    SubnetInUse { name: String, old: Ipv4Net, new: Ipv4Net },
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("the nf_tables rules cannot be set: {0} (a kernel of 5.2 or newer with nf_tables and its NAT is needed)")]
    Rules(io::Error),
    #[error("stale connections cannot be forgotten: {0}")]
    Conntrack(io::Error),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error("the sandbox's namespace has no link {INTERFACE} after it was made")]
    Vanished,
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

/// The built-in network of the host's namespace.
#[derive(Debug)]
pub struct Bridge {
    settings: BridgeSettings,
    directory: PathBuf,
    links: Links,
    /// Opened when first needed: a machine without nf_tables can still run sandboxes in the host's network.
    tables: Option<Tables>,
    /// Empty until a subnet was chosen.
    pools: Vec<Pool>,
    ports: Ports,
    /// The bridge's number, once everything of the host was seen to be there.
    prepared: Option<u32>,
}

impl Bridge {
    /// Changes nothing on the host; that happens with the first sandbox.
    pub fn open(directory: &Path, settings: BridgeSettings) -> Result<Self, BridgeError> {
        check_name(&settings.name)?;
        let (links, directory) = (Links::open()?, directory.to_owned());
        let mut bridge = Self {
            settings,
            directory,
            links,
            tables: None,
            pools: Vec::new(),
            ports: Ports::default(),
            prepared: None,
        };
        if let Some(subnet) = subnet::remembered(&bridge.directory) {
            bridge.open_pools(subnet)?;
        }
        Ok(bridge)
    }

    /// Gives a sandbox its link, addresses and ports. When it fails, `detach` takes away what was done.
    pub fn attach(&mut self, sandbox: &str, netns: &Path, mappings: &[PortMapping]) -> Result<Vec<IpNet>, BridgeError> {
        let bridge = self.prepare()?;
        let addresses =
            self.pools.iter_mut().map(|pool| pool.reserve(sandbox)).collect::<Result<Vec<IpNet>, PoolError>>()?;
        self.adopt(sandbox, mappings, &addresses)?;
        let connected = self.connect(sandbox, netns, bridge, &addresses);
        if connected.is_err() && self.links.find(&self.settings.name)?.map(|link| link.index) != Some(bridge) {
            // Someone removed the bridge behind our back: make it again, once.
            self.prepared = None;
            let bridge = self.prepare()?;
            self.connect(sandbox, netns, bridge, &addresses)?;
        } else {
            connected?;
        }
        if !mappings.is_empty() {
            if let Some(link) = self.links.find(&veth_name(sandbox))? {
                self.links.allow_hairpin(link.index)?;
            }
            self.install_rules()?;
            forget_connections(mappings.iter())?;
        }
        Ok(addresses)
    }

    /// Takes away whatever a sandbox has, which may be nothing.
    pub fn detach(&mut self, sandbox: &str) -> Result<(), BridgeError> {
        self.withdraw(sandbox)?;
        self.links.delete(&veth_name(sandbox))?;
        self.release(sandbox)
    }

    /// The first step of taking away: nothing leads to the sandbox's ports any more.
    pub fn withdraw(&mut self, sandbox: &str) -> Result<(), BridgeError> {
        let Some(published) = self.ports.withdraw(sandbox) else { return Ok(()) };
        let connections = published.iter().map(|port| &port.mapping);
        let withdrawn = self.install_rules().and_then(|()| forget_connections(connections));
        if withdrawn.is_err() {
            // They are still there, and whoever tries again must find them.
            self.ports.restore(sandbox, published);
        }
        withdrawn
    }

    /// The last step, when the link is gone: the addresses are free again.
    pub fn release(&mut self, sandbox: &str) -> Result<(), BridgeError> {
        for pool in &mut self.pools {
            pool.release(sandbox)?;
        }
        Ok(())
    }

    /// Remembers ports that were published before a restart; the rules are still the kernel's.
    pub fn adopt(&mut self, sandbox: &str, mappings: &[PortMapping], addresses: &[IpNet]) -> Result<(), BridgeError> {
        Ok(self.ports.publish(sandbox, mappings, &addresses.iter().map(IpNet::addr).collect::<Vec<_>>())?)
    }

    /// Takes away what belongs to no sandbox that lives.
    pub fn reconcile(&mut self, live: &[String]) -> Result<(), BridgeError> {
        let lives = |sandbox: &str| live.iter().any(|one| one == sandbox);
        let dead: Vec<String> =
            self.ports.all().map(|port| port.sandbox.clone()).filter(|sandbox| !lives(sandbox)).collect();
        dead.iter().for_each(|sandbox| drop(self.ports.withdraw(sandbox)));
        let names: Vec<String> = live.iter().map(|sandbox| veth_name(sandbox)).collect();
        if let Some(bridge) = self.links.find(&self.settings.name)? {
            // Links that others connected to the bridge are theirs.
            let ours = |link: &Link| link.master == Some(bridge.index) && link.name.starts_with(VETH_PREFIX);
            let of_the_dead = |link: &Link| ours(link) && !names.contains(&link.name);
            let leftovers: Vec<Link> = self.links.all()?.into_iter().filter(of_the_dead).collect();
            self.links.delete_all(&leftovers.into_iter().map(|link| link.name).collect::<Vec<_>>())?;
            if !self.pools.is_empty() {
                self.install_rules()?;
            }
        }
        for pool in &mut self.pools {
            pool.retain(lives)?;
        }
        Ok(())
    }

    /// Removes the bridge and its rules; both are made again with the next sandbox.
    pub fn dismantle(&mut self) -> Result<(), BridgeError> {
        self.prepared = None;
        let name = self.settings.name.clone();
        self.tables()?.remove(&name).map_err(BridgeError::Rules)?;
        self.links.delete(&name)?;
        Ok(())
    }

    fn connect(&mut self, sandbox: &str, netns: &Path, bridge: u32, addresses: &[IpNet]) -> Result<(), BridgeError> {
        let target =
            File::open(netns).map_err(|error| NamespaceError::Enter { path: netns.to_owned(), source: error })?;
        self.links.create_veth(&VethPair {
            name: &veth_name(sandbox),
            bridge,
            mtu: self.settings.mtu,
            peer_name: INTERFACE,
            peer_mac: mac_of(addresses),
            peer_netns: target.as_fd(),
        })?;
        let mut inside = namespaces::enter(netns, Links::open)??;
        let link = inside.find(INTERFACE)?.ok_or(BridgeError::Vanished)?;
        inside.bring_up(link.index)?;
        for (address, pool) in addresses.iter().zip(&self.pools) {
            inside.add_address(link.index, *address)?;
            inside.add_default_route(link.index, pool.gateway().addr())?;
        }
        Ok(())
    }

    /// The bridge with its addresses, forwarding and the rules that do not depend on sandboxes.
    fn prepare(&mut self) -> Result<u32, BridgeError> {
        if let Some(index) = self.prepared {
            return Ok(index);
        }
        host::check_capabilities()?;
        let name = self.settings.name.clone();
        let existing = self.links.find(&name)?;
        if existing.as_ref().is_some_and(|link| link.kind != "bridge") {
            return Err(BridgeError::NotABridge(name));
        }
        let chosen = subnet::choose(self, existing.map(|link| link.index))?;
        self.open_pools(chosen)?;
        let gateways: Vec<IpNet> = self.pools.iter().map(Pool::gateway).collect();
        self.links.create_bridge(&name, mac_of(&gateways), self.settings.mtu)?;
        let bridge = self.links.find(&name)?.ok_or_else(|| BridgeError::NotABridge(name.clone()))?;
        for gateway in gateways {
            self.links.add_address(bridge.index, gateway)?;
        }
        self.links.bring_up(bridge.index)?;
        host::forward(&self.settings)?;
        self.install_rules()?;
        self.prepared = Some(bridge.index);
        Ok(bridge.index)
    }

    fn open_pools(&mut self, ipv4: Ipv4Net) -> Result<(), BridgeError> {
        let subnets = [Some(IpNet::V4(ipv4)), self.settings.ipv6.map(IpNet::V6)];
        let directories = ["ipv4", "ipv6"].map(|family| self.directory.join("addresses").join(family));
        let open = |(subnet, directory): (Option<IpNet>, PathBuf)| Some(Pool::open(&directory, subnet?));
        self.pools = subnets.into_iter().zip(directories).filter_map(open).collect::<Result<Vec<Pool>, PoolError>>()?;
        Ok(())
    }

    fn install_rules(&mut self) -> Result<(), BridgeError> {
        let subnets: Vec<IpNet> = self.pools.iter().map(|pool| pool.gateway().trunc()).collect();
        let published: Vec<_> = self.ports.all().cloned().collect();
        let chains = rules::chains(&self.settings.name, &subnets, &published);
        let name = self.settings.name.clone();
        self.tables()?.replace(&name, &chains).map_err(BridgeError::Rules)
    }

    fn tables(&mut self) -> Result<&mut Tables, BridgeError> {
        match &mut self.tables {
            Some(tables) => Ok(tables),
            empty => Ok(empty.insert(Tables::open().map_err(BridgeError::Rules)?)),
        }
    }
}

/// Whether sandboxes can be attached, as far as that can be told before one is.
pub fn check() -> Result<(), BridgeError> {
    host::check_capabilities()
}

/// UDP has no beginning: without this, packets of a known peer keep going where they went before the rules changed.
fn forget_connections<'a>(mappings: impl Iterator<Item = &'a PortMapping>) -> Result<(), BridgeError> {
    let udp: Vec<u16> =
        mappings.filter(|mapping| mapping.protocol == Protocol::Udp).map(|mapping| mapping.host_port).collect();
    if udp.is_empty() { Ok(()) } else { conntrack::forget_udp(&udp).map_err(BridgeError::Conntrack) }
}

/// Deletes the links of sandboxes; the kernel takes tens of milliseconds for it, however many they are.
pub fn delete_links(links: &mut Links, sandboxes: &[String]) -> Result<(), BridgeError> {
    let names: Vec<String> = sandboxes.iter().map(|sandbox| veth_name(sandbox)).collect();
    Ok(links.delete_all(&names)?)
}

/// The name of a sandbox's link on the host; ids are longer than names of links can be.
fn veth_name(sandbox: &str) -> String {
    // FNV-1a: a crash and an update later it must still give the same.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = sandbox.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{VETH_PREFIX}{:012x}", hash >> 16)
}

/// A hardware address that follows from the address, so that neighbours of a reused address are not confused.
fn mac_of(addresses: &[IpNet]) -> MacAddress {
    const LOCALLY_ADMINISTERED: u8 = 0x0a;
    const OURS: u8 = 0x65;
    let tail = match addresses.first().map(IpNet::addr) {
        Some(IpAddr::V4(address)) => address.octets(),
        Some(IpAddr::V6(address)) => u128::from(address).to_be_bytes()[12..].try_into().expect("four bytes"),
        None => [0; 4],
    };
    [LOCALLY_ADMINISTERED, OURS, tail[0], tail[1], tail[2], tail[3]]
}

fn check_name(name: &str) -> Result<(), BridgeError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=super::links::MAX_NAME).contains(&name.len()) && name.bytes().all(plain) {
        Ok(())
    } else {
        Err(BridgeError::Name(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_links_fit_and_differ() {
        let names: std::collections::BTreeSet<String> =
            (0..10_000).map(|number| veth_name(&format!("sandbox-{number}"))).collect();
        assert_eq!(names.len(), 10_000);
        assert!(names.iter().all(|name| name.len() == super::super::links::MAX_NAME));
    }

    #[test]
    fn only_plain_names_of_bridges_are_taken() {
        for refused in ["", "a/b", "a b", "..", "0123456789abcdef", "é"] {
            assert!(matches!(check_name(refused), Err(BridgeError::Name(_))), "{refused:?}");
        }
        check_name("eventide0").unwrap();
    }
}
