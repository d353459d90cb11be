//! The addresses of a subnet: one file per address that is taken, named after it, holding the sandbox's id.
//!
//! A file is made exclusively, so that an address is never given twice; an address that was given back is not given
//! again before the others were.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;

/// Remembers where to go on after a restart; no address has this name.
const LAST: &str = "last";
/// No pool gives out more; a larger subnet is used in part.
const MAX_ADDRESSES: u128 = 1 << 16;

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("the subnet {0} is too small for a gateway and a sandbox")]
    TooSmall(IpNet),
    #[error("no address is free in {subnet}: all {taken} are taken by sandboxes")]
    Exhausted { subnet: IpNet, taken: usize },
    #[error("{action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

/// What is taken of one subnet.
#[derive(Debug)]
pub struct Pool {
    directory: PathBuf,
    subnet: IpNet,
    /// Positions in the subnet; 1 is the gateway.
    taken: BTreeMap<u128, String>,
    last: u128,
}

impl Pool {
    pub fn open(directory: &Path, subnet: IpNet) -> Result<Self, PoolError> {
        let subnet = subnet.trunc();
        if size(subnet) < 1 {
            return Err(PoolError::TooSmall(subnet));
        }
        fs::create_dir_all(directory).map_err(|error| failed("cannot make", directory, error))?;
        let mut pool = Self { directory: directory.to_owned(), subnet, taken: BTreeMap::new(), last: 1 };
        for (address, owner) in pool.files()? {
            if let Some(position) = pool.position(address) {
                pool.taken.insert(position, owner);
            }
        }
        let last = fs::read_to_string(directory.join(LAST)).ok().and_then(|text| text.parse().ok());
        pool.last = last.and_then(|address| pool.position(address)).unwrap_or(1);
        Ok(pool)
    }

    /// The address of the host in the subnet.
    pub fn gateway(&self) -> IpNet {
        self.at(1)
    }

    /// Takes the next free address for a sandbox.
    pub fn reserve(&mut self, owner: &str) -> Result<IpNet, PoolError> {
        let size = size(self.subnet);
        for step in 1..=size {
            // Positions 0 and 1 are the network's and the gateway's.
            let position = 2 + (self.last - 1 + step - 1) % size;
            if !self.taken.contains_key(&position) && self.claim(position, owner)? {
                return Ok(self.at(position));
            }
        }
        Err(PoolError::Exhausted { subnet: self.subnet, taken: self.taken.len() })
    }

    /// Gives back all that a sandbox has; it may be nothing.
    pub fn release(&mut self, owner: &str) -> Result<(), PoolError> {
        self.release_if(|of| of == owner)
    }

    /// Gives back what belongs to no sandbox that lives.
    pub fn retain(&mut self, lives: impl Fn(&str) -> bool) -> Result<(), PoolError> {
        for (address, owner) in self.files()? {
            // Files of another subnet, from before the settings changed, are in no one's way but are no one's either.
            if self.position(address).is_none() && !lives(&owner) {
                self.remove(address)?;
            }
        }
        self.release_if(|owner| !lives(owner))
    }

    fn release_if(&mut self, goes: impl Fn(&str) -> bool) -> Result<(), PoolError> {
        let positions: Vec<u128> =
            self.taken.iter().filter(|(_, owner)| goes(owner)).map(|(position, _)| *position).collect();
        for position in positions {
            self.remove(self.at(position).addr())?;
            self.taken.remove(&position);
        }
        Ok(())
    }

    fn claim(&mut self, position: u128, owner: &str) -> Result<bool, PoolError> {
        let address = self.at(position).addr();
        let path = self.directory.join(address.to_string());
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            // Someone else's, made since the pool was opened.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            other => other.map_err(|error| failed("cannot make", &path, error))?,
        };
        if let Err(error) = file.write_all(owner.as_bytes()) {
            let _ = fs::remove_file(&path);
            return Err(failed("cannot write", &path, error));
        }
        self.taken.insert(position, owner.to_owned());
        self.last = position;
        let last = self.directory.join(LAST);
        fs::write(&last, address.to_string()).map_err(|error| failed("cannot write", &last, error))?;
        Ok(true)
    }

    fn remove(&self, address: IpAddr) -> Result<(), PoolError> {
        let path = self.directory.join(address.to_string());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("cannot remove", &path, error)),
            _ => Ok(()),
        }
    }

    fn files(&self) -> Result<Vec<(IpAddr, String)>, PoolError> {
        let unreadable = |error| failed("cannot list", &self.directory, error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let Some(address) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A file whose owner was not written before a crash belongs to no one, and is given back as such.
            files.push((address, fs::read_to_string(entry.path()).unwrap_or_default()));
        }
        Ok(files)
    }

    fn at(&self, position: u128) -> IpNet {
        let address = match self.subnet.network() {
            IpAddr::V4(network) => {
                let offset = u32::try_from(position).expect("positions are below the pool's size");
                IpAddr::V4((u32::from(network) + offset).into())
            }
            IpAddr::V6(network) => IpAddr::V6((u128::from(network) + position).into()),
        };
        IpNet::new(address, self.subnet.prefix_len()).expect("the length is the subnet's own")
    }

    /// The place of an address that the pool may give out.
    fn position(&self, address: IpAddr) -> Option<u128> {
        let offset = match (self.subnet.network(), address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => u128::from(u32::from(address).checked_sub(network.into())?),
            (IpAddr::V6(network), IpAddr::V6(address)) => u128::from(address).checked_sub(network.into())?,
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return None,
        };
        (2..2 + size(self.subnet)).contains(&offset).then_some(offset)
    }
}

/// How many addresses a subnet has for sandboxes: not its first, not the gateway's, not the last, which is IPv4's
/// broadcast.
fn size(subnet: IpNet) -> u128 {
    let bits = u32::from(subnet.max_prefix_len() - subnet.prefix_len());
    1u128.checked_shl(bits).unwrap_or(u128::MAX).saturating_sub(3).min(MAX_ADDRESSES)
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> PoolError {
    PoolError::File { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
