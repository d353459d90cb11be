//! Layers of every shape, friendly and hostile. They need root: owners, devices and overlay marks are real.

mod archive;
mod hostile;

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::lgetxattr;

use self::archive::Archive;
use super::*;

/// A layer unpacked into a directory of its own.
struct Layer {
    directory: tempfile::TempDir,
    unpacked: Unpacked,
}

impl Layer {
    fn of(archive: &Archive, below: &[&Layer]) -> Layer {
        Layer::read(&archive.bytes(), below).unwrap_or_else(|error| panic!("{error}"))
    }

    fn read(bytes: &[u8], below: &[&Layer]) -> Result<Layer, UnpackError> {
        let directory = tempfile::tempdir().unwrap();
        let below: Vec<PathBuf> = below.iter().map(|layer| layer.directory.path().to_owned()).collect();
        let unpacked = unpack(bytes, directory.path(), &below)?;
        Ok(Layer { directory, unpacked })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn is_whiteout(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path(path))
            .is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == 0)
    }

    fn is_opaque(&self, path: &str) -> bool {
        attribute(&self.path(path), "trusted.overlay.opaque").as_deref() == Some(b"y")
    }

    fn exists(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path(path)).is_ok()
    }
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 256];
    lgetxattr(path, name, &mut value[..]).ok().map(|length| value[..length].to_vec())
}

#[test]
fn everything_a_layer_says_about_a_file_is_kept() {
    let capability = b"\x01\0\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut archive = Archive::default();
    archive.directory("srv", 0o1777);
    archive.owned("srv/program", b"code", 0o4755, (12, 34));
    archive.pax(&[
        ("SCHILY.xattr.security.capability", capability),
        ("SCHILY.xattr.user.note", b"a\nb=c"),
        ("mtime", b"1500000000.25"),
    ]);
    archive.file("srv/capable", b"more");
    archive.symlink("srv/absolute", "/srv/program");
    archive.hard_link("srv/again", "srv/program");
    archive.fifo("srv/pipe");
    archive.device("srv/null", (1, 3));
    let layer = Layer::of(&archive, &[]);

    let program = std::fs::metadata(layer.path("srv/program")).unwrap();
    assert_eq!((program.mode() & 0o7777, program.uid(), program.gid()), (0o4755, 12, 34));
    assert_eq!((program.mtime(), program.nlink()), (archive::MODIFIED, 2));
    let directory = std::fs::metadata(layer.path("srv")).unwrap();
    assert_eq!((directory.permissions().mode() & 0o7777, directory.mtime()), (0o1777, archive::MODIFIED));
    assert_eq!(attribute(&layer.path("srv/capable"), "security.capability").as_deref(), Some(&capability[..]));
    assert_eq!(attribute(&layer.path("srv/capable"), "user.note").as_deref(), Some(&b"a\nb=c"[..]));
    assert_eq!(std::fs::metadata(layer.path("srv/capable")).unwrap().mtime_nsec(), 250_000_000);
    assert_eq!(std::fs::read_link(layer.path("srv/absolute")).unwrap(), Path::new("/srv/program"));
    assert!(std::fs::metadata(layer.path("srv/pipe")).unwrap().file_type().is_fifo());
    assert_eq!(std::fs::metadata(layer.path("srv/null")).unwrap().rdev(), rustix::fs::makedev(1, 3));
    assert_eq!((layer.unpacked.bytes, layer.unpacked.inodes), (8, 7));
}

#[test]
fn the_diff_id_is_that_of_the_unpacked_bytes_however_they_are_packed() {
    let mut archive = Archive::default();
    archive.file("a", &b"content".repeat(5000));
    let plain = archive.bytes();
    let gzip = archive::gzip(&plain);
    let zstd = zstd::encode_all(&plain[..], 3).unwrap();
    for packed in [&plain, &gzip, &zstd] {
        let layer = Layer::read(packed, &[]).unwrap();
        assert_eq!(layer.unpacked.diff_id, Digest::of(&plain));
        assert_eq!(layer.text("a").len(), 35_000);
    }
}

#[test]
fn a_size_without_content_is_ignored() {
    let mut header = tar::Header::new_gnu();
    header.set_path("d").unwrap();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(4096);
    header.set_mode(0o711);
    header.set_cksum();
    let bytes = [&header.as_bytes()[..], &Archive::default().file("d/f", b"1").bytes()].concat();
    assert_eq!(Layer::read(&bytes, &[]).unwrap().text("d/f"), "1");
}

#[test]
fn whiteouts_take_the_form_of_overlayfs() {
    let mut lower = Archive::default();
    lower.file("gone", b"1").file("dir/inner", b"2").file("opaque/old", b"3").file("remade/old", b"4");
    let lower = Layer::of(&lower, &[]);
    let mut upper = Archive::default();
    upper.file(".wh.gone", b"").file("dir/.wh.inner", b"").file("opaque/.wh..wh..opq", b"").file("opaque/new", b"5");
    upper.file(".wh.remade", b"").file("remade/new", b"6").file(".wh.never-was", b"").file(".wh..wh.plnk", b"");
    let upper = Layer::of(&upper, &[&lower]);
    assert!(upper.is_whiteout("gone") && upper.is_whiteout("dir/inner"));
    assert!(upper.is_opaque("opaque") && upper.exists("opaque/new") && !upper.is_opaque("dir"));
    assert!(upper.is_opaque("remade") && upper.text("remade/new") == "6");
    assert!(!upper.exists("never-was") && !upper.exists(".wh..wh.plnk") && !upper.exists(".wh.gone"));
}

