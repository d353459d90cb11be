//! Frames from bytes, however the bytes are cut. At most one control frame is kept; data is passed on as it comes.

use bytes::Bytes;

use super::headers::Unpacker;
use super::{
    CONTROL_BYTES_MAX, FLAG_FIN, FLAG_UNIDIRECTIONAL, Fin, Frame, GOAWAY, HEADERS, ID_MASK, PING, RST_STREAM, SETTINGS,
    SYN_REPLY, SYN_STREAM, VERSION, WINDOW_UPDATE, Ways,
};

/// Why what a peer sent is no SPDY/3.1. The connection is of no use afterwards.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SpdyError {
    #[error("a control frame has version {0} instead of 3")]
    Version(u16),
    #[error("a control frame of type {kind} has {length} bytes, too many")]
    TooLong { kind: u16, length: usize },
    #[error("a control frame of type {0} has the wrong length")]
    WrongLength(u16),
    #[error("a frame belongs to stream 0")]
    StreamZero,
    #[error("headers are malformed: {0}")]
    Headers(&'static str),
    #[error("a window is opened too far")]
    Window,
    #[error("it asks much and does not read the answers")]
    Unread,
    #[error("the connection failed before")]
    Failed,
}

const HEAD: usize = 8;

/// Where in a frame the bytes are.
enum Place {
    /// Before its payload.
    Head,
    Control {
        kind: u16,
        flags: u8,
        length: usize,
    },
    /// A control frame of a kind that nobody knows, which is passed over.
    Unknown {
        left: usize,
    },
    Data {
        id: u32,
        fin: Fin,
        left: usize,
    },
    Failed,
}

/// Turns bytes into frames.
pub struct Decoder {
    place: Place,
    kept: Vec<u8>,
    headers: Unpacker,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { place: Place::Head, kept: Vec::new(), headers: Unpacker::new() }
    }
}

