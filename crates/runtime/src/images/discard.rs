//! Removes trees that a container may have made as deep, as large and as stubborn as it liked. Nothing is walked by
//! recursion: directories inside are moved up beside the one being emptied, so one open directory is enough, and
//! attributes that forbid removal are taken off.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::unpack::DIRECTORY;

/// Empties a directory; only one thread may do so with the same directory.
pub fn empty(directory: &Path) -> io::Result<()> {
    let top = match openat(CWD, directory, DIRECTORY, Mode::empty()) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut moved = 0u64;
    loop {
        let names = names_in(&top)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if !unlink(&top, &name)? {
                flatten(&top, &name, &mut moved)?;
            }
        }
    }
}

/// Removes a file; false for a directory.
fn unlink(directory: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(Errno::PERM | Errno::ACCESS) => {
            let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                return Ok(false);
            }
            loosen_entry(directory, name)?;
            Ok(unlinkat(directory, name, AtFlags::empty()).map(|()| true)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes the files of a directory, moves its directories to the top, then removes it.
fn flatten(top: &OwnedFd, name: &[u8], moved: &mut u64) -> io::Result<()> {
    let inside = match openat(top, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(top, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
            openat(top, name, DIRECTORY, Mode::empty())?
        }
        opened => opened?,
    };
    loosen(&inside)?;
    for child in names_in(&inside)? {
        if unlink(&inside, &child)? {
            continue;
        }
        if let Ok(below) = openat(&inside, child.as_slice(), DIRECTORY, Mode::empty()) {
            loosen(&below)?;
        }
        loop {
            *moved += 1;
            // A name that a container has at the top by chance is skipped.
            match renameat(&inside, child.as_slice(), top, format!("moved-{moved}")) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                result => break result?,
            }
        }
    }
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn names_in(directory: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

fn loosen_entry(directory: &OwnedFd, name: &[u8]) -> io::Result<()> {
    // Only these can carry the attribute, and opening anything else may block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    loosen(&file)
}

/// Takes off what forbids changes.
fn loosen(file: &OwnedFd) -> io::Result<()> {
    let stubborn = IFlags::IMMUTABLE | IFlags::APPEND;
    match ioctl_getflags(file) {
        Ok(flags) if flags.intersects(stubborn) => Ok(ioctl_setflags(file, flags - stubborn)?),
        // Not every file system has such attributes.
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_tree_deeper_than_any_path_is_removed() {
        const DEPTH: usize = 2500;
        let directory = tempfile::tempdir().unwrap();
        let mut here = openat(CWD, directory.path(), DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..DEPTH {
            mkdirat(&here, "d", Mode::from_raw_mode(0o700)).unwrap();
            here = openat(&here, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        empty(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn modes_links_and_names_do_not_stand_in_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "").unwrap();
        let path = directory.path().join("a/b");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::create_dir_all(directory.path().join("moved-1/x")).unwrap();
        std::fs::write(path.join("f"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), path.join("out")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
        empty(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(outside.path().join("kept").exists());
        empty(&directory.path().join("never-was")).unwrap();
    }

    #[test]
    fn an_immutable_tree_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("f"), "").unwrap();
        for path in [path.join("f"), path.clone(), directory.path().join("a")] {
            let file = OwnedFd::from(std::fs::File::open(path).unwrap());
            // A file system without attributes (tmpfs has them since Linux 6.6) leaves nothing to test but the removal.
            if let Ok(flags) = ioctl_getflags(&file) {
                let _ = ioctl_setflags(&file, flags | IFlags::IMMUTABLE);
            }
        }
        empty(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
