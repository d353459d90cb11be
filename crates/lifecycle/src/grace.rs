//! How long a pod or a container may take to end.
//!
//! A grace period only ever shrinks, whoever asks. A request for zero is remembered as zero, because it also means
//! that no preStop hook runs, but the pod still gets the shortest time a node gives.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The shortest time between a container's stop signal and its SIGKILL, even after the deadline.
pub const STOP_FLOOR: Duration = Duration::from_secs(2);

/// What a container without any grace period in reach is given.
const BASE_SECONDS: i64 = 2;

/// The shortest grace period that takes effect on a node.
const SHORTEST_SECONDS: u64 = 1;

/// The least a caller that waits for a pod's end waits.
const SHORTEST_BLOCKING_SECONDS: u64 = 10;

/// A grace period as it was asked for, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grace(u64);

impl Grace {
    /// Negative values mean one second, as everywhere in the API.
    pub const fn from_seconds(seconds: i64) -> Grace {
        if seconds < 0 { Grace(1) } else { Grace(seconds as u64) }
    }

    pub const fn requested_seconds(self) -> u64 {
        self.0
    }

    /// What the pod really gets: at least one second.
    pub const fn effective_seconds(self) -> u64 {
        if self.0 < SHORTEST_SECONDS { SHORTEST_SECONDS } else { self.0 }
    }

    pub const fn effective(self) -> Duration {
        Duration::from_secs(self.effective_seconds())
    }

    /// preStop hooks run unless the pod's or the delete's grace period is zero.
    pub const fn runs_hooks(self) -> bool {
        self.0 > 0
    }

    /// How long a caller waits for the containers of a pod that it asked to end: half as long again as the grace
    /// period, and at least ten seconds.
    pub const fn blocking_timeout(self) -> Duration {
        let seconds = self.0.saturating_add(self.0 / 2);
        Duration::from_secs(if seconds < SHORTEST_BLOCKING_SECONDS { SHORTEST_BLOCKING_SECONDS } else { seconds })
    }
}

/// The grace periods known when a pod's end is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `metadata.deletionGracePeriodSeconds`.
    pub deletion_seconds: Option<i64>,
    /// What the caller on the node demands (eviction, node shutdown, preemption).
    pub override_seconds: Option<i64>,
    /// `spec.terminationGracePeriodSeconds`.
    pub spec_seconds: Option<i64>,
}

/// A pod's grace period after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There was none before.
    Set(Grace),
    /// The request was shorter than what was in force.
    Shortened(Grace),
    /// The request was not shorter.
    Kept(Grace),
}

impl Change {
    pub const fn grace(self) -> Grace {
        match self {
            Change::Set(grace) | Change::Shortened(grace) | Change::Kept(grace) => grace,
        }
    }
}

/// The grace period of a whole pod after `asked`, given the one in force.
///
/// The shortest of the delete's, the caller's and the one in force; the spec's only when nobody named another.
pub fn of_pod(in_force: Option<Grace>, asked: Asked) -> Change {
    let named = [asked.deletion_seconds, asked.override_seconds].into_iter().flatten().map(Grace::from_seconds).min();
    match (in_force, named) {
        (None, Some(grace)) => Change::Set(grace),
        (None, None) => Change::Set(Grace::from_seconds(asked.spec_seconds.unwrap_or(0))),
        (Some(before), Some(grace)) if grace < before => Change::Shortened(grace),
        (Some(before), _) => Change::Kept(before),
    }
}

/// The grace period of one container that is stopped while its pod lives on.
///
/// The delete's if there is one, else the failed probe's own, else the pod's.
pub fn of_container(deletion_seconds: Option<i64>, spec_seconds: Option<i64>, probe_seconds: Option<i64>) -> Grace {
    let seconds = match (deletion_seconds, spec_seconds) {
        (Some(seconds), _) => seconds,
        (None, Some(pod)) => probe_seconds.unwrap_or(pod),
        (None, None) => BASE_SECONDS,
    };
    Grace::from_seconds(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(deletion: Option<i64>, r#override: Option<i64>) -> Asked {
        Asked { deletion_seconds: deletion, override_seconds: r#override, spec_seconds: Some(30) }
    }

    /// 3.2.2, 3.2.3
    #[test]
    fn the_shortest_of_delete_and_override_wins_and_the_spec_fills_in() {
        let rows = [
            (None, None, 30, 30),
            (Some(5), None, 5, 5),
            (Some(5), Some(2), 2, 2),
            (Some(0), None, 0, 1),
            (Some(5), Some(0), 0, 1),
            (None, Some(60), 60, 60),
            (Some(-3), None, 1, 1),
        ];
        for (deletion, r#override, requested, effective) in rows {
            let change = of_pod(None, asked(deletion, r#override));
            assert_eq!(change, Change::Set(Grace(requested)), "{deletion:?} {override:?}");
            assert_eq!(change.grace().effective_seconds(), effective);
        }
    }

    /// 3.2.2, 3.2.3, 8.8
    #[test]
    fn a_grace_period_never_grows() {
        assert_eq!(of_pod(Some(Grace(30)), asked(Some(10), None)), Change::Shortened(Grace(10)));
        assert_eq!(of_pod(Some(Grace(10)), asked(Some(60), None)), Change::Kept(Grace(10)));
        assert_eq!(of_pod(Some(Grace(10)), asked(None, None)), Change::Kept(Grace(10)));
        assert_eq!(of_pod(Some(Grace(0)), asked(Some(10), Some(20))), Change::Kept(Grace(0)));
    }

    /// Upstream lets a longer override replace a delete of zero (3.2.4); here the shorter one wins.
    #[test]
    fn a_longer_override_does_not_lengthen_a_delete_of_zero() {
        assert_eq!(of_pod(None, asked(Some(0), Some(20))), Change::Set(Grace(0)));
    }

    /// The decision on preStop with a grace period of zero.
    #[test]
    fn hooks_run_unless_the_grace_period_is_zero() {
        assert!(!Grace::from_seconds(0).runs_hooks());
        assert!(Grace::from_seconds(1).runs_hooks());
        assert!(!of_pod(None, Asked { spec_seconds: Some(0), ..Asked::default() }).grace().runs_hooks());
    }

    /// 3.5.1
    #[test]
    fn a_container_gets_the_deletes_grace_then_its_probes_then_the_pods() {
        assert_eq!(of_container(Some(40), Some(60), Some(10)), Grace(40));
        assert_eq!(of_container(None, Some(60), Some(10)), Grace(10));
        assert_eq!(of_container(None, Some(5), Some(90)), Grace(90));
        assert_eq!(of_container(None, Some(60), None), Grace(60));
        assert_eq!(of_container(None, None, Some(10)), Grace(2));
    }

    /// 3.3.1
    #[test]
    fn a_blocking_caller_waits_half_as_long_again_and_at_least_ten_seconds() {
        for (grace, timeout) in [(0, 10), (1, 10), (6, 10), (7, 10), (8, 12), (30, 45), (31, 46)] {
            assert_eq!(Grace(grace).blocking_timeout(), Duration::from_secs(timeout), "{grace}");
        }
        assert_eq!(Grace(u64::MAX).blocking_timeout(), Duration::from_secs(u64::MAX));
    }
}
