//! How a layer or an archive is packed, told by its first bytes: gzip, zstd, or not at all. Media types lie too often.

use std::io::{self, BufReader, Cursor, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// zstd keeps a window of this many bytes at most (as a power of two): what its own tool accepts unasked.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
const BUFFER_BYTES: usize = 128 * 1024;

/// The content without its packing.
pub fn unpacked<'a>(mut packed: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::with_capacity(ZSTD.len());
    packed.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    let is = |magic: &[u8]| start.starts_with(magic);
    let (gzip, zstd) = (is(&GZIP), is(&ZSTD));
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(start).chain(packed));
    if gzip {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(whole)));
    }
    if zstd {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        return Ok(Box::new(decoder));
    }
    Ok(Box::new(whole))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        unpacked(packed)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn each_packing_is_told_by_its_first_bytes() {
        let text = b"the same content".repeat(1000);
        assert_eq!(read(&text).unwrap(), text);
        assert_eq!(read(&gzip(&text)).unwrap(), text);
        assert_eq!(read(&zstd::encode_all(&text[..], 3).unwrap()).unwrap(), text);
        assert_eq!(read(b"").unwrap(), b"");
        assert_eq!(read(&GZIP[..1]).unwrap(), &GZIP[..1]);
    }

    #[test]
    fn several_packed_parts_are_one_content() {
        assert_eq!(read(&[gzip(b"one "), gzip(b"two")].concat()).unwrap(), b"one two");
        let frames = [zstd::encode_all(&b"one "[..], 1).unwrap(), zstd::encode_all(&b"two"[..], 1).unwrap()];
        assert_eq!(read(&frames.concat()).unwrap(), b"one two");
    }

    #[test]
    fn cut_content_is_an_error() {
        let text = b"the same content".repeat(1000);
        for packed in [gzip(&text), zstd::encode_all(&text[..], 3).unwrap()] {
            assert!(read(&packed[..packed.len() - 9]).is_err());
        }
    }
}
