//! Points in time, handed in by whoever reads a clock.
//!
//! Milliseconds since the Unix epoch, whole numbers, saturating: no rule can overflow on a grace period of `i64::MAX`
//! seconds. Deadlines are moments, never "remaining seconds".

use std::fmt;
use std::ops::Add;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(i64);

impl Moment {
    /// Later than every moment that can be reached.
    pub const NEVER: Moment = Moment(i64::MAX);

    pub const fn from_millis(millis: i64) -> Moment {
        Moment(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The moment as objects show it: to the second.
    pub fn whole_second(self) -> Time {
        Time(Timestamp::from_second(self.0.div_euclid(1000)).unwrap_or(Timestamp::MAX))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Moment) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        if millis <= 0 { Duration::ZERO } else { Duration::from_millis(millis as u64) }
    }

    /// The moment `span` before this one.
    #[must_use]
    pub fn minus(self, span: Duration) -> Moment {
        Moment(self.0.saturating_sub(whole_millis(span)))
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(whole_millis(span)))
    }
}

fn whole_millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Moment::NEVER { f.write_str("never") } else { write!(f, "{}ms", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_overflowing() {
        let long = Duration::from_secs(u64::MAX);
        assert_eq!(Moment::from_millis(5) + long, Moment::NEVER);
        assert_eq!(Moment::from_millis(5).since(Moment::from_millis(9)), Duration::ZERO);
        assert_eq!(Moment::from_millis(-5).minus(long), Moment::from_millis(i64::MIN));
    }
}
