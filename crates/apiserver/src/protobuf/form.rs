//! The messages that JSON tells in a way of their own: times, quantities, numbers that may be texts, embedded JSON.

use jiff::Timestamp;
use model::manifest::{Format, Limits, body};
use prost::Message;
use serde_json::Value;

use super::object::Fault;

/// The first second of the year 0; the last one of 9999 is also the last one of [`Timestamp`].
const FIRST_SECOND: i64 = -62_167_219_200;
/// The first second of the year 1, which is Go's zero time: no time at all.
const NO_TIME: i64 = -62_135_596_800;
const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_MICRO: i32 = 1_000;

#[derive(Clone, Copy, PartialEq, Message)]
struct Moment {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(string, tag = "1")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct Choice {
    #[prost(int64, tag = "1")]
    which: i64,
    #[prost(int32, tag = "2")]
    number: i32,
    #[prost(string, tag = "3")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct Raw {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}

/// A time in whole seconds, whatever else was sent: JSON clients could not read more back.
pub fn time(bytes: &[u8]) -> Result<Option<Value>, Fault> {
    let Moment { seconds, nanos: _ } = decode(bytes)?;
    written(bytes, Moment { seconds, nanos: 0 }, "%Y-%m-%dT%H:%M:%SZ")
}

pub fn micro_time(bytes: &[u8]) -> Result<Option<Value>, Fault> {
    let Moment { seconds, nanos } = decode(bytes)?;
    let nanos = nanos / NANOS_PER_MICRO * NANOS_PER_MICRO;
    written(bytes, Moment { seconds, nanos }, "%Y-%m-%dT%H:%M:%S.%6fZ")
}

fn written(bytes: &[u8], moment: Moment, format: &str) -> Result<Option<Value>, Fault> {
    if bytes.is_empty() || moment == (Moment { seconds: NO_TIME, nanos: 0 }) {
        return Ok(None);
    }
    let seconds = moment.seconds;
    let nanos = i128::from(seconds) * NANOS_PER_SECOND + i128::from(moment.nanos);
    let timestamp = Timestamp::from_nanosecond(nanos).ok();
    let timestamp = timestamp.filter(|timestamp| timestamp.as_second() >= FIRST_SECOND);
    let timestamp = timestamp.ok_or(Fault::NoTime { seconds })?;
    Ok(Some(timestamp.strftime(format).to_string().into()))
}

/// A quantity as it was written; one that says nothing is zero.
pub fn quantity(bytes: &[u8]) -> Result<Value, Fault> {
    let Text { text } = decode(bytes)?;
    Ok(if text.is_empty() { "0".into() } else { text.into() })
}

pub fn int_or_string(bytes: &[u8]) -> Result<Value, Fault> {
    let choice: Choice = decode(bytes)?;
    match choice.which {
        0 => Ok(choice.number.into()),
        1 => Ok(choice.text.into()),
        other => Err(Fault::NeitherNumberNorText(other)),
    }
}

/// JSON inside protobuf, read as a body of its own; `null` is as if there were none.
pub fn embedded(bytes: &[u8], limits: &Limits) -> Result<Option<Value>, Fault> {
    let Raw { bytes } = decode(bytes)?;
    if matches!(bytes.trim_ascii(), b"" | b"null") {
        return Ok(None);
    }
    let read = body::read(&bytes, Format::Json, limits).map_err(|error| Fault::Embedded(error.to_string()))?;
    Ok(Some(read.value))
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Fault> {
    M::decode(bytes).map_err(Fault::wire)
}
