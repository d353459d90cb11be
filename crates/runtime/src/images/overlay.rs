//! Mounts a snapshot. Called in a process with a mount namespace of its own, so nobody else sees the mount, and it
//! goes with the last process of the namespace.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkdirat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, fsconfig_create, fsconfig_set_string,
    fsmount, fsopen, mount as mount_classic, move_mount,
};
use thiserror::Error;

use super::snapshot::{Snapshot, Upper};

/// The kernel takes this many bytes of options in one call; older kernels take all layers in that call.
const OPTIONS_BYTES_MAX: usize = 4095;
const TMPFS_SIZE: &str = "50%";

/// Why a snapshot cannot be mounted.
#[derive(Debug, Error)]
pub enum OverlayError {
    #[error("cannot mount the file system of container {container} at {target:?}: {step}: {source}")]
    Mount { container: String, target: PathBuf, step: &'static str, source: io::Error },
    #[error("the image has {0} layers, too many for this kernel; Linux 6.8 or later can stack them")]
    TooManyLayers(usize),
}

struct Failed(&'static str, Errno);

/// Mounts a snapshot at a directory.
pub fn mount(snapshot: &Snapshot, target: &Path) -> Result<(), OverlayError> {
    let explain = |Failed(step, error): Failed| OverlayError::Mount {
        container: snapshot.container.clone(),
        target: target.to_owned(),
        step,
        source: error.into(),
    };
    let (upper, work) = match &snapshot.upper {
        Upper::Disk { upper, work } => (upper.clone(), work.clone()),
        Upper::Memory => memory(target).map_err(explain)?,
    };
    match stack(&snapshot.lower, &upper, &work, target) {
        // A kernel that knows no single layers.
        Err(Failed(LOWER, Errno::INVAL)) => {
            let options = joined(&snapshot.lower, &upper, &work);
            if options.len() > OPTIONS_BYTES_MAX {
                return Err(OverlayError::TooManyLayers(snapshot.lower.len()));
            }
            let options = std::ffi::CString::new(options).map_err(|_| explain(Failed(LOWER, Errno::INVAL)))?;
            let mounted = mount_classic("overlay", target, "overlay", MountFlags::empty(), options.as_c_str());
            mounted.map_err(|error| explain(Failed("mount", error)))
        }
        result => result.map_err(explain),
    }
}

const LOWER: &str = "add a layer";

fn stack(lower: &[PathBuf], upper: &Path, work: &Path, target: &Path) -> Result<(), Failed> {
    let step = |step| move |error| Failed(step, error);
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).map_err(step("open overlay"))?;
    for directory in lower {
        fsconfig_set_string(&overlay, "lowerdir+", directory).map_err(step(LOWER))?;
    }
    fsconfig_set_string(&overlay, "upperdir", upper).map_err(step("set the upper directory"))?;
    fsconfig_set_string(&overlay, "workdir", work).map_err(step("set the work directory"))?;
    for (key, value) in OPTIONS {
        fsconfig_set_string(&overlay, key, value).map_err(step("set an option"))?;
    }
    fsconfig_set_string(&overlay, "source", "overlay").map_err(step("name the source"))?;
    fsconfig_create(&overlay).map_err(step("create the overlay"))?;
    let mounted = fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
    let mounted = mounted.map_err(step("mount the overlay"))?;
    move_mount(mounted, "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).map_err(step("attach the overlay"))
}

/// Layers come from outside, so marks in them that lead elsewhere are not followed.
const OPTIONS: [(&str, &str); 3] = [("index", "off"), ("redirect_dir", "nofollow"), ("metacopy", "off")];

/// All options in one text, as older kernels want them.
fn joined(lower: &[PathBuf], upper: &Path, work: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let escaped = |path: &Path| {
        let mut text = Vec::new();
        for byte in path.as_os_str().as_bytes() {
            if b":,\\".contains(byte) {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text
    };
    let layers: Vec<Vec<u8>> = lower.iter().map(|path| escaped(path)).collect();
    let mut options = [b"lowerdir=", layers.join(&b':').as_slice()].concat();
    options.extend([b",upperdir=", escaped(upper).as_slice(), b",workdir=", escaped(work).as_slice()].concat());
    for (key, value) in OPTIONS {
        options.extend(format!(",{key}={value}").bytes());
    }
    options
}

/// A tmpfs at the target itself, which the overlay then covers: its directories stay reachable for the overlay only.
fn memory(target: &Path) -> Result<(PathBuf, PathBuf), Failed> {
    let step = |step| move |error| Failed(step, error);
    let tmpfs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(step("open tmpfs"))?;
    fsconfig_set_string(&tmpfs, "size", TMPFS_SIZE).map_err(step("bound the tmpfs"))?;
    fsconfig_set_string(&tmpfs, "mode", "0755").map_err(step("set the mode of the tmpfs"))?;
    fsconfig_create(&tmpfs).map_err(step("create the tmpfs"))?;
    let mounted = fsmount(&tmpfs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
    let mounted = mounted.map_err(step("mount the tmpfs"))?;
    let directory = |name: &'static str| {
        mkdirat(&mounted, name, Mode::from_raw_mode(0o755)).map_err(step("make a directory on the tmpfs"))
    };
    directory("upper")?;
    directory("work")?;
    move_mount(&mounted, "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).map_err(step("attach the tmpfs"))?;
    Ok((target.join("upper"), target.join("work")))
}
