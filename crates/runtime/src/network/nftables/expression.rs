//! The expressions that rules are made of: loads into registers, comparisons, verdicts and translations.

use std::net::IpAddr;

use super::super::links::octets;
use super::super::netlink::{Attribute, Message};

const LIST_ELEMENT: u16 = 1;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;
const DATA_VALUE: u16 = 1;
const DATA_VERDICT: u16 = 2;
const VERDICT_CODE: u16 = 1;
const VERDICT_CHAIN: u16 = 2;

const REGISTER_VERDICT: u32 = 0;
/// Where values are loaded to be compared, and the address of a translation.
const REGISTER: u32 = 1;
/// The port of a translation.
const SECOND_REGISTER: u32 = 2;

const META_IN_NAME: u32 = 6;
const META_OUT_NAME: u32 = 7;
const META_FAMILY: u32 = 15;
const META_PROTOCOL: u32 = 16;
const PAYLOAD_NETWORK: u32 = 1;
const PAYLOAD_TRANSPORT: u32 = 2;
const FIB_ADDRESS_TYPE: u32 = 3;
const FIB_DESTINATION: u32 = 2;
const ADDRESS_TYPE_LOCAL: u32 = 2;
const CONNECTION_STATUS: u32 = 2;
const STATUS_DESTINATION_TRANSLATED: u32 = 1 << 5;
const NAT_DESTINATION: u32 = 1;
const NAME_SIZE: usize = 16;
const FAMILY_IPV4: u8 = 2;
const FAMILY_IPV6: u8 = 10;

/// Whether a value must equal or differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Is,
    IsNot,
}

/// What becomes of a packet that got this far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Drop,
    Jump(&'static str),
}

/// A condition, or what to do; conditions may be several of the kernel's expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// The packet is of the same family as the address.
    FamilyOf(IpAddr),
    /// The number of the transport protocol.
    Protocol(u8),
    InInterface(Comparison, String),
    OutInterface(Comparison, String),
    Source(Comparison, ipnet::IpNet),
    Destination(Comparison, ipnet::IpNet),
    DestinationPort(u16),
    /// The destination is one of the host's own addresses.
    DestinationIsLocal,
    /// The connection's destination was translated.
    WasTranslated,
    Then(Verdict),
    TranslateDestination(IpAddr, u16),
    Masquerade,
}

/// The kinds of a rule's expressions as the kernel names them.
pub(super) fn kinds(list: Attribute<'_>) -> Vec<String> {
    let name = |element: Attribute<'_>| {
        let name = element.inside().find(|inside| inside.kind == EXPRESSION_NAME);
        name.map(Attribute::text)
    };
    list.inside().filter_map(name).collect()
}

impl Expression {
    pub(super) fn write(&self, list: Message) -> Message {
        match self {
            Self::FamilyOf(address) => equals(meta(list, META_FAMILY), &[family(*address)]),
            Self::Protocol(number) => equals(meta(list, META_PROTOCOL), &[*number]),
            Self::InInterface(comparison, name) => compare(meta(list, META_IN_NAME), *comparison, &padded(name)),
            Self::OutInterface(comparison, name) => compare(meta(list, META_OUT_NAME), *comparison, &padded(name)),
            Self::Source(comparison, net) => {
                let offset = if net.addr().is_ipv4() { 12 } else { 8 };
                in_subnet(list, *comparison, offset, *net)
            }
            Self::Destination(comparison, net) => {
                let offset = if net.addr().is_ipv4() { 16 } else { 24 };
                in_subnet(list, *comparison, offset, *net)
            }
            Self::DestinationPort(port) => equals(payload(list, PAYLOAD_TRANSPORT, 2, 2), &port.to_be_bytes()),
            Self::DestinationIsLocal => {
                let list = expression(list, "fib", |data| {
                    number(number(number(data, 1, REGISTER), 2, FIB_ADDRESS_TYPE), 3, FIB_DESTINATION)
                });
                equals(list, &ADDRESS_TYPE_LOCAL.to_ne_bytes())
            }
            Self::WasTranslated => {
                let list = expression(list, "ct", |data| number(number(data, 1, REGISTER), 2, CONNECTION_STATUS));
                let list = mask(list, &STATUS_DESTINATION_TRANSLATED.to_ne_bytes());
                compare(list, Comparison::IsNot, &[0; 4])
            }
            Self::Then(verdict) => expression(list, "immediate", |data| verdict.write(data)),
            Self::TranslateDestination(address, port) => translate(list, *address, *port),
            Self::Masquerade => expression(list, "masq", |data| data),
        }
    }
}

