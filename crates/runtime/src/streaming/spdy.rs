//! SPDY/3.1, as much of it as Kubernetes clients use: many streams over one connection that was HTTP/1.1 before.
//!
//! [`Decoder`] and [`Encoder`] turn bytes into frames and back and know nothing of sockets; [`Connection`] drives them.
//! What streams mean is not decided here.

mod connection;
mod credit;
mod decode;
mod dictionary;
mod encode;
mod headers;
#[cfg(test)]
mod tests;
mod window;

use bytes::Bytes;

pub use connection::{Connection, Opened, Stream};
pub use decode::{Decoder, SpdyError};
pub use encode::Encoder;
pub use headers::Headers;

/// A control frame with more bytes than this is refused. Data frames may have any length: they are passed on in pieces.
pub const CONTROL_BYTES_MAX: usize = 64 * 1024;
/// A header block with more bytes than this, unpacked, is refused.
pub const HEADER_BYTES_MAX: usize = 64 * 1024;
/// A header block with more headers than this is refused.
pub const HEADERS_MAX: usize = 100;
/// How much either end may send before the other gives it more room, per stream and in all, unless settings say more.
pub const INITIAL_WINDOW_BYTES: i64 = 64 * 1024;

/// The version in control frames.
const VERSION: u16 = 3;
/// Ids have 31 bits.
const ID_MASK: u32 = 0x7fff_ffff;
/// Flag of the last frame in a direction.
const FLAG_FIN: u8 = 0x01;
/// Flag of a stream that the receiver must not write to.
const FLAG_UNIDIRECTIONAL: u8 = 0x02;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const SETTINGS: u16 = 4;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;
const WINDOW_UPDATE: u16 = 9;

/// The setting that changes the first window of streams.
pub const SETTING_INITIAL_WINDOW: u32 = 7;

/// Whether more comes in this direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fin {
    More,
    Last,
}

/// Who may write to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    Both,
    OpenerOnly,
}

/// One frame. A data frame on the wire may become several of these, of which only the last carries its `fin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    SynStream { id: u32, associated: u32, priority: u8, fin: Fin, ways: Ways, headers: Headers },
    SynReply { id: u32, fin: Fin, headers: Headers },
    RstStream { id: u32, status: u32 },
    Settings(Vec<(u32, u32)>),
    Ping(u32),
    GoAway { last: u32, status: u32 },
    Headers { id: u32, fin: Fin, headers: Headers },
    WindowUpdate { id: u32, delta: u32 },
    Data { id: u32, fin: Fin, bytes: Bytes },
}

/// Reasons to reset a stream that are used here.
pub mod reset {
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const INVALID_STREAM: u32 = 2;
    pub const REFUSED_STREAM: u32 = 3;
    pub const CANCEL: u32 = 5;
    pub const FLOW_CONTROL_ERROR: u32 = 7;
}

/// Reasons to end a connection.
pub mod go_away {
    pub const OK: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
}
