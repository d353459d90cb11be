//! Extended headers: `length key=value` records that override what does not fit into a tar header. Values are
//! bytes and may hold line breaks, so records are cut by their length.

use super::UnpackError;

const XATTR_PREFIX: &[u8] = b"SCHILY.xattr.";
const XATTRS_MAX: usize = 64;

/// What an extended header says about the next entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pax {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub modified: Option<(i64, u32)>,
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub sparse: SparseKeys,
}

/// The keys of the newer GNU forms of sparse files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseKeys {
    pub major: Option<u64>,
    pub minor: Option<u64>,
    pub name: Option<Vec<u8>>,
    pub real_size: Option<u64>,
    /// Versions before 1.0 put the map into the header.
    pub map: Option<Vec<u8>>,
    pub is_older: bool,
}

impl Pax {
    /// Adds the records; later ones win.
    pub fn read(&mut self, mut records: &[u8]) -> Result<(), UnpackError> {
        while !records.is_empty() && records[0] != 0 {
            let (record, rest) = split_record(records).ok_or(UnpackError::Format("an extended header is broken"))?;
            let equals = record.iter().position(|c| *c == b'=');
            let equals = equals.ok_or(UnpackError::Format("an extended header has no value"))?;
            self.set(&record[..equals], &record[equals + 1..])?;
            records = rest;
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), UnpackError> {
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(number(value)?),
            b"uid" => self.uid = Some(number(value)?),
            b"gid" => self.gid = Some(number(value)?),
            b"mtime" => self.modified = Some(time(value)?),
            b"GNU.sparse.major" => self.sparse.major = Some(number(value)?),
            b"GNU.sparse.minor" => self.sparse.minor = Some(number(value)?),
            b"GNU.sparse.name" => self.sparse.name = Some(value.to_vec()),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => self.sparse.real_size = Some(number(value)?),
            b"GNU.sparse.map" => self.sparse.map = Some(value.to_vec()),
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => self.sparse.is_older = true,
            _ => return self.set_xattr(key, value),
        }
        Ok(())
    }

    fn set_xattr(&mut self, key: &[u8], value: &[u8]) -> Result<(), UnpackError> {
        let Some(name) = key.strip_prefix(XATTR_PREFIX) else { return Ok(()) };
        if name.is_empty() || name.contains(&0) {
            return Err(UnpackError::Format("an extended attribute has no name"));
        }
        if self.xattrs.len() == XATTRS_MAX {
            return Err(UnpackError::TooLarge("an entry has too many extended attributes"));
        }
        self.xattrs.push((name.to_vec(), value.to_vec()));
        Ok(())
    }
}

/// One record without its length and its line break, and what follows.
fn split_record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = records.iter().take(20).position(|c| *c == b' ')?;
    let length = usize::try_from(number(&records[..space]).ok()?).ok()?;
    if length <= space + 1 || length > records.len() || records[length - 1] != b'\n' {
        return None;
    }
    Some((&records[space + 1..length - 1], &records[length..]))
}

pub fn number(text: &[u8]) -> Result<u64, UnpackError> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let value = std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    value.ok_or(UnpackError::Format("a number in a header is broken"))
}

/// Seconds, perhaps negative, perhaps with a fraction.
fn time(text: &[u8]) -> Result<(i64, u32), UnpackError> {
    let broken = || UnpackError::Format("a time in a header is broken");
    let text = std::str::from_utf8(text).map_err(|_| broken())?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().map_err(|_| broken())?;
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanos: u32 = digits.parse().map_err(|_| broken())?;
    // Before 1970 the fraction counts backwards.
    if whole.starts_with('-') && nanos > 0 {
        return Ok((seconds.checked_sub(1).ok_or_else(broken)?, 1_000_000_000 - nanos));
    }
    Ok((seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_cut_by_their_length() {
        let mut pax = Pax::default();
        pax.read(b"12 path=a\nb\n18 mtime=-1.250000\n33 SCHILY.xattr.user.k=\x01\n\x02=\n3\n\n12 uid=12345\n\0\0")
            .unwrap_err();
        let mut pax = Pax::default();
        pax.read(b"12 path=a\nb\n16 mtime=-1.250\n29 SCHILY.xattr.user.k=\x01\n\x02=\n\n13 uid=12345\n\0\0").unwrap();
        assert_eq!(pax.path.as_deref(), Some(&b"a\nb"[..]));
        assert_eq!(pax.modified, Some((-2, 750_000_000)));
        assert_eq!(pax.xattrs, [(b"user.k".to_vec(), b"\x01\n\x02=\n".to_vec())]);
        assert_eq!(pax.uid, Some(12345));
    }

    #[test]
    fn broken_records_are_refused() {
        let rows: [&[u8]; 8] = [
            b"x",
            b"5 a=b",
            b"99 a=b\n",
            b"4 a=b\n",
            b"5 ab\n",
            b"-6 a=b\n",
            b"12 size=-10\n",
            b"99999999999999999999999 a=b\n",
        ];
        for records in rows {
            assert!(Pax::default().read(records).is_err(), "{}", records.escape_ascii());
        }
    }
}
