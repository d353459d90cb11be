//! Bytes from frames.

use super::headers::Packer;
use super::{
    FLAG_FIN, FLAG_UNIDIRECTIONAL, Fin, Frame, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, SYN_REPLY, SYN_STREAM,
    VERSION, WINDOW_UPDATE, Ways,
};

/// Turns frames into bytes.
pub struct Encoder(Packer);

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder(Packer::new())
    }
}

impl Encoder {
    /// Appends a frame. Frames must be encoded in the order in which they are sent: header blocks depend on each other.
    pub fn encode(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::SynStream { id, associated, priority, fin, ways, headers } => {
                let way = if *ways == Ways::OpenerOnly { FLAG_UNIDIRECTIONAL } else { 0 };
                let mut payload = words(&[*id, *associated]);
                payload.extend_from_slice(&[priority << 5, 0]);
                payload.extend(self.0.pack(headers));
                control(out, SYN_STREAM, flag(*fin) | way, &payload);
            }
            Frame::SynReply { id, fin, headers } => {
                let payload = [words(&[*id]), self.0.pack(headers)].concat();
                control(out, SYN_REPLY, flag(*fin), &payload);
            }
            Frame::Headers { id, fin, headers } => {
                let payload = [words(&[*id]), self.0.pack(headers)].concat();
                control(out, HEADERS, flag(*fin), &payload);
            }
            Frame::RstStream { id, status } => control(out, RST_STREAM, 0, &words(&[*id, *status])),
            Frame::Settings(entries) => {
                let mut payload = words(&[u32::try_from(entries.len()).unwrap_or(u32::MAX)]);
                entries.iter().for_each(|(id, value)| payload.extend(words(&[*id, *value])));
                control(out, SETTINGS, 0, &payload);
            }
            Frame::Ping(id) => control(out, PING, 0, &words(&[*id])),
            Frame::GoAway { last, status } => control(out, GOAWAY, 0, &words(&[*last, *status])),
            Frame::WindowUpdate { id, delta } => control(out, WINDOW_UPDATE, 0, &words(&[*id, *delta])),
            Frame::Data { id, fin, bytes } => {
                out.extend_from_slice(&id.to_be_bytes());
                out.extend_from_slice(&flags_and_length(flag(*fin), bytes.len()));
                out.extend_from_slice(bytes);
            }
        }
    }
}

fn control(out: &mut Vec<u8>, kind: u16, flags: u8, payload: &[u8]) {
    out.extend_from_slice(&(0x8000 | VERSION).to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&flags_and_length(flags, payload.len()));
    out.extend_from_slice(payload);
}

fn flags_and_length(flags: u8, length: usize) -> [u8; 4] {
    assert!(length < 1 << 24, "frames are made shorter than 16 MiB");
    let length = (length as u32).to_be_bytes();
    [flags, length[1], length[2], length[3]]
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn flag(fin: Fin) -> u8 {
    match fin {
        Fin::More => 0,
        Fin::Last => FLAG_FIN,
    }
}
