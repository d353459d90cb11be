//! How many requests are worked on at the same time, fairly among users.
//!
//! Reads and writes have a pool each, so that neither starves the other; watches and streams are not counted, because
//! they wait and do not work. One user alone may take nine tenths of a pool: there is always room for someone else. When
//! a pool is half full, nobody gets more than an equal share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::status::Status;

/// Reads that are worked on at the same time.
pub const MAX_READS: usize = 400;
/// Writes that are worked on at the same time.
pub const MAX_WRITES: usize = 200;
/// When a client that was turned away may come back.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Requests of one sort.
pub struct Pool {
    most: usize,
    users: Mutex<HashMap<String, usize>>,
}

/// Room in a pool; given back when dropped.
pub struct Room {
    pool: Arc<Pool>,
    user: String,
}

impl Pool {
    pub fn new(most: usize) -> Arc<Pool> {
        Arc::new(Pool { most, users: Mutex::default() })
    }

    /// Makes room for a request, or says when to come back.
    pub fn enter(self: &Arc<Pool>, user: &str) -> Result<Room, Status> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = users.values().sum();
        let own = users.get(user).copied().unwrap_or_default();
        let sharing = users.len() + usize::from(own == 0);
        if total >= self.most || own >= self.share(total, sharing) {
            let why = "too many requests, please try again later";
            return Err(Status::too_many_requests(why, RETRY_AFTER_SECONDS));
        }
        users.insert(user.to_owned(), own + 1);
        Ok(Room { pool: self.clone(), user: user.to_owned() })
    }

    /// What one user may have when `total` is taken and `sharing` users want some.
    fn share(&self, total: usize, sharing: usize) -> usize {
        let alone = (self.most - self.most / 10).max(1);
        if total * 2 < self.most { alone } else { alone.min(self.most.div_ceil(sharing.max(1))) }
    }

    pub fn taken(&self) -> usize {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut users = self.pool.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(pool: &Arc<Pool>, user: &str) -> Vec<Room> {
        std::iter::from_fn(|| pool.enter(user).ok()).collect()
    }

    #[test]
    fn one_user_alone_leaves_room_for_another() {
        let pool = Pool::new(100);
        let greedy = fill(&pool, "greedy");
        assert_eq!(greedy.len(), 90);
        let modest = fill(&pool, "modest");
        assert_eq!(modest.len(), 10);
        assert_eq!(pool.enter("third").err().unwrap().retry_after_seconds(), Some(1));
    }

    #[test]
    fn users_who_come_together_get_equal_shares() {
        let pool = Pool::new(100);
        let mut rooms = Vec::new();
        let mut counts = [0; 2];
        for round in 0..400 {
            let user = round % 2;
            if let Ok(room) = pool.enter(["a", "b"][user]) {
                rooms.push(room);
                counts[user] += 1;
            }
        }
        assert_eq!(counts, [50, 50]);
    }

    #[test]
    fn room_is_given_back() {
        let pool = Pool::new(2);
        let room = pool.enter("a").ok().unwrap();
        assert_eq!(pool.taken(), 1);
        drop(room);
        assert_eq!(pool.taken(), 0);
        assert!(pool.users.lock().unwrap().is_empty());
    }
}
