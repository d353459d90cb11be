//! Tracked connections: forgetting UDP ones whose translation has changed.

use std::io;

use rustix::io::Errno;

use super::netlink::{Attribute, Family, Message, Socket, attributes};

const SUBSYSTEM: u16 = 1;
const GET: u16 = (SUBSYSTEM << 8) | 1;
const DELETE: u16 = (SUBSYSTEM << 8) | 2;
const HEADER: usize = 4;
const ORIGINAL: u16 = 1;
const ZONE: u16 = 18;
const TUPLE_PROTOCOL: u16 = 2;
const PROTOCOL_NUMBER: u16 = 1;
const PROTOCOL_DESTINATION_PORT: u16 = 3;
const UDP: u8 = 17;

/// Forgets every UDP connection that was opened to one of these ports.
pub fn forget_udp(ports: &[u16]) -> io::Result<()> {
    let mut socket = Socket::open(Family::Netfilter)?;
    for answer in socket.dump(Message::new(GET, 0).fixed(&[0; HEADER]))? {
        let (Some(family), Some(payload)) = (answer.payload.first(), answer.payload.get(HEADER..)) else { continue };
        let Some(original) = attributes(payload).find(|attribute| attribute.kind == ORIGINAL) else { continue };
        if !leads_to(original, ports) {
            continue;
        }
        // The parts are copied as the kernel wrote them, nesting marks aside, which it does not ask for.
        let mut delete =
            Message::new(DELETE, 0).fixed(&[*family, 0, 0, 0]).nested(ORIGINAL, |tuple| tuple.fixed(original.value));
        if let Some(zone) = attributes(payload).find(|attribute| attribute.kind == ZONE) {
            delete = delete.attribute(ZONE, zone.value);
        }
        match socket.request(delete) {
            Err(error) if error.raw_os_error() != Some(Errno::NOENT.raw_os_error()) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn leads_to(original: Attribute<'_>, ports: &[u16]) -> bool {
    let Some(protocol) = original.inside().find(|inside| inside.kind == TUPLE_PROTOCOL) else { return false };
    let find = |kind: u16| protocol.inside().find(|inside| inside.kind == kind).map(|found| found.value);
    let port =
        find(PROTOCOL_DESTINATION_PORT).and_then(|value| value.first_chunk()).map(|port| u16::from_be_bytes(*port));
    find(PROTOCOL_NUMBER) == Some(&[UDP]) && port.is_some_and(|port| ports.contains(&port))
}
