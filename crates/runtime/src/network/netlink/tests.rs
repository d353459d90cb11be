//! What is written is read back, and nothing that is cut short is believed.

use super::*;

#[test]
fn attributes_are_read_back_as_they_were_written() {
    let message = Message::new(7, CREATE)
        .fixed(&[1, 2, 3, 4])
        .text(1, "eth0")
        .nested(2, |inside| inside.attribute(3, &[9]).nested(4, |deep| deep.attribute(5, &7u32.to_ne_bytes())));
    let bytes = message.finish(42);
    let received = split(&bytes);
    let [(42, answer)] = received.as_slice() else { panic!("{received:?}") };
    assert_eq!(answer.kind, 7);
    let outer: Vec<Attribute<'_>> = attributes(&answer.payload[4..]).collect();
    assert_eq!(outer[0].text(), "eth0");
    let inner: Vec<Attribute<'_>> = outer[1].inside().collect();
    assert_eq!((inner[0].kind, inner[0].value), (3, &[9][..]));
    assert_eq!(inner[1].inside().next().and_then(Attribute::number), Some(7));
}

#[test]
fn every_prefix_of_a_message_is_read_without_harm() {
    let bytes = Message::new(7, 0).nested(1, |inside| inside.text(2, "some text")).finish(1);
    for length in 0..bytes.len() {
        assert!(split(&bytes[..length]).is_empty(), "a message cut at {length} was believed");
        let _ = attributes(&bytes[..length]).count();
    }
}

#[test]
fn a_length_of_zero_ends_the_reading() {
    assert!(split(&[0; 64]).is_empty());
    assert_eq!(attributes(&[0; 64]).count(), 0);
}

#[test]
fn the_kernels_refusal_is_the_systems_error() {
    let mut socket = Socket::open(Family::Route).unwrap();
    let refused = socket.request(Message::new(u16::MAX - 1, 0).fixed(&[0; 4])).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(Errno::OPNOTSUPP.raw_os_error()));
}

#[test]
fn a_dump_ends_by_itself_and_can_be_repeated() {
    const GET_LINK: u16 = 18;
    let mut socket = Socket::open(Family::Route).unwrap();
    for _ in 0..2 {
        let links = socket.dump(Message::new(GET_LINK, 0).fixed(&[0; 16])).unwrap();
        assert!(!links.is_empty(), "every network namespace has a loopback");
    }
}
