//! Header blocks: names and values, packed by zlib in one stream per direction of a connection.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::dictionary::DICTIONARY;
use super::{HEADER_BYTES_MAX, HEADERS_MAX, SpdyError};

/// How many bytes are unpacked at a time.
const PIECE: usize = 4096;

/// Names in lower case, each with its value; several values are joined by NUL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn new<const N: usize>(pairs: [(&str, &str); N]) -> Headers {
        Headers(pairs.iter().map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned())).collect())
    }

    /// The first value of a name, whatever its case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.split('\0').next().unwrap_or(""))
    }

    fn to_block(&self) -> Vec<u8> {
        let mut block = Vec::new();
        put(&mut block, self.0.len());
        for (name, value) in &self.0 {
            for text in [name, value] {
                put(&mut block, text.len());
                block.extend_from_slice(text.as_bytes());
            }
        }
        block
    }

    fn from_block(block: &[u8]) -> Result<Headers, SpdyError> {
        let (count, mut rest) = number(block)?;
        if count > HEADERS_MAX {
            return Err(SpdyError::Headers("there are too many of them"));
        }
        let mut headers = Vec::new();
        for _ in 0..count {
            let (name, after) = text(rest)?;
            let (value, after) = text(after)?;
            if name.is_empty() || headers.iter().any(|(known, _)| *known == name) {
                return Err(SpdyError::Headers("a name is empty or there twice"));
            }
            headers.push((name, value));
            rest = after;
        }
        if rest.is_empty() { Ok(Headers(headers)) } else { Err(SpdyError::Headers("something follows the last one")) }
    }
}

fn put(block: &mut Vec<u8>, length: usize) {
    block.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

fn number(bytes: &[u8]) -> Result<(usize, &[u8]), SpdyError> {
    let (number, rest) = bytes.split_first_chunk::<4>().ok_or(SpdyError::Headers("the block ends too early"))?;
    Ok((u32::from_be_bytes(*number) as usize, rest))
}

fn text(bytes: &[u8]) -> Result<(String, &[u8]), SpdyError> {
    let (length, rest) = number(bytes)?;
    let (text, rest) = rest.split_at_checked(length).ok_or(SpdyError::Headers("the block ends too early"))?;
    let text = std::str::from_utf8(text).map_err(|_| SpdyError::Headers("a text is not UTF-8"))?;
    Ok((text.to_owned(), rest))
}

/// Packs header blocks.
pub struct Packer(Compress);

impl Packer {
    pub fn new() -> Packer {
        let mut compress = Compress::new(Compression::default(), true);
        let set = compress.set_dictionary(&DICTIONARY);
        assert!(set.is_ok(), "a fresh stream takes a dictionary");
        Packer(compress)
    }

    pub fn pack(&mut self, headers: &Headers) -> Vec<u8> {
        let block = headers.to_block();
        let mut packed = Vec::with_capacity(block.len() + 64);
        let start = self.0.total_in();
        loop {
            let done = usize::try_from(self.0.total_in() - start).unwrap_or(block.len());
            let status = self.0.compress_vec(&block[done..], &mut packed, FlushCompress::Sync);
            assert!(status.is_ok(), "packing into memory does not fail");
            // Room that is left over says that all of it is out.
            if packed.len() < packed.capacity() {
                return packed;
            }
            packed.reserve(PIECE);
        }
    }
}

/// Unpacks header blocks.
pub struct Unpacker(Decompress);

impl Unpacker {
    pub fn new() -> Unpacker {
        Unpacker(Decompress::new(true))
    }

    /// After an error the connection has no header blocks any more: they depend on each other.
    pub fn unpack(&mut self, packed: &[u8]) -> Result<Headers, SpdyError> {
        let mut block = Vec::new();
        let start = self.0.total_in();
        loop {
            let done = usize::try_from(self.0.total_in() - start).unwrap_or(packed.len());
            let rest = packed.get(done..).unwrap_or_default();
            block.reserve(PIECE);
            let before = block.len();
            match self.0.decompress_vec(rest, &mut block, FlushDecompress::Sync) {
                Ok(Status::StreamEnd) => return Err(SpdyError::Headers("their stream has an end")),
                Ok(Status::Ok | Status::BufError) => {}
                Err(error) if error.needs_dictionary().is_some() => {
                    self.0.set_dictionary(&DICTIONARY).map_err(|_| SpdyError::Headers("another dictionary is used"))?;
                    continue;
                }
                Err(_) => return Err(SpdyError::Headers("they cannot be unpacked")),
            }
            if block.len() > HEADER_BYTES_MAX {
                return Err(SpdyError::Headers("they are too long"));
            }
            if self.0.total_in() - start >= packed.len() as u64 && block.len() < block.capacity() {
                return Headers::from_block(&block);
            }
            if block.len() == before && block.len() < block.capacity() {
                return Err(SpdyError::Headers("the block ends too early"));
            }
        }
    }
}
