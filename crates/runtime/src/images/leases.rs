//! What is being worked on: nobody removes it meanwhile, and nobody else fetches or unpacks it a second time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::digest::Digest;

/// Something that can be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Blob(Digest),
    /// A layer by its chain id.
    Layer(Digest),
}

/// Everything that is worked on at the moment.
#[derive(Clone, Default)]
pub struct Leases {
    held: Arc<Mutex<HashMap<Key, Held>>>,
}

#[derive(Default)]
struct Held {
    count: usize,
    turn: Arc<AsyncMutex<()>>,
}

/// As long as it lives, its thing is not removed.
pub struct Lease {
    key: Key,
    turn: Arc<AsyncMutex<()>>,
    leases: Leases,
}

impl Leases {
    pub fn take(&self, key: Key) -> Lease {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = held.entry(key).or_default();
        entry.count += 1;
        Lease { key, turn: Arc::clone(&entry.turn), leases: self.clone() }
    }

    /// Does something to a thing that nobody works on, and keeps everybody off it meanwhile.
    pub fn unless_held<T>(&self, key: Key, action: impl FnOnce() -> T) -> Option<T> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains_key(&key) { None } else { Some(action()) }
    }
}

impl Lease {
    /// Waits until it is our turn to make the thing.
    pub async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// The same, on a thread that may block.
    pub fn blocking_turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).blocking_lock_owned()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut held = self.leases.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = held.get_mut(&self.key) {
            entry.count -= 1;
            if entry.count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_left_alone_until_the_last_lease_ends() {
        let leases = Leases::default();
        let key = Key::Blob(Digest::of(b"x"));
        let (first, second) = (leases.take(key), leases.take(key));
        drop(first);
        assert_eq!(leases.unless_held(key, || 1), None);
        assert_eq!(leases.unless_held(Key::Layer(Digest::of(b"x")), || 1), Some(1));
        drop(second);
        assert_eq!(leases.unless_held(key, || 1), Some(1));
    }
}
