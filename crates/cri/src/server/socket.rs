//! A bound Unix socket: taken only when nobody answers there, and removed when it is dropped.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;

use super::ServeError;
use crate::address::Address;

/// The owner and the group may talk to a runtime: it can do everything as root.
const MODE: u32 = 0o660;
/// After an accept that failed, for example because there are too many open files, and between tries to lock.
const PAUSE: Duration = Duration::from_millis(50);
/// Others hold the lock as long as a bind takes.
const LOCK_TRIES: usize = 100;

/// A listening socket. The file goes away with it, unless it is somebody else's by then.
#[derive(Debug)]
pub struct Socket {
    address: Address,
    listener: UnixListener,
    /// Device and number of our file.
    identity: (u64, u64),
}

impl Socket {
    /// Listens at an address, in place of a server that was killed but not of one that runs.
    pub async fn bind(address: &Address) -> Result<Socket, ServeError> {
        let path = address.path();
        let failed = |error: io::Error| ServeError::Failed { path: path.to_owned(), reason: error.to_string() };
        // Another server must not come between the look and the bind.
        let _alone = lock(path.parent().unwrap_or(Path::new("/"))).await.map_err(failed)?;
        make_room(path).await?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        let identity = fs::metadata(path).map(|file| (file.dev(), file.ino())).map_err(failed)?;
        let socket = Socket { address: address.clone(), listener, identity };
        fs::set_permissions(path, Permissions::from_mode(MODE)).map_err(failed)?;
        Ok(socket)
    }

    pub fn path(&self) -> &Path {
        self.address.path()
    }

    /// Connections as they come, without end.
    pub(super) fn connections(&self) -> impl Stream<Item = io::Result<UnixStream>> {
        unfold(&self.listener, |listener| async move {
            loop {
                match listener.accept().await {
                    Ok((connection, _)) => return Some((Ok(connection), listener)),
                    // To give up would end the runtime; what is wrong may pass.
                    Err(_) => sleep(PAUSE).await,
                }
            }
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(self.path()).is_ok_and(|file| (file.dev(), file.ino()) == self.identity);
        if ours {
            // Left behind, it is replaced by the next server.
            let _ = fs::remove_file(self.path());
        }
    }
}

/// Locks a directory until the answer is dropped.
async fn lock(directory: &Path) -> io::Result<File> {
    let directory = File::open(directory)?;
    for _ in 0..LOCK_TRIES {
        match directory.try_lock() {
            Ok(()) => return Ok(directory),
            Err(TryLockError::WouldBlock) => sleep(PAUSE).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, "somebody else keeps its directory locked"))
}

/// Removes a socket at which nobody answers.
async fn make_room(path: &Path) -> Result<(), ServeError> {
    let failed = |error: io::Error| ServeError::Failed { path: path.to_owned(), reason: error.to_string() };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(file) if !file.file_type().is_socket() => return Err(ServeError::NotASocket { path: path.to_owned() }),
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // Too busy to answer is also somebody.
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(failed(error)),
        Ok(_) | Err(_) => Err(ServeError::InUse { path: path.to_owned() }),
    }
}
