//! The fields of a message as they stand in its bytes.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::object::Fault;

/// What a field carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// A fixed number or a group; none of our messages has one.
    Other,
}

impl<'a> Payload<'a> {
    pub fn varint(self) -> Result<u64, Fault> {
        match self {
            Payload::Varint(value) => Ok(value),
            Payload::Bytes(_) | Payload::Other => Err(Fault::WrongType { expected: "a number" }),
        }
    }

    pub fn bytes(self) -> Result<&'a [u8], Fault> {
        match self {
            Payload::Bytes(bytes) => Ok(bytes),
            Payload::Varint(_) | Payload::Other => Err(Fault::WrongType { expected: "bytes with their length" }),
        }
    }
}

/// Takes the next field off the bytes: its number and what it carries.
pub fn next<'a>(rest: &mut &'a [u8]) -> Result<Option<(u32, Payload<'a>)>, Fault> {
    if rest.is_empty() {
        return Ok(None);
    }
    let (number, wire_type) = decode_key(rest).map_err(Fault::wire)?;
    let payload = match wire_type {
        WireType::Varint => Payload::Varint(varint(rest)?),
        WireType::LengthDelimited => Payload::Bytes(delimited(rest)?),
        WireType::SixtyFourBit | WireType::ThirtyTwoBit | WireType::StartGroup | WireType::EndGroup => {
            skip_field(wire_type, number, rest, DecodeContext::default()).map_err(Fault::wire)?;
            Payload::Other
        }
    };
    Ok(Some((number, payload)))
}

pub fn varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    decode_varint(rest).map_err(Fault::wire)
}

fn delimited<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Fault> {
    let length = varint(rest)?;
    let taken = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let (bytes, after) = taken.ok_or(Fault::Short { length, left: rest.len() })?;
    *rest = after;
    Ok(bytes)
}
