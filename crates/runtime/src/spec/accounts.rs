//! The users of a container before it runs: its image's, read as the container will see them.
//!
//! Links and removed files may lie in any layer, so layers are not searched one by one: they are mounted for a moment
//! where nobody else sees it, on a thread with a mount namespace of its own.

use std::fs::File;
use std::path::Path;

use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::thread::UnshareFlags;

use super::SpecError;
use crate::images::user::{self, User};
use crate::images::{Snapshot, overlay};

/// Finds users by `user[:group]`.
pub trait Users {
    fn find(&self, user: &str) -> Result<User, SpecError>;
}

impl Users for Snapshot {
    fn find(&self, user: &str) -> Result<User, SpecError> {
        match self.lower.as_slice() {
            // Nothing was written yet: the only layer is what the container will see.
            [only] => find_in(only, user),
            _ => mounted(self, |root| find_in(root, user)),
        }
    }
}

fn find_in(root: &Path, user: &str) -> Result<User, SpecError> {
    let directory = File::open(root).map_err(SpecError::host("open", root))?;
    Ok(user::find(directory, user)?)
}

fn mounted<T: Send>(
    snapshot: &Snapshot,
    look: impl FnOnce(&Path) -> Result<T, SpecError> + Send,
) -> Result<T, SpecError> {
    let Some(target) = snapshot.lower.first() else {
        return Err(SpecError::Accounts("the image has no layers".to_owned()));
    };
    let work = || {
        leave_mounts()?;
        overlay::mount(snapshot, target)?;
        let found = look(target);
        // Whoever mounts the same directories next must not find them in use.
        let gone = unmount(target, UnmountFlags::empty());
        gone.map_err(|errno| SpecError::host("unmount", target)(errno.into()))?;
        found
    };
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().name("users".to_owned()).spawn_scoped(scope, work);
        let thread = started.map_err(|error| SpecError::Accounts(format!("no thread could be started: {error}")))?;
        thread.join().unwrap_or_else(|_| Err(SpecError::Accounts("the thread that reads them panicked".to_owned())))
    })
}

fn leave_mounts() -> Result<(), SpecError> {
    let failed = |errno: rustix::io::Errno| SpecError::Accounts(format!("no mount namespace could be made: {errno}"));
    #[expect(unsafe_code, reason = "unshare can pull the ground from under other threads")]
    // SAFETY: a mount namespace and a working directory of its own concern this thread alone, which ends soon.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.map_err(failed)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(failed)
}