impl Verdict {
    fn write(self, data: Message) -> Message {
        const JUMP: i32 = -3;
        let (code, chain) = match self {
            Self::Drop => (0i32, None),
            Self::Jump(chain) => (JUMP, Some(chain)),
        };
        let data = number(data, 1, REGISTER_VERDICT);
        data.nested(2, |value| {
            value.nested(DATA_VERDICT, |verdict| {
                let verdict = verdict.attribute(VERDICT_CODE, &code.to_be_bytes());
                chain.into_iter().fold(verdict, |verdict, chain| verdict.text(VERDICT_CHAIN, chain))
            })
        })
    }
}

fn expression(list: Message, name: &str, content: impl FnOnce(Message) -> Message) -> Message {
    list.nested(LIST_ELEMENT, |element| element.text(EXPRESSION_NAME, name).nested(EXPRESSION_DATA, content))
}

/// All numbers of nf_tables are in the network's order.
fn number(message: Message, kind: u16, value: u32) -> Message {
    message.attribute(kind, &value.to_be_bytes())
}

fn value(message: Message, kind: u16, bytes: &[u8]) -> Message {
    message.nested(kind, |data| data.attribute(DATA_VALUE, bytes))
}

fn meta(list: Message, key: u32) -> Message {
    expression(list, "meta", |data| number(number(data, 1, REGISTER), 2, key))
}

fn payload(list: Message, base: u32, offset: u32, length: u32) -> Message {
    expression(list, "payload", |data| number(number(number(number(data, 1, REGISTER), 2, base), 3, offset), 4, length))
}

fn equals(list: Message, bytes: &[u8]) -> Message {
    compare(list, Comparison::Is, bytes)
}

fn compare(list: Message, comparison: Comparison, bytes: &[u8]) -> Message {
    let operation = match comparison {
        Comparison::Is => 0,
        Comparison::IsNot => 1,
    };
    expression(list, "cmp", |data| value(number(number(data, 1, REGISTER), 2, operation), 3, bytes))
}

/// Clears all bits of the register but these.
fn mask(list: Message, bits: &[u8]) -> Message {
    let length = u32::try_from(bits.len()).expect("registers are short");
    expression(list, "bitwise", |data| {
        let data = number(number(number(data, 1, REGISTER), 2, REGISTER), 3, length);
        value(value(data, 4, bits), 5, &vec![0; bits.len()])
    })
}

fn in_subnet(list: Message, comparison: Comparison, offset: u32, net: ipnet::IpNet) -> Message {
    let list = equals(meta(list, META_FAMILY), &[family(net.addr())]);
    let network = octets(net.network());
    let length = u32::try_from(network.len()).expect("addresses are short");
    let list = payload(list, PAYLOAD_NETWORK, offset, length);
    compare(mask(list, &octets(net.netmask())), comparison, &network)
}

fn translate(list: Message, address: IpAddr, port: u16) -> Message {
    let list = expression(list, "immediate", |data| value(number(data, 1, REGISTER), 2, &octets(address)));
    let list = expression(list, "immediate", |data| value(number(data, 1, SECOND_REGISTER), 2, &port.to_be_bytes()));
    expression(list, "nat", |data| {
        let data = number(number(data, 1, NAT_DESTINATION), 2, u32::from(family(address)));
        number(number(data, 3, REGISTER), 5, SECOND_REGISTER)
    })
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { FAMILY_IPV4 } else { FAMILY_IPV6 }
}

fn padded(name: &str) -> [u8; NAME_SIZE] {
    let mut bytes = [0; NAME_SIZE];
    let length = name.len().min(NAME_SIZE - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}
