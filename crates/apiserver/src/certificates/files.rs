//! Private files: read with a bound, written so that a crash leaves the old file or the new one, never half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::CertificateError;

/// Certificates and keys are a few kilobytes; a bundle of authorities is some hundred.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> CertificateError + 'a {
    move |source| CertificateError::Io { action, path: path.to_owned(), source }
}

/// Makes the directory if needed, and makes it private in any case.
pub(super) fn private_directory(path: &Path) -> Result<(), CertificateError> {
    fs::create_dir_all(path).map_err(failed("create", path))?;
    set_private_directory(path).map_err(failed("make private", path))
}

/// The text of a file, or none if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<String>, CertificateError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed("read", path))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(CertificateError::TooLarge { path: path.to_owned() });
    }
    // PEM is ASCII; whatever else stands in the file is for the PEM reader to complain about.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The text of a file that only its owner may read.
pub(super) fn read_private(path: &Path) -> Result<Option<String>, CertificateError> {
    let text = read(path)?;
    match (text.is_some(), mode(path)) {
        (true, Some(mode)) if mode & 0o077 != 0 => Err(CertificateError::TooOpen { path: path.to_owned(), mode }),
        (true | false, _) => Ok(text),
    }
}

/// Replaces a file at once by one that only its owner can read. What was acknowledged survives a crash.
pub fn write_private(path: &Path, text: &str) -> Result<(), CertificateError> {
    let beside = sibling(path);
    let written = write_new(&beside, text).and_then(|()| fs::rename(&beside, path));
    if let Err(error) = written {
        // The half-written copy is of no use; that it may stay behind harms nothing, the next write replaces it.
        let _ = fs::remove_file(&beside);
        return Err(failed("write", path)(error));
    }
    sync_directory(path).map_err(failed("write", path))
}

/// The copy is made in the same directory, so that renaming it is atomic.
fn sibling(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    set_private_file(&mut options);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn set_private_file(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(unix)]
fn set_private_directory(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::metadata(path).ok()?.permissions().mode() & 0o777)
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        Some(_) | None => File::open(".")?.sync_all(),
    }
}

// Elsewhere a new file takes the protection of its directory, and directories cannot be synced.
#[cfg(not(unix))]
fn set_private_file(_options: &mut OpenOptions) {}

#[cfg(not(unix))]
fn set_private_directory(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
