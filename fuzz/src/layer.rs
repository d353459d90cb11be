//! Layers: whatever an archive says, nothing outside its directory is made, changed or removed.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use runtime::images::compression;
use runtime::images::unpack::unpack;

/// Of what a packed layer holds only so much is tried: a few bytes can hold more than a disk.
const CONTENT_BYTES_MAX: u64 = 256 * 1024;
const CANARY: &str = "sings";

pub fn layer(data: &[u8]) {
    let Some(mut content) = content(data) else { return };
    mend(&mut content);
    let place = tempfile::tempdir().expect("a temporary directory");
    let [directory, canary] = ["layer", "canary"].map(|name| place.path().join(name));
    fs::create_dir(&directory).expect("a directory");
    fs::create_dir(&canary).expect("a directory");
    fs::write(canary.join("file"), CANARY).expect("a file");
    let before = seen(&canary);
    // To be refused is fine; to be half-unpacked as well, for the directory is thrown away.
    let unpacked = unpack(content.as_slice(), &directory, &[]);
    assert_eq!(seen(&canary), before, "the layer reached what lies beside it");
    assert_eq!(names(place.path()), ["canary", "layer"]);
    if let Ok(unpacked) = unpacked {
        assert!(unpacked.inodes as usize >= names(&directory).len(), "{unpacked:?}");
    }
}

/// The archive without its packing; nothing if it is packed twice, which could be as large as it likes.
fn content(data: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    compression::unpacked(data).ok()?.take(CONTENT_BYTES_MAX).read_to_end(&mut content).ok()?;
    let packed = [&[0x1f, 0x8b][..], &[0x28, 0xb5, 0x2f, 0xfd]];
    (!packed.iter().any(|magic| content.starts_with(magic))).then_some(content)
}

/// Gives every header the sum that it should have: otherwise hardly any changed archive would be read.
fn mend(content: &mut [u8]) {
    for block in content.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}

/// Everything that a layer could do to a directory with one file: names, content, owners, and when the last change was.
fn seen(canary: &Path) -> (Vec<String>, Vec<u8>, Vec<[i64; 6]>) {
    let file = canary.join("file");
    let facts = [canary, &file].map(|path| {
        let found = fs::symlink_metadata(path).expect("the canary is there");
        let [mode, links, uid, gid] =
            [u64::from(found.mode()), found.nlink(), u64::from(found.uid()), u64::from(found.gid())].map(|n| n as i64);
        [mode, links, uid, gid, found.ctime(), found.ctime_nsec()]
    });
    (names(canary), fs::read(&file).expect("the canary can be read"), facts.to_vec())
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
