//! Reads the headers of an archive one after the other, with everything bounded: long names and extended headers are
//! limited before they are read into memory, which the ready-made readers do not do.

use std::io::{self, Read};

use super::pax::Pax;
use super::sparse::SparseMap;
use super::{LAYER_BYTES_MAX, UnpackError};

const BLOCK: usize = 512;
/// Long names and extended headers beyond this are refused; what Go accepts.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;
const PATH_BYTES_MAX: usize = 4096;
/// Extensions before one entry; more than one of each kind is already strange.
const EXTENSIONS_MAX: usize = 16;

/// What kind of thing an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File(Option<SparseMap>),
    Directory,
    /// Where it points to.
    Symlink(Vec<u8>),
    /// Another name of this entry.
    HardLink(Vec<u8>),
    CharacterDevice(u32, u32),
    BlockDevice(u32, u32),
    Fifo,
}

/// One entry without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: Vec<u8>,
    pub kind: Kind,
    /// Bytes of content that follow in the archive.
    pub size: u64,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub modified: (i64, u32),
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Entries of an archive; reading from this gives the content of the entry that came last.
pub struct Entries<R> {
    inner: R,
    left: u64,
    padding: u64,
}

/// What came before an entry's own header.
#[derive(Default)]
struct Extensions {
    pax: Pax,
    long_path: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
}

impl<R: Read> Entries<R> {
    pub fn new(inner: R) -> Entries<R> {
        Entries { inner, left: 0, padding: 0 }
    }