impl Decoder {
    /// The frames that these bytes complete, and the data in them. After an error there is nothing more to be had.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Frame>, SpdyError> {
        let mut frames = Vec::new();
        while let Some(rest) = self.step(bytes, &mut frames).inspect_err(|_| self.place = Place::Failed)? {
            bytes = rest;
        }
        Ok(frames)
    }

    /// Goes on by one place; the bytes that are left, or none if more are needed.
    fn step<'b>(&mut self, bytes: &'b [u8], frames: &mut Vec<Frame>) -> Result<Option<&'b [u8]>, SpdyError> {
        match self.place {
            Place::Failed => Err(SpdyError::Failed),
            Place::Head => {
                let Some((head, rest)) = self.keep(bytes, HEAD) else { return Ok(None) };
                self.place = place_after(&head)?;
                if let Place::Data { id, fin, left: 0 } = self.place {
                    frames.push(Frame::Data { id, fin, bytes: Bytes::new() });
                    self.place = Place::Head;
                }
                Ok(Some(rest))
            }
            Place::Control { kind, flags, length } => {
                let Some((payload, rest)) = self.keep(bytes, length) else { return Ok(None) };
                frames.push(self.control(kind, flags, &payload)?);
                self.place = Place::Head;
                Ok(Some(rest))
            }
            Place::Unknown { left } => {
                let passed = left.min(bytes.len());
                self.place = if passed == left { Place::Head } else { Place::Unknown { left: left - passed } };
                Ok((passed == left).then_some(&bytes[passed..]))
            }
            Place::Data { .. } if bytes.is_empty() => Ok(None),
            Place::Data { id, fin, left } => {
                let (piece, rest) = bytes.split_at(left.min(bytes.len()));
                let left = left - piece.len();
                let last = if left == 0 { fin } else { Fin::More };
                frames.push(Frame::Data { id, fin: last, bytes: Bytes::copy_from_slice(piece) });
                self.place = if left == 0 { Place::Head } else { Place::Data { id, fin, left } };
                Ok(Some(rest))
            }
        }
    }

    /// Collects this many bytes; what is left of the new ones beside them.
    fn keep<'b>(&mut self, bytes: &'b [u8], wanted: usize) -> Option<(Vec<u8>, &'b [u8])> {
        let (taken, rest) = bytes.split_at(wanted.saturating_sub(self.kept.len()).min(bytes.len()));
        self.kept.extend_from_slice(taken);
        (self.kept.len() == wanted).then(|| (std::mem::take(&mut self.kept), rest))
    }

    fn control(&mut self, kind: u16, flags: u8, payload: &[u8]) -> Result<Frame, SpdyError> {
        let wrong = SpdyError::WrongLength(kind);
        let fin = fin_of(flags);
        Ok(match kind {
            SYN_STREAM => {
                let (head, block) = payload.split_first_chunk::<10>().ok_or(wrong)?;
                let headers = self.headers.unpack(block)?;
                let ways = if flags & FLAG_UNIDIRECTIONAL == 0 { Ways::Both } else { Ways::OpenerOnly };
                let (id, associated) = (stream_id(word(head, 0))?, word(head, 4) & ID_MASK);
                Frame::SynStream { id, associated, priority: head[8] >> 5, fin, ways, headers }
            }
            SYN_REPLY | HEADERS => {
                let (head, block) = payload.split_first_chunk::<4>().ok_or(wrong)?;
                let headers = self.headers.unpack(block)?;
                let id = stream_id(word(head, 0))?;
                if kind == SYN_REPLY {
                    Frame::SynReply { id, fin, headers }
                } else {
                    Frame::Headers { id, fin, headers }
                }
            }
            RST_STREAM => {
                let payload: &[u8; 8] = payload.try_into().map_err(|_| wrong)?;
                Frame::RstStream { id: stream_id(word(payload, 0))?, status: word(payload, 4) }
            }
            SETTINGS => settings(payload).ok_or(wrong)?,
            PING => Frame::Ping(u32::from_be_bytes(payload.try_into().map_err(|_| wrong)?)),
            GOAWAY => {
                let payload: &[u8; 8] = payload.try_into().map_err(|_| wrong)?;
                Frame::GoAway { last: word(payload, 0) & ID_MASK, status: word(payload, 4) }
            }
            // Of the other kinds none is ever collected.
            _ => {
                let payload: &[u8; 8] = payload.try_into().map_err(|_| wrong)?;
                Frame::WindowUpdate { id: word(payload, 0) & ID_MASK, delta: word(payload, 4) & ID_MASK }
            }
        })
    }
}

fn place_after(head: &[u8]) -> Result<Place, SpdyError> {
    let (first, flags) = (word(head, 0), head[4]);
    let length = (word(head, 4) & 0x00ff_ffff) as usize;
    if first & !ID_MASK == 0 {
        return Ok(Place::Data { id: stream_id(first)?, fin: fin_of(flags), left: length });
    }
    let [a, b, c, d] = first.to_be_bytes();
    let (version, kind) = (u16::from_be_bytes([a & 0x7f, b]), u16::from_be_bytes([c, d]));
    if version != VERSION {
        return Err(SpdyError::Version(version));
    }
    if length > CONTROL_BYTES_MAX {
        return Err(SpdyError::TooLong { kind, length });
    }
    match kind {
        SYN_STREAM | SYN_REPLY | RST_STREAM | SETTINGS | PING | GOAWAY | HEADERS | WINDOW_UPDATE => {
            Ok(Place::Control { kind, flags, length })
        }
        _ => Ok(Place::Unknown { left: length }),
    }
}

fn settings(payload: &[u8]) -> Option<Frame> {
    let (count, entries) = payload.split_first_chunk::<4>()?;
    let (entries, rest) = entries.as_chunks::<8>();
    let fits = rest.is_empty() && entries.len() == u32::from_be_bytes(*count) as usize;
    // The first byte of an entry has flags about keeping it.
    fits.then(|| Frame::Settings(entries.iter().map(|entry| (word(entry, 0) & 0x00ff_ffff, word(entry, 4))).collect()))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn stream_id(word: u32) -> Result<u32, SpdyError> {
    let id = word & ID_MASK;
    if id == 0 { Err(SpdyError::StreamZero) } else { Ok(id) }
}

fn fin_of(flags: u8) -> Fin {
    if flags & FLAG_FIN == 0 { Fin::More } else { Fin::Last }
}
