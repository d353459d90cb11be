//! Where data is kept when nobody says where.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

const OF_ROOT: &str = "/var/lib/eventide";

/// The directory that was asked for, else the one that fits the user; always absolute.
pub fn resolve(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let directory = match asked {
        Some(asked) => asked.to_owned(),
        None if is_root() => PathBuf::from(OF_ROOT),
        None => of_user().ok_or_else(|| {
            let why = "neither XDG_DATA_HOME nor HOME is set: say where data is kept with --data-dir DIR";
            Failure::Refused(why.to_owned())
        })?,
    };
    Ok(std::path::absolute(directory)?)
}

/// Where images are kept in it.
#[cfg(target_os = "linux")]
pub fn images(data_dir: &Path) -> PathBuf {
    data_dir.join("images")
}

fn of_user() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".local/share"));
    Some(set("XDG_DATA_HOME").or_else(home)?.join("eventide"))
}

/// `/proc/self` belongs to whoever runs.
pub fn is_root() -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Path::new("/proc/self").metadata().is_ok_and(|process| process.uid() == 0)
    }
    #[cfg(not(unix))]
    false
}