    /// The next entry; what is left of the one before is skipped.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, UnpackError> {
        let mut extensions = Extensions::default();
        for _ in 0..EXTENSIONS_MAX {
            self.skip()?;
            let Some(header) = self.header()? else { return Ok(None) };
            let kind = header.entry_type();
            let size = field(&header.as_old().size, || header.entry_size())?;
            match kind.as_byte() {
                b'x' => extensions.pax.read(&self.extension(size)?)?,
                b'L' => extensions.long_path = Some(without_zeros(self.extension(size)?)),
                b'K' => extensions.long_link = Some(without_zeros(self.extension(size)?)),
                // About the whole archive; nobody puts anything there that matters to a file.
                b'g' => self.expect(size)?,
                _ => return self.entry(&header, size, extensions).map(Some),
            }
        }
        Err(UnpackError::Format("an entry has too many extended headers"))
    }

    pub fn into_inner(self) -> R {
        self.inner
    }

    fn entry(&mut self, header: &tar::Header, size: u64, ahead: Extensions) -> Result<Entry, UnpackError> {
        let Extensions { pax, long_path, long_link } = ahead;
        // Some tools note a size where there is no content; none follows, whatever they say.
        let header_only = (b'1'..=b'6').contains(&header.entry_type().as_byte());
        let size = if header_only { 0 } else { pax.size.unwrap_or(size) };
        let path = pax.sparse.name.clone().or(pax.path.clone()).or(long_path);
        let path = path.unwrap_or_else(|| header.path_bytes().into_owned());
        let link = pax.link.clone().or(long_link);
        let link = link.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned)).unwrap_or_default();
        if path.len() > PATH_BYTES_MAX || link.len() > PATH_BYTES_MAX {
            return Err(UnpackError::refused(&path, "its name is too long"));
        }
        let raw = header.as_old();
        let modified = match pax.modified {
            Some(modified) => modified,
            None => (field(&raw.mtime, || header.mtime())?.cast_signed(), 0),
        };
        let mode = field(&raw.mode, || header.mode().map(u64::from))?;
        let (mode, xattrs) = ((mode & 0o7777) as u32, pax.xattrs.clone());
        let uid = id(pax.uid.map_or_else(|| field(&raw.uid, || header.uid()), Ok)?, &path)?;
        let gid = id(pax.gid.map_or_else(|| field(&raw.gid, || header.gid()), Ok)?, &path)?;
        self.expect(size)?;
        let kind = self.kind(header, &path, link, size, &pax)?;
        Ok(Entry { size: self.left, path, kind, mode, uid, gid, modified, xattrs })
    }

    fn kind(
        &mut self,
        header: &tar::Header,
        path: &[u8],
        link: Vec<u8>,
        size: u64,
        pax: &Pax,
    ) -> Result<Kind, UnpackError> {
        let device = || {
            let number = |part: io::Result<Option<u32>>| part.ok().flatten();
            let both = number(header.device_major()).zip(number(header.device_minor()));
            both.ok_or_else(|| UnpackError::refused(path, "its device number is broken"))
        };
        let kind = match header.entry_type().as_byte() {
            // Archives older than the type for directories.
            0 | b'0' if path.ends_with(b"/") => Kind::Directory,
            0 | b'0' | b'7' => Kind::File(self.front_map(size, pax)?),
            b'S' => Kind::File(Some(self.header_map(header, size)?)),
            b'1' => Kind::HardLink(link),
            b'2' => Kind::Symlink(link),
            b'3' => device().map(|(major, minor)| Kind::CharacterDevice(major, minor))?,
            b'4' => device().map(|(major, minor)| Kind::BlockDevice(major, minor))?,
            b'5' => Kind::Directory,
            b'6' => Kind::Fifo,
            _ => return Err(UnpackError::refused(path, "it is of an unknown type")),
        };
        Ok(kind)
    }

    /// The newer form of sparse files: the map is the start of the content.
    fn front_map(&mut self, size: u64, pax: &Pax) -> Result<Option<SparseMap>, UnpackError> {
        let keys = &pax.sparse;
        if keys.is_older || keys.map.is_some() {
            return Err(UnpackError::Format("sparse files of versions 0.0 and 0.1 are not supported"));
        }
        match (keys.major, keys.minor, keys.real_size) {
            (None, None, _) => Ok(None),
            (Some(1), Some(0), Some(real_size)) => {
                let (map, _) = SparseMap::read_front(self, size, real_size)?;
                Ok(Some(map))
            }
            _ => Err(UnpackError::Format("a sparse file is of an unknown version")),
        }
    }

    /// The older form: the map is in the header and in blocks that follow it.
    fn header_map(&mut self, header: &tar::Header, size: u64) -> Result<SparseMap, UnpackError> {
        let broken = UnpackError::Format("the header of a sparse file is broken");
        let Some(gnu) = header.as_gnu() else { return Err(broken) };
        let Ok(real_size) = gnu.real_size() else { return Err(broken) };
        let mut pieces = Vec::new();
        SparseMap::add(&mut pieces, &gnu.sparse)?;
        let mut extended = gnu.is_extended();
        while extended {
            let mut more = tar::GnuExtSparseHeader::new();
            self.inner.read_exact(more.as_mut_bytes()).map_err(UnpackError::Read)?;
            SparseMap::add(&mut pieces, more.sparse())?;
            extended = more.is_extended();
            if extended && more.sparse().iter().all(tar::GnuSparseHeader::is_empty) {
                return Err(broken);
            }
        }
        SparseMap::checked(real_size, pieces, size)
    }

    fn expect(&mut self, size: u64) -> Result<(), UnpackError> {
        if size > LAYER_BYTES_MAX {
            return Err(UnpackError::TooLarge("an entry is larger than any layer may be"));
        }
        self.left = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        Ok(())
    }

    fn skip(&mut self) -> Result<(), UnpackError> {
        let rest = self.left + self.padding;
        let skipped = io::copy(&mut self.inner.by_ref().take(rest), &mut io::sink()).map_err(UnpackError::Read)?;
        (self.left, self.padding) = (0, 0);
        if skipped == rest { Ok(()) } else { Err(UnpackError::Format("it is cut off")) }
    }

    fn extension(&mut self, size: u64) -> Result<Vec<u8>, UnpackError> {
        if size > EXTENSION_BYTES_MAX {
            return Err(UnpackError::TooLarge("an extended header or a long name is too long"));
        }
        self.expect(size)?;
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes).map_err(UnpackError::Read)?;
        if bytes.len() as u64 == size { Ok(bytes) } else { Err(UnpackError::Format("it is cut off")) }
    }

    /// The next header; nothing at the end, be it marked or not.
    fn header(&mut self) -> Result<Option<tar::Header>, UnpackError> {
        let mut header = tar::Header::new_old();
        let mut start = Vec::with_capacity(BLOCK);
        self.inner.by_ref().take(BLOCK as u64).read_to_end(&mut start).map_err(UnpackError::Read)?;
        if start.is_empty() || start.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if start.len() < BLOCK {
            return Err(UnpackError::Format("it is cut off"));
        }
        header.as_mut_bytes().copy_from_slice(&start);
        let stated = header.cksum().map_err(|_| UnpackError::Format("a header has no checksum"))?;
        // The checksum itself counts as blanks.
        let blank = |(at, byte): (usize, &u8)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) };
        if start.iter().enumerate().map(blank).sum::<u32>() != stated {
            return Err(UnpackError::Format("the checksum of a header is wrong"));
        }
        Ok(Some(header))
    }
}

impl<R: Read> Read for Entries<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.by_ref().take(self.left).read(buffer)?;
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive is cut off"));
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// A number of a header; an empty field is zero, as other tools have it.
fn field(raw: &[u8], read: impl FnOnce() -> io::Result<u64>) -> Result<u64, UnpackError> {
    if raw.iter().all(|byte| [0, b' '].contains(byte)) {
        return Ok(0);
    }
    read().map_err(|_| UnpackError::Format("a number in a header is broken"))
}

fn id(number: u64, path: &[u8]) -> Result<u32, UnpackError> {
    // The highest number means "leave it as it is" to the system.
    let id = u32::try_from(number).ok().filter(|id| *id != u32::MAX);
    id.ok_or_else(|| UnpackError::refused(path, "its owner is no user of this system"))
}

fn without_zeros(mut text: Vec<u8>) -> Vec<u8> {
    text.truncate(text.iter().position(|c| *c == 0).unwrap_or(text.len()));
    text
}
