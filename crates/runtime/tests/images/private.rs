//! Runs a test once more in a process with a mount namespace of its own, so that its mounts vanish with it, however
//! it ends.

use std::path::{Path, PathBuf};
use std::process::Command;

const MARK: &str = "IMAGES_TEST_IS_PRIVATE";

/// True inside the namespace. Outside, runs the test of that name inside, and is false when that went well.
pub fn is_private(test: &str) -> bool {
    if std::env::var_os(MARK).is_some_and(|mark| mark == *test) {
        return true;
    }
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, test)
        .output()
        .expect("unshare runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
    false
}

/// Mounts at a directory, taken off when dropped, so that the directory can be removed.
pub struct Mounts {
    target: PathBuf,
    count: usize,
}

impl Mounts {
    pub fn at(target: &Path, count: usize) -> Mounts {
        Mounts { target: target.to_owned(), count }
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for _ in 0..self.count {
            let _ = Command::new("umount").arg("--lazy").arg(&self.target).status();
        }
    }
}

/// A tmpfs of this size over a directory.
pub fn mount_tmpfs(directory: &Path, size: &str) -> Mounts {
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(directory).status();
    assert!(mounted.unwrap().success());
    Mounts::at(directory, 1)
}
