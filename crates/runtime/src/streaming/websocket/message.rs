//! WebSocket messages and the channels they belong to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tokio_tungstenite::tungstenite::Message;

use crate::streaming::protocol::Framing;

/// In place of a channel: the next byte names one that the client has ended.
const END_OF_CHANNEL: u8 = 255;

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived {
    Data(u8, Bytes),
    End(u8),
    Close,
}

/// Reads a message; none if it is for the WebSocket itself.
pub fn read(framing: Framing, message: Message) -> Result<Option<Arrived>, &'static str> {
    let bytes = match message {
        Message::Binary(bytes) => bytes,
        Message::Text(text) => text.into(),
        Message::Close(_) => return Ok(Some(Arrived::Close)),
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(None),
    };
    match framing {
        Framing::Raw => Ok(Some(Arrived::Data(0, bytes))),
        Framing::Binary => match *bytes {
            // Go's clients may send an empty message to see whether the connection stands.
            [] => Ok(None),
            [END_OF_CHANNEL, channel] => Ok(Some(Arrived::End(channel))),
            [END_OF_CHANNEL, ..] => Err("a message about the end of a channel names none"),
            [channel, ..] => Ok(Some(Arrived::Data(channel, bytes.slice(1..)))),
        },
        Framing::Base64 => {
            let Some((digit, text)) = bytes.split_first() else { return Ok(None) };
            let channel = digit.checked_sub(b'0').ok_or("a message begins with no channel")?;
            let content = STANDARD.decode(text).map_err(|_| "a message is no base64")?;
            Ok(Some(Arrived::Data(channel, content.into())))
        }
    }
}

/// Writes a message.
pub fn of(framing: Framing, channel: u8, bytes: &[u8]) -> Message {
    match framing {
        Framing::Raw => Message::Binary(Bytes::copy_from_slice(bytes)),
        Framing::Binary => Message::Binary([&[channel], bytes].concat().into()),
        Framing::Base64 => {
            let digit = char::from(b'0'.saturating_add(channel));
            Message::Text(format!("{digit}{}", STANDARD.encode(bytes)).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for framing in [Framing::Binary, Framing::Base64] {
            let arrived = read(framing, of(framing, 3, b"hello")).unwrap();
            assert_eq!(arrived, Some(Arrived::Data(3, Bytes::from_static(b"hello"))));
            assert_eq!(read(framing, of(framing, 1, b"")).unwrap(), Some(Arrived::Data(1, Bytes::new())));
        }
        assert_eq!(of(Framing::Base64, 1, b"hi"), Message::text("1aGk="));
        assert_eq!(of(Framing::Binary, 1, b"hi"), Message::binary(&b"\x01hi"[..]));
    }

    #[test]
    fn the_end_of_a_channel_has_a_message_of_its_own() {
        let read = |bytes: &'static [u8]| read(Framing::Binary, Message::binary(bytes));
        assert_eq!(read(&[255, 0]), Ok(Some(Arrived::End(0))));
        assert!(read(&[255]).is_err());
        assert_eq!(read(&[]), Ok(None));
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        assert!(read(Framing::Base64, Message::text("0not base64")).is_err());
        assert!(read(Framing::Base64, Message::text("!aGk=")).is_err());
    }
}
