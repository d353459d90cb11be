//! The root file system of a container, mounted where only the shim and the container see it.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::thread::UnshareFlags;

use super::{Order, ShimError};
use crate::images::overlay;
use crate::spec::shared_source;

/// The bundle, as the OCI runtime specification calls it, in a container's directory.
pub fn bundle(directory: &Path) -> PathBuf {
    directory.join("bundle")
}

/// Lets go of what only the start needed.
pub fn let_go(order: &Order) {
    for path in &order.let_go {
        let _ = rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Leaves the machine's mount namespace for one that follows it, and mounts the root file system there.
pub fn mount(directory: &Path, order: &Order) -> Result<(), ShimError> {
    // A mount that is shared both ways must be taken along before everything else is cut off in one direction.
    let mut shared = Vec::new();
    for source in &order.shared_sources {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        let tree = rustix::mount::open_tree(rustix::fs::CWD, source, flags);
        shared.push(tree.map_err(ShimError::set_up("take a shared mount along"))?);
    }
    #[expect(unsafe_code, reason = "unshare can pull the ground from under other threads")]
    // SAFETY: there is one thread, and no one relies on its mount namespace yet.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
        .map_err(ShimError::set_up("make a mount namespace"))?;
    let following = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", following).map_err(ShimError::set_up("keep mounts to ourselves"))?;
    for (index, tree) in shared.iter().enumerate() {
        let target = shared_source(directory, index);
        std::fs::create_dir_all(&target).map_err(ShimError::io("make room for a shared mount"))?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(tree, "", rustix::fs::CWD, &target, flags)
            .map_err(ShimError::set_up("put a shared mount in its place"))?;
    }
    let target = bundle(directory).join("rootfs");
    std::fs::create_dir_all(&target).map_err(ShimError::io("make room for the root file system"))?;
    overlay::mount(&order.rootfs, &target).map_err(|error| ShimError::Start(error.to_string()))?;
    let cwd = order.spec.process().as_ref().map(|process| process.cwd().clone()).unwrap_or_default();
    make_directory(&target, &cwd).map_err(|error| ShimError::SetUp {
        what: "make the working directory",
        reason: format!("{}: {error}", cwd.display()),
    })
}

/// Makes a directory inside a root, as the container would see the path: links never lead out.
fn make_directory(root: &Path, path: &Path) -> rustix::io::Result<()> {
    let root = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let open = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)
    };
    let mut made = PathBuf::from(".");
    for component in path.components() {
        let Component::Normal(name) = component else { continue };
        let parent = open(&made)?;
        made.push(name);
        match open(&made) {
            Err(rustix::io::Errno::NOENT) => rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?,
            found => drop(found?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_directory_is_made_inside_the_root_whatever_links_say() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
        std::fs::create_dir_all(root.join("srv")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("out")).unwrap();
        std::os::unix::fs::symlink("/srv", root.join("in")).unwrap();
        make_directory(&root, Path::new("/a/b")).unwrap();
        make_directory(&root, Path::new("/a/b")).unwrap();
        make_directory(&root, Path::new("/in/app")).unwrap();
        assert!(root.join("a/b").is_dir() && root.join("srv/app").is_dir());
        // The link points to a place that the root does not have.
        assert!(make_directory(&root, Path::new("/out/x")).is_err());
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        std::fs::write(root.join("file"), "").unwrap();
        assert!(make_directory(&root, Path::new("/file/x")).is_err());
    }
}
