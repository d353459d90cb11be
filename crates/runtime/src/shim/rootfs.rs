//! The root file system of a container, mounted where only the shim and the container see it.

use std::path::{Path, PathBuf};

use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::thread::UnshareFlags;

use super::{Order, ShimError};
use crate::images::overlay;

/// The bundle, as the OCI runtime specification calls it, in a container's directory.
pub fn bundle(directory: &Path) -> PathBuf {
    directory.join("bundle")
}

/// Where the `index`th source that is shared in both directions is mounted.
pub fn shared_source(directory: &Path, index: usize) -> PathBuf {
    directory.join("shared").join(index.to_string())
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
    overlay::mount(&order.rootfs, &target).map_err(|error| ShimError::Start(error.to_string()))
}
