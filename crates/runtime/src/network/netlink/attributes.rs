//! Reading attributes out of the kernel's answers, without trusting their lengths.

use super::{ALIGNMENT, ATTRIBUTE_HEADER, NESTED};

/// The bits of a kind that say how the value is written rather than what it is.
const KIND_FLAGS: u16 = NESTED | 0x4000;

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub kind: u16,
    pub value: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// Text up to its NUL.
    pub fn text(self) -> String {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end]).into_owned()
    }

    /// A number in the machine's order.
    pub fn number(self) -> Option<u32> {
        self.value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
    }

    /// The attributes inside.
    pub fn inside(self) -> impl Iterator<Item = Attribute<'a>> {
        attributes(self.value)
    }
}

/// The attributes of a buffer, up to the first that is cut short.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    std::iter::from_fn(move || {
        let header = bytes.first_chunk::<ATTRIBUTE_HEADER>()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & !KIND_FLAGS;
        let value = bytes.get(ATTRIBUTE_HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some(Attribute { kind, value })
    })
}
