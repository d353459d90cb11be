//! Writes archives entry by entry, also such as no tool would write.

use std::io::Write as _;

pub const MODIFIED: i64 = 1_500_000_000;

/// An archive in the making.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
}

impl Archive {
    /// With its end mark.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.bytes[..], &[0; 1024]].concat()
    }

    pub fn file(&mut self, path: &str, content: &[u8]) -> &mut Archive {
        self.owned(path, content, 0o644, (0, 0))
    }

    pub fn owned(&mut self, path: &str, content: &[u8], mode: u32, owner: (u64, u64)) -> &mut Archive {
        let mut header = self.header(path, tar::EntryType::Regular);
        header.set_mode(mode);
        header.set_uid(owner.0);
        header.set_gid(owner.1);
        self.append(header, content)
    }

    pub fn directory(&mut self, path: &str, mode: u32) -> &mut Archive {
        let mut header = self.header(path, tar::EntryType::Directory);
        header.set_mode(mode);
        self.append(header, b"")
    }

    pub fn symlink(&mut self, path: &str, target: &str) -> &mut Archive {
        self.link(path, target, tar::EntryType::Symlink)
    }

    pub fn hard_link(&mut self, path: &str, original: &str) -> &mut Archive {
        self.link(path, original, tar::EntryType::Link)
    }

    pub fn fifo(&mut self, path: &str) -> &mut Archive {
        let header = self.header(path, tar::EntryType::Fifo);
        self.append(header, b"")
    }

    pub fn device(&mut self, path: &str, (major, minor): (u32, u32)) -> &mut Archive {
        let mut header = self.header(path, tar::EntryType::Char);
        header.set_device_major(major).unwrap();
        header.set_device_minor(minor).unwrap();
        self.append(header, b"")
    }

    /// An extended header for the next entry.
    pub fn pax(&mut self, records: &[(&str, &[u8])]) -> &mut Archive {
        let mut body = Vec::new();
        for (key, value) in records {
            let rest = 1 + key.len() + 1 + value.len() + 1;
            let length = (1..).map(|digits| rest + digits).find(|n| rest + n.to_string().len() == *n).unwrap();
            body.extend(format!("{length} {key}=").bytes());
            body.extend(*value);
            body.push(b'\n');
        }
        let header = self.header("pax", tar::EntryType::XHeader);
        self.append(header, &body)
    }

    /// An entry of any type, with any content.
    pub fn raw(&mut self, path: &str, kind: u8, content: &[u8]) -> &mut Archive {
        let header = self.header(path, tar::EntryType::new(kind));
        self.append(header, content)
    }

    fn link(&mut self, path: &str, target: &str, kind: tar::EntryType) -> &mut Archive {
        let mut header = self.header(path, kind);
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        self.append(header, b"")
    }

    /// Long names come before the header, as GNU tar writes them. Names are taken as they are: the ready-made setter
    /// refuses hostile ones.
    fn header(&mut self, path: &str, kind: tar::EntryType) -> tar::Header {
        const NAME_MAX: usize = 100;
        if path.len() > NAME_MAX {
            let long = self.header("././@LongLink", tar::EntryType::GNULongName);
            self.append(long, &[path.as_bytes(), b"\0"].concat());
        }
        let mut header = tar::Header::new_gnu();
        let name = &path.as_bytes()[..path.len().min(NAME_MAX)];
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(MODIFIED.cast_unsigned());
        header
    }

    fn append(&mut self, mut header: tar::Header, content: &[u8]) -> &mut Archive {
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.bytes.extend(header.as_bytes());
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
