//! What a node that evicts by policy gives a pod, and what it says: shortage on the node, or too much disk used.

use crate::termination::{Cause, CauseKind};

/// What an eviction that cannot wait gives a pod.
const IMMEDIATE_SECONDS: i64 = 1;

/// What kind of threshold the node has crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    Hard,
    /// One that may be crossed for a while.
    Soft {
        /// The most that a pod is given.
        longest_seconds: i64,
    },
}

impl Threshold {
    /// The grace period that an eviction imposes on a pod with `spec_seconds`.
    pub fn override_seconds(self, spec_seconds: Option<i64>) -> i64 {
        match self {
            Threshold::Hard => IMMEDIATE_SECONDS,
            Threshold::Soft { longest_seconds } => spec_seconds.map_or(longest_seconds, |own| own.min(longest_seconds)),
        }
    }
}

/// A limit on local disk that a pod has passed. Limits are quantities as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageLimit<'a> {
    EmptyDir { volume: &'a str, limit: &'a str },
    WholePod { limit: &'a str },
    Container { name: &'a str, limit: &'a str },
}

impl StorageLimit<'_> {
    pub fn message(self) -> String {
        match self {
            StorageLimit::EmptyDir { volume, limit } => {
                format!("Usage of EmptyDir volume {volume:?} exceeds the limit {limit:?}. ")
            }
            StorageLimit::WholePod { limit } => {
                format!("Pod ephemeral local storage usage exceeds the total limit of containers {limit}. ")
            }
            StorageLimit::Container { name, limit } => {
                format!("Container {name} exceeded its local ephemeral storage limit {limit:?}. ")
            }
        }
    }

    /// The cause of the eviction that follows.
    pub fn cause(self) -> Cause {
        Cause { kind: CauseKind::StorageLimitExceeded, message: self.message() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::cause_status;

    /// 3.13.1
    #[test]
    fn a_hard_threshold_gives_one_second_and_a_soft_one_the_shorter_of_its_own_and_the_pods() {
        for spec in [None, Some(0), Some(30)] {
            assert_eq!(Threshold::Hard.override_seconds(spec), 1);
        }
        let soft = Threshold::Soft { longest_seconds: 20 };
        let given = [None, Some(5), Some(20), Some(60)].map(|spec| soft.override_seconds(spec));
        assert_eq!(given, [20, 5, 20, 20]);
    }

    /// 3.13.2
    #[test]
    fn a_pod_that_uses_too_much_disk_is_evicted_at_once_and_not_called_disrupted() {
        let rows = [
            (
                StorageLimit::EmptyDir { volume: "v", limit: "1Gi" },
                "Usage of EmptyDir volume \"v\" exceeds the limit \"1Gi\". ",
            ),
            (
                StorageLimit::WholePod { limit: "1Gi" },
                "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
            ),
            (
                StorageLimit::Container { name: "c", limit: "1Gi" },
                "Container c exceeded its local ephemeral storage limit \"1Gi\". ",
            ),
        ];
        for (limit, message) in rows {
            let status = cause_status(&limit.cause()).unwrap();
            assert_eq!((status.reason, status.message.as_str(), status.disruption), ("Evicted", message, None));
            assert_eq!(limit.cause().kind.override_seconds(), Some(IMMEDIATE_SECONDS));
        }
    }
}
