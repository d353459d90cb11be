//! Links, addresses and routes, over rtnetlink: the few requests that a bridge with veth pairs needs.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use ipnet::IpNet;
use rustix::io::Errno;

use super::netlink::{Answer, Attribute, CREATE, EXCLUSIVE, Family, Message, REPLACE, Socket, attributes};

const NEW_LINK: u16 = 16;
const DELETE_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const SET_LINK: u16 = 19;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;

const LINK_ADDRESS: u16 = 1;
const LINK_NAME: u16 = 3;
const LINK_MTU: u16 = 4;
const LINK_MASTER: u16 = 10;
const LINK_PORT: u16 = 12;
const LINK_INFO: u16 = 18;
const LINK_STATS64: u16 = 23;
const LINK_GROUP: u16 = 27;
const LINK_NETNS: u16 = 28;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const PORT_HAIRPIN: u16 = 4;
const FLAG_UP: u32 = 1;
const LINK_HEADER: usize = 16;

const ADDRESS_ADDRESS: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const ADDRESS_FLAG_NO_DUPLICATE_DETECTION: u8 = 2;

const ROUTE_DESTINATION: u16 = 1;
const ROUTE_INTERFACE: u16 = 4;
const ROUTE_GATEWAY: u16 = 5;
const ROUTE_HEADER: usize = 12;
const TABLE_MAIN: u8 = 254;
const PROTOCOL_STATIC: u8 = 4;
const TYPE_UNICAST: u8 = 1;

const FAMILY_IPV4: u8 = 2;
const FAMILY_IPV6: u8 = 10;
const FAMILY_BRIDGE: u8 = 7;

/// The group of links that are to be deleted and nothing else.
const CONDEMNED: u32 = 0x4556_4e54;

/// The longest name of a link.
pub const MAX_NAME: usize = 15;

pub type MacAddress = [u8; 6];

#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct LinkError {
    action: String,
    pub source: io::Error,
}

/// A link as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    /// `bridge`, `veth`…; empty for hardware.
    pub kind: String,
    /// The bridge that the link is a port of.
    pub master: Option<u32>,
    pub is_loopback: bool,
    pub counters: Counters,
}

/// What has passed through a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub rx_bytes: u64,
    pub rx_errors: u64,
    pub tx_bytes: u64,
    pub tx_errors: u64,
}

/// A way to somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub destination: IpNet,
    pub interface: Option<u32>,
}

/// A pair of links: one a port of the bridge here, its peer in another namespace.
#[derive(Debug)]
pub struct VethPair<'a> {
    pub name: &'a str,
    pub bridge: u32,
    pub mtu: Option<u32>,
    pub peer_name: &'a str,
    pub peer_mac: MacAddress,
    pub peer_netns: BorrowedFd<'a>,
}

/// The links of one network namespace.
#[derive(Debug)]
pub struct Links {
    socket: Socket,
}

/// Brings up the loopback of the calling thread's namespace.
pub fn bring_loopback_up() -> Result<(), LinkError> {
    // The kernel gives the loopback of every namespace the first number.
    const LOOPBACK: u32 = 1;
    Links::open()?.bring_up(LOOPBACK)
}

impl Links {
    /// Those of the calling thread's namespace, for as long as the value lives.
    pub fn open() -> Result<Self, LinkError> {
        let socket = Socket::open(Family::Route)
            .map_err(|source| LinkError { action: "a netlink socket cannot be opened".to_owned(), source })?;
        Ok(Self { socket })
    }

    pub fn all(&mut self) -> Result<Vec<Link>, LinkError> {
        let answers = self.dump("the links cannot be listed", Message::new(GET_LINK, 0).fixed(&link_header(0, 0)))?;
        Ok(answers.iter().filter_map(link_of).collect())
    }

    pub fn find(&mut self, name: &str) -> Result<Option<Link>, LinkError> {
        Ok(self.all()?.into_iter().find(|link| link.name == name))
    }

    pub fn bring_up(&mut self, index: u32) -> Result<(), LinkError> {
        let message = Message::new(NEW_LINK, 0).fixed(&link_header(index, FLAG_UP));
        self.request(|| format!("the link {index} cannot be brought up"), message)
    }

