//! The order in which a node lets containers go, and the time it keeps back for those that come later.
//!
//! Regular containers by rank, ascending; then native sidecars one by one, last declared first, whatever the ranks
//! are. Ephemeral containers go with the last rank and plain init containers with the first; nobody waits for either.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// What a container is to the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// An entry of `spec.containers`.
    Regular,
    /// A restartable init container.
    Sidecar,
    /// An init container that is expected to finish.
    Init,
    Ephemeral,
}

impl Role {
    /// Whether later stages wait for such a container.
    pub const fn holds_later_stages(self) -> bool {
        match self {
            Role::Regular | Role::Sidecar => true,
            Role::Init | Role::Ephemeral => false,
        }
    }
}

/// Why the members of a stage belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StageKind {
    Rank(i32),
    Sidecar,
}

/// Containers that are let go at the same time, by their place in the caller's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub kind: StageKind,
    pub members: Vec<usize>,
}

/// Sorts containers, given as role and rank in order of declaration, into stages. There is always at least one.
pub fn stages(containers: &[(Role, i32)]) -> Vec<Stage> {
    let mut by_rank: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    for (at, (role, rank)) in containers.iter().enumerate() {
        if *role == Role::Regular {
            by_rank.entry(*rank).or_default().push(at);
        }
    }
    let mut stages: Vec<Stage> =
        by_rank.into_iter().map(|(rank, members)| Stage { kind: StageKind::Rank(rank), members }).collect();
    if stages.is_empty() {
        stages.push(Stage { kind: StageKind::Rank(0), members: vec![] });
    }
    let last_rank = stages.len() - 1;
    for (at, (role, _)) in containers.iter().enumerate() {
        match role {
            Role::Init => stages[0].members.push(at),
            Role::Ephemeral => stages[last_rank].members.push(at),
            Role::Regular | Role::Sidecar => {}
        }
    }
    let sidecars = containers.iter().enumerate().rev().filter(|(_, (role, _))| *role == Role::Sidecar);
    stages.extend(sidecars.map(|(at, _)| Stage { kind: StageKind::Sidecar, members: vec![at] }));
    stages
}

/// The time that earlier ranks may not use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve(Duration);

/// Reserves shrink in steps of this size.
const STEP: Duration = Duration::from_millis(100);

impl Default for Reserve {
    fn default() -> Self {
        Reserve(Duration::from_secs(2))
    }
}

impl Reserve {
    /// No reserve: a rank may use all the time there is.
    pub const NONE: Reserve = Reserve(Duration::ZERO);

    pub const fn per_rank(span: Duration) -> Reserve {
        Reserve(span)
    }

    /// What each later rank really keeps of a grace period: the wish, or an equal share in whole steps.
    pub fn share(self, grace: Duration, ranks: usize) -> Duration {
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX).max(1);
        let wanted = self.0.saturating_mul(ranks);
        if grace >= wanted {
            return self.0;
        }
        let steps = (grace / ranks).as_millis() / STEP.as_millis();
        STEP * u32::try_from(steps).unwrap_or(u32::MAX)
    }

    /// When the rank at `place` (counted from 0, of `ranks`) must let the next one go, even though it still runs.
    pub fn point(self, deadline: Moment, grace: Duration, place: usize, ranks: usize) -> Moment {
        let later = u32::try_from(ranks.saturating_sub(place + 1)).unwrap_or(u32::MAX);
        deadline.minus(self.share(grace, ranks).saturating_mul(later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(containers: &[(Role, i32)]) -> Vec<Vec<usize>> {
        stages(containers).into_iter().map(|stage| stage.members).collect()
    }

    /// I1, 3.6.4
    #[test]
    fn ranks_ascend_then_sidecars_go_in_reverse() {
        let pod = [
            (Role::Sidecar, 0),
            (Role::Sidecar, 0),
            (Role::Regular, 2),
            (Role::Regular, -1),
            (Role::Regular, 0),
            (Role::Regular, 2),
        ];
        assert_eq!(members(&pod), [vec![3], vec![4], vec![2, 5], vec![1], vec![0]]);
    }

    /// I8, 3.6.2
    #[test]
    fn ephemeral_containers_go_with_the_last_rank_and_init_with_the_first() {
        let pod = [(Role::Init, 0), (Role::Regular, 0), (Role::Regular, 1), (Role::Ephemeral, 0), (Role::Sidecar, 0)];
        assert_eq!(members(&pod), [vec![1, 0], vec![2, 3], vec![4]]);
        assert!(!Role::Ephemeral.holds_later_stages() && !Role::Init.holds_later_stages());
    }

    /// 3.6.1
    #[test]
    fn a_pod_without_ranks_and_sidecars_has_one_stage() {
        assert_eq!(members(&[(Role::Regular, 0), (Role::Regular, 0)]), [vec![0, 1]]);
        assert_eq!(members(&[]), [Vec::<usize>::new()]);
    }

    /// G3
    #[test]
    fn a_rank_may_not_use_the_reserve_of_the_later_ones() {
        let deadline = Moment::from_millis(60_000);
        let grace = Duration::from_secs(60);
        let points: Vec<i64> = (0..3).map(|i| Reserve::default().point(deadline, grace, i, 3).millis()).collect();
        assert_eq!(points, [56_000, 58_000, 60_000]);
        let none: Vec<i64> = (0..3).map(|i| Reserve::NONE.point(deadline, grace, i, 3).millis()).collect();
        assert_eq!(none, [60_000; 3]);
    }

    /// G6
    #[test]
    fn a_reserve_larger_than_the_grace_shrinks_in_whole_steps() {
        let share = |grace: u64, ranks| Reserve::default().share(Duration::from_millis(grace), ranks).as_millis();
        assert_eq!(share(6_000, 3), 2_000);
        assert_eq!(share(5_000, 3), 1_600);
        assert_eq!(share(1_000, 3), 300);
        assert_eq!(share(100, 3), 0);
        assert_eq!(share(0, 3), 0);
    }
}
