//! What was promised a connection: each promise has a token that nobody guesses, works once, and not for long.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

/// How long a token may wait to be used.
pub const LIFETIME: Duration = Duration::from_secs(60);
/// How many tokens may wait; beyond, the oldest is dropped.
pub const PENDING_MAX: usize = 1000;
/// 128 bits.
const TOKEN_BYTES: usize = 16;

/// A fresh token; none if the system has no random bytes.
pub fn fresh() -> Option<String> {
    let mut bytes = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// The promises, oldest first.
pub struct Pending<T>(VecDeque<Promise<T>>);

struct Promise<T> {
    token: String,
    expires: Instant,
    what: T,
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending(VecDeque::new())
    }
}

impl<T> Pending<T> {
    pub fn add(&mut self, token: String, what: T, now: Instant) {
        self.0.retain(|promise| promise.expires > now);
        if self.0.len() >= PENDING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Promise { token, expires: now + LIFETIME, what });
    }

    /// What was promised for a token, which is of no use afterwards.
    pub fn take(&mut self, token: &str, now: Instant) -> Option<T> {
        let at = self.0.iter().position(|promise| promise.token == token)?;
        let promise = self.0.remove(at)?;
        (promise.expires > now).then_some(promise.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_works_once() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        pending.add("a".to_owned(), 1, now);
        assert_eq!(pending.take("b", now), None);
        assert_eq!(pending.take("a", now), Some(1));
        assert_eq!(pending.take("a", now), None);
    }

    #[test]
    fn a_token_works_for_a_minute() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        pending.add("a".to_owned(), 1, now);
        pending.add("b".to_owned(), 2, now);
        assert_eq!(pending.take("a", now + LIFETIME - Duration::from_millis(1)), Some(1));
        assert_eq!(pending.take("b", now + LIFETIME), None);
    }

    #[test]
    fn the_oldest_token_gives_way() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        (0..=PENDING_MAX).for_each(|number| pending.add(number.to_string(), number, now));
        assert_eq!(pending.take("0", now), None);
        assert_eq!(pending.take("1", now), Some(1));
        assert_eq!(pending.take(&PENDING_MAX.to_string(), now), Some(PENDING_MAX));
    }

    #[test]
    fn tokens_have_128_bits_and_differ() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert_ne!(one, other);
        assert_eq!(URL_SAFE_NO_PAD.decode(one).unwrap().len(), 16);
    }
}