    /// Makes a bridge with a fixed address of its own: one that followed its ports' would confuse their neighbours.
    /// Says whether it was not there.
    pub fn create_bridge(&mut self, name: &str, mac: MacAddress, mtu: Option<u32>) -> Result<bool, LinkError> {
        let message = Message::new(NEW_LINK, CREATE | EXCLUSIVE)
            .fixed(&link_header(0, FLAG_UP))
            .text(LINK_NAME, name)
            .attribute(LINK_ADDRESS, &mac);
        let message = with_mtu(message, mtu).nested(LINK_INFO, |info| info.text(INFO_KIND, "bridge"));
        let made = self.request(|| format!("the bridge {name} cannot be made"), message);
        Ok(unless(made, Errno::EXIST)?.is_some())
    }

    /// Makes both links, names, places and connects them, all in one request: no crash leaves a part of it. The peer is
    /// still down, for the kernel starts no link before its peer is known.
    pub fn create_veth(&mut self, pair: &VethPair<'_>) -> Result<(), LinkError> {
        let peer = |message: Message| {
            let peer = message
                .fixed(&link_header(0, 0))
                .text(LINK_NAME, pair.peer_name)
                .attribute(LINK_ADDRESS, &pair.peer_mac)
                .attribute(LINK_NETNS, &pair.peer_netns.as_raw_fd().to_ne_bytes());
            with_mtu(peer, pair.mtu)
        };
        let message = Message::new(NEW_LINK, CREATE | EXCLUSIVE)
            .fixed(&link_header(0, FLAG_UP))
            .text(LINK_NAME, pair.name)
            .attribute(LINK_MASTER, &pair.bridge.to_ne_bytes());
        let message = with_mtu(message, pair.mtu).nested(LINK_INFO, |info| {
            info.text(INFO_KIND, "veth").nested(INFO_DATA, |data| data.nested(VETH_PEER, peer))
        });
        self.request(|| format!("the veth pair {} cannot be made", pair.name), message)
    }

    /// Deletes a link, with its peer when it has one; says whether it was there.
    pub fn delete(&mut self, name: &str) -> Result<bool, LinkError> {
        let message = Message::new(DELETE_LINK, 0).fixed(&link_header(0, 0)).text(LINK_NAME, name);
        let deleted = self.request(|| format!("the link {name} cannot be deleted"), message);
        Ok(unless(deleted, Errno::NODEV)?.is_some())
    }

    /// Deletes links together, in the time that one takes: the kernel waits for all packets on their way only once.
    /// Those that are not there are no error.
    pub fn delete_all(&mut self, names: &[String]) -> Result<(), LinkError> {
        for name in names {
            let message = Message::new(NEW_LINK, 0)
                .fixed(&link_header(0, 0))
                .text(LINK_NAME, name)
                .attribute(LINK_GROUP, &CONDEMNED.to_ne_bytes());
            let condemned = self.request(|| format!("the link {name} cannot be set apart"), message);
            unless(condemned, Errno::NODEV)?;
        }
        let message =
            Message::new(DELETE_LINK, 0).fixed(&link_header(0, 0)).attribute(LINK_GROUP, &CONDEMNED.to_ne_bytes());
        let deleted = self.request(|| format!("the links {} cannot be deleted", names.join(", ")), message);
        unless(deleted, Errno::NODEV)?;
        Ok(())
    }

    /// Lets a port of a bridge get back what came from it, as when a sandbox asks for its own port of the host.
    pub fn allow_hairpin(&mut self, index: u32) -> Result<(), LinkError> {
        let mut header = link_header(index, 0);
        header[0] = FAMILY_BRIDGE;
        let message =
            Message::new(SET_LINK, 0).fixed(&header).nested(LINK_PORT, |port| port.attribute(PORT_HAIRPIN, &[1]));
        self.request(|| format!("the link {index} cannot be a hairpin"), message)
    }

    /// Gives a link an address; one that it has already stays.
    pub fn add_address(&mut self, index: u32, address: IpNet) -> Result<(), LinkError> {
        let octets = octets(address.addr());
        let mut header = vec![family(address.addr()), address.prefix_len(), ADDRESS_FLAG_NO_DUPLICATE_DETECTION, 0];
        header.extend_from_slice(&index.to_ne_bytes());
        let message = Message::new(NEW_ADDRESS, CREATE | REPLACE)
            .fixed(&header)
            .attribute(ADDRESS_LOCAL, &octets)
            .attribute(ADDRESS_ADDRESS, &octets);
        self.request(|| format!("the link {index} cannot have the address {address}"), message)
    }

