//! How long a container that still runs may take when its sandbox is stopped or it is removed: nobody said so.

use std::time::Duration;

/// What a container gets at most.
const GRACE_MAX: Duration = Duration::from_secs(10);
/// What the caller keeps for everything after the stop.
const MARGIN: Duration = Duration::from_secs(1);

/// The time a straggler has: little, and none that the caller does not have.
pub fn straggler_grace(caller_waits: Option<Duration>) -> Duration {
    caller_waits.map_or(GRACE_MAX, |waits| waits.saturating_sub(MARGIN).min(GRACE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.5
    #[test]
    fn a_straggler_never_outlasts_its_caller() {
        let seconds = Duration::from_secs;
        let table = [(None, 10), (Some(120), 10), (Some(11), 10), (Some(5), 4), (Some(1), 0), (Some(0), 0)];
        for (waits, grace) in table {
            assert_eq!(straggler_grace(waits.map(seconds)), seconds(grace), "{waits:?}");
        }
    }
}