#[test]
fn a_whiteout_hides_only_what_lies_below() {
    let mut lower = Archive::default();
    lower.file("dir/old", b"1").file("file", b"2");
    let lower = Layer::of(&lower, &[]);
    let mut upper = Archive::default();
    upper.file("dir/new", b"3").file(".wh.dir", b"").file("file", b"4").file(".wh.file", b"");
    let upper = Layer::of(&upper, &[&lower]);
    assert!(upper.is_opaque("dir"));
    assert_eq!((upper.text("dir/new"), upper.text("file")), ("3".to_owned(), "4".to_owned()));
}

#[test]
fn implied_directories_look_as_they_do_below() {
    let mut lowest = Archive::default();
    lowest.directory("tmp", 0o1777).directory("usr", 0o755).directory("usr/bin", 0o711).symlink("bin", "usr/bin");
    let lowest = Layer::of(&lowest, &[]);
    let middle = Layer::of(Archive::default().file("other", b""), &[&lowest]);
    let mut top = Archive::default();
    top.file("tmp/a", b"1").file("bin/b", b"2").file("fresh/c", b"3");
    let top = Layer::of(&top, &[&lowest, &middle]);
    let mode = |path| std::fs::symlink_metadata(top.path(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("tmp"), mode("usr/bin"), mode("fresh")), (0o1777, 0o711, 0o755));
    assert!(!top.exists("bin"), "the link below stays the way to it");
    assert_eq!(top.text("usr/bin/b"), "2");
}

#[test]
fn what_a_layer_removed_no_longer_shapes_the_ones_above() {
    let lowest = Layer::of(Archive::default().directory("d", 0o700), &[]);
    let middle = Layer::of(Archive::default().file(".wh.d", b""), &[&lowest]);
    let top = Layer::of(Archive::default().file("d/f", b"1"), &[&lowest, &middle]);
    assert_eq!(std::fs::metadata(top.path("d")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn a_hard_link_to_a_file_below_brings_it_along() {
    let lower = Layer::of(Archive::default().owned("a", b"shared", 0o750, (5, 6)), &[]);
    let upper = Layer::of(Archive::default().hard_link("b", "a"), &[&lower]);
    let (a, b) = (std::fs::metadata(upper.path("a")).unwrap(), std::fs::metadata(upper.path("b")).unwrap());
    assert_eq!((a.ino(), a.mode() & 0o7777, a.uid(), a.gid()), (b.ino(), 0o750, 5, 6));
    assert_eq!(upper.text("b"), "shared");
}

#[test]
fn a_later_entry_replaces_an_earlier_one() {
    let mut archive = Archive::default();
    archive.file("a", b"first").file("a", b"second").file("d/x", b"").file("d", b"now a file").symlink("l", "a");
    archive.directory("l", 0o755).directory("kept", 0o700).file("kept/x", b"x").directory("kept", 0o711);
    let layer = Layer::of(&archive, &[]);
    assert_eq!((layer.text("a"), layer.text("d")), ("second".to_owned(), "now a file".to_owned()));
    assert!(std::fs::symlink_metadata(layer.path("l")).unwrap().is_dir());
    assert_eq!(
        (layer.text("kept/x"), std::fs::metadata(layer.path("kept")).unwrap().mode() & 0o777),
        ("x".into(), 0o711)
    );
}

#[test]
fn long_names_and_holes_survive() {
    let long = format!("{}/{}", "d".repeat(150), "f".repeat(200));
    let mut zeros = vec![0; 1 << 20];
    zeros[500_000] = 7;
    let mut archive = Archive::default();
    archive.file(&long, b"long").file("holes", &zeros);
    archive.pax(&[
        ("GNU.sparse.major", b"1"),
        ("GNU.sparse.minor", b"0"),
        ("GNU.sparse.name", b"sparse"),
        ("GNU.sparse.realsize", b"1000000"),
    ]);
    let mut data = b"2\n0\n3\n900000\n4\n".to_vec();
    data.resize(512, 0);
    data.extend(b"abcdefg");
    archive.file("GNUSparseFile.0/sparse", &data);
    let layer = Layer::of(&archive, &[]);
    assert_eq!(layer.text(&long), "long");
    assert_eq!(std::fs::read(layer.path("holes")).unwrap(), zeros);
    let sparse = std::fs::read(layer.path("sparse")).unwrap();
    assert_eq!((sparse.len(), &sparse[..3], &sparse[900_000..900_004]), (1_000_000, &b"abc"[..], &b"defg"[..]));
    assert!(std::fs::metadata(layer.path("holes")).unwrap().blocks() * 512 < 1 << 19);
}

#[test]
fn an_old_sparse_file_is_read_as_tar_wrote_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(directory.path().join("s")).unwrap();
    file.set_len(3 << 20).unwrap();
    for at in 0..40u64 {
        std::os::unix::fs::FileExt::write_all_at(&file, b"data", at * 65_536).unwrap();
    }
    for format in ["gnu", "pax"] {
        let mut command = std::process::Command::new("tar");
        command.args(["--sparse", &format!("--format={format}"), "-cf", "-", "s"]).current_dir(directory.path());
        let archive = command.output().unwrap().stdout;
        let layer = Layer::read(&archive, &[]).unwrap();
        let same = std::fs::read(layer.path("s")).unwrap() == std::fs::read(directory.path().join("s")).unwrap();
        assert!(same, "{format}");
        assert!(archive.len() < 1 << 20, "{format}: tar saw the holes");
    }
}