    pub fn add_default_route(&mut self, index: u32, gateway: IpAddr) -> Result<(), LinkError> {
        let header = [family(gateway), 0, 0, 0, TABLE_MAIN, PROTOCOL_STATIC, 0, TYPE_UNICAST, 0, 0, 0, 0];
        let message = Message::new(NEW_ROUTE, CREATE | REPLACE)
            .fixed(&header)
            .attribute(ROUTE_GATEWAY, &octets(gateway))
            .attribute(ROUTE_INTERFACE, &index.to_ne_bytes());
        self.request(|| format!("there can be no default route by {gateway}"), message)
    }

    /// The routes of the main table, without default routes.
    pub fn routes(&mut self) -> Result<Vec<Route>, LinkError> {
        let message = Message::new(GET_ROUTE, 0).fixed(&[0; ROUTE_HEADER]);
        let answers = self.dump("the routes cannot be listed", message)?;
        Ok(answers.iter().filter_map(route_of).collect())
    }

    fn request(&mut self, action: impl FnOnce() -> String, message: Message) -> Result<(), LinkError> {
        self.socket.request(message).map_err(|source| LinkError { action: action(), source })
    }

    fn dump(&mut self, action: &str, message: Message) -> Result<Vec<Answer>, LinkError> {
        self.socket.dump(message).map_err(|source| LinkError { action: action.to_owned(), source })
    }
}

impl LinkError {
    pub fn is(&self, errno: Errno) -> bool {
        self.source.raw_os_error() == Some(errno.raw_os_error())
    }
}

fn unless(result: Result<(), LinkError>, harmless: Errno) -> Result<Option<()>, LinkError> {
    match result {
        Ok(()) => Ok(Some(())),
        Err(error) if error.is(harmless) => Ok(None),
        Err(error) => Err(error),
    }
}

fn with_mtu(message: Message, mtu: Option<u32>) -> Message {
    match mtu {
        Some(mtu) => message.attribute(LINK_MTU, &mtu.to_ne_bytes()),
        None => message,
    }
}

fn link_header(index: u32, flags: u32) -> [u8; LINK_HEADER] {
    let mut header = [0; LINK_HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    // Which flags to change.
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => FAMILY_IPV4,
        IpAddr::V6(_) => FAMILY_IPV6,
    }
}

/// An address as it goes over the wire.
pub fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn link_of(answer: &Answer) -> Option<Link> {
    const LOOPBACK_FLAG: u32 = 8;
    let header = answer.payload.first_chunk::<LINK_HEADER>()?;
    let flags = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
    let mut link = Link {
        index: u32::from_ne_bytes([header[4], header[5], header[6], header[7]]),
        name: String::new(),
        kind: String::new(),
        master: None,
        is_loopback: flags & LOOPBACK_FLAG != 0,
        counters: Counters::default(),
    };
    for attribute in attributes(&answer.payload[LINK_HEADER..]) {
        match attribute.kind {
            LINK_NAME => link.name = attribute.text(),
            LINK_MASTER => link.master = attribute.number(),
            LINK_STATS64 => link.counters = counters_of(attribute.value),
            LINK_INFO => {
                let kind = attribute.inside().find(|inside| inside.kind == INFO_KIND);
                link.kind = kind.map(Attribute::text).unwrap_or_default();
            }
            _ => {}
        }
    }
    Some(link)
}

/// The kernel's structure begins: packets, bytes, errors, each received and then sent.
fn counters_of(value: &[u8]) -> Counters {
    let number = |at: usize| {
        let bytes = value.get(at * 8..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    Counters { rx_bytes: number(2), tx_bytes: number(3), rx_errors: number(4), tx_errors: number(5) }
}

fn route_of(answer: &Answer) -> Option<Route> {
    let header = answer.payload.first_chunk::<ROUTE_HEADER>()?;
    let (family, length, table) = (header[0], header[1], header[4]);
    let find = |kind: u16| attributes(&answer.payload[ROUTE_HEADER..]).find(|attribute| attribute.kind == kind);
    let destination = find(ROUTE_DESTINATION)?.value;
    let address: IpAddr = match family {
        FAMILY_IPV4 => destination.first_chunk::<4>().copied()?.into(),
        FAMILY_IPV6 => destination.first_chunk::<16>().copied()?.into(),
        _ => return None,
    };
    let destination = IpNet::new(address, length).ok()?;
    (table == TABLE_MAIN).then(|| Route { destination, interface: find(ROUTE_INTERFACE).and_then(Attribute::number) })
}
