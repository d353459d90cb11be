//! Files with holes: where the pieces of data lie that an archive holds one after the other. Both the map in old
//! GNU headers and the newer one in front of the data are read.

use std::io::Read;

use super::UnpackError;
use super::pax::number;

const PIECES_MAX: usize = 100_000;
const BLOCK: usize = 512;

/// Pieces of data in a file of a certain length; the rest is zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseMap {
    pub real_size: u64,
    /// Offsets and lengths, in order and apart from each other.
    pub pieces: Vec<(u64, u64)>,
}

impl SparseMap {
    /// Checks that the pieces are in order, within the file, and as long as the data.
    pub fn checked(real_size: u64, pieces: Vec<(u64, u64)>, data: u64) -> Result<SparseMap, UnpackError> {
        let broken = UnpackError::Format("the map of a sparse file is broken");
        let (mut end, mut total) = (0u64, 0u64);
        for (offset, length) in &pieces {
            let after = offset.checked_add(*length);
            match after {
                Some(after) if *offset >= end && after <= real_size => (end, total) = (after, total + length),
                _ => return Err(broken),
            }
        }
        if total == data { Ok(SparseMap { real_size, pieces }) } else { Err(broken) }
    }

    /// Reads the map that lies in front of the data: numbers on lines of their own, padded to a block. Also says how
    /// long it was.
    pub fn read_front(body: &mut impl Read, size: u64, real_size: u64) -> Result<(SparseMap, u64), UnpackError> {
        let mut lines = Lines { body, block: [0; BLOCK], at: BLOCK, taken: 0, size };
        let count = usize::try_from(lines.number()?).unwrap_or(usize::MAX);
        if count > PIECES_MAX {
            return Err(UnpackError::TooLarge("a sparse file has too many pieces"));
        }
        let mut pieces = Vec::new();
        for _ in 0..count {
            pieces.push((lines.number()?, lines.number()?));
        }
        let taken = lines.taken;
        Ok((SparseMap::checked(real_size, pieces, size - taken)?, taken))
    }

    /// Adds the pieces that one old header holds.
    pub fn add(pieces: &mut Vec<(u64, u64)>, header: &[tar::GnuSparseHeader]) -> Result<(), UnpackError> {
        let broken = |_| UnpackError::Format("the map of a sparse file is broken");
        for piece in header.iter().filter(|piece| !piece.is_empty()) {
            if pieces.len() == PIECES_MAX {
                return Err(UnpackError::TooLarge("a sparse file has too many pieces"));
            }
            pieces.push((piece.offset().map_err(broken)?, piece.length().map_err(broken)?));
        }
        Ok(())
    }
}

struct Lines<'a, R> {
    body: &'a mut R,
    block: [u8; BLOCK],
    at: usize,
    taken: u64,
    size: u64,
}

impl<R: Read> Lines<'_, R> {
    fn number(&mut self) -> Result<u64, UnpackError> {
        const DIGITS_MAX: usize = 20;
        let mut digits = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => return number(&digits),
                _ if digits.len() == DIGITS_MAX => return number(b""),
                digit => digits.push(digit),
            }
        }
    }

    fn byte(&mut self) -> Result<u8, UnpackError> {
        if self.at == BLOCK {
            if self.taken + BLOCK as u64 > self.size {
                return Err(UnpackError::Format("the map of a sparse file is cut off"));
            }
            self.body.read_exact(&mut self.block).map_err(UnpackError::Read)?;
            (self.at, self.taken) = (0, self.taken + BLOCK as u64);
        }
        self.at += 1;
        Ok(self.block[self.at - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(text: &str, data: u64) -> Result<(SparseMap, u64), UnpackError> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        SparseMap::read_front(&mut &bytes[..], bytes.len() as u64 + data, 1000)
    }

    #[test]
    fn a_map_in_front_of_the_data_is_read() {
        let (map, taken) = front("2\n0\n10\n500\n20\n", 30).unwrap();
        assert_eq!((map.pieces, map.real_size, taken), (vec![(0, 10), (500, 20)], 1000, 512));
    }

    #[test]
    fn maps_that_cannot_be_right_are_refused() {
        let rows = [
            "x\n",
            "1\n0\n31\n",
            "1\n990\n30\n",
            "2\n10\n10\n5\n20\n",
            "999999999\n",
            "1\n",
            "1\n18446744073709551615\n30\n",
        ];
        for text in rows {
            assert!(front(text, 30).is_err(), "{text:?}");
        }
    }
}
