//! Who ends in which order and how: everything about a termination that is known before it begins.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Lifecycle, Pod};
use model::gates::FeatureGates;
use model::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::exit_order::ranks::{Ranks, on_node};
use crate::exit_order::stages::{Reserve, Role, Stage, StageKind, stages};
use crate::hook::Hook;
use crate::stop::{self, StopSignal};

/// A container's place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(u32);

impl Slot {
    pub fn new(index: usize) -> Slot {
        Slot(u32::try_from(index).expect("a pod has fewer than 2^32 containers"))
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How much of a pod ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    WholePod,
    /// One container; the pod lives on.
    OneContainer,
}

/// One container of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedContainer {
    pub name: String,
    pub role: Role,
    pub rank: i32,
    pub hook: Option<Hook>,
    pub signal: StopSignal,
}

/// The plan of a termination. Ranks are frozen in it; nothing changes it, so that copies share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SavedPlan", into = "SavedPlan")]
pub struct Plan {
    scope: Scope,
    reserve: Reserve,
    containers: Arc<[PlannedContainer]>,
    stages: Arc<[Stage]>,
    stage_of: Arc<[u32]>,
    ranks: usize,
}

/// What a plan depends on besides the pod.
#[derive(Clone, Copy)]
pub struct PlanSettings<'a> {
    pub gates: FeatureGates,
    pub reserve: Reserve,
    /// The `STOPSIGNAL` of a container's image, by container name, where known.
    pub image_signal: &'a dyn Fn(&str) -> Option<String>,
}

impl Default for PlanSettings<'_> {
    fn default() -> Self {
        PlanSettings { gates: FeatureGates::ALL_ON, reserve: Reserve::default(), image_signal: &|_| None }
    }
}

impl Plan {
    /// The plan for the whole pod: init containers, containers, ephemeral containers, as declared.
    pub fn of_pod(pod: &Pod, settings: PlanSettings<'_>) -> Plan {
        let (ranks, _) = on_node(pod);
        let spec = pod.spec.as_ref();
        let init = spec.and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
        let regular = spec.map(|spec| spec.containers.as_slice()).unwrap_or_default();
        let ephemeral = spec.and_then(|spec| spec.ephemeral_containers.as_deref()).unwrap_or_default();
        let mut containers = Vec::with_capacity(init.len() + regular.len() + ephemeral.len());
        containers.extend(init.iter().map(|c| planned(c, init_role(c), &Ranks::default(), settings)));
        containers.extend(regular.iter().map(|c| planned(c, Role::Regular, &ranks, settings)));
        containers.extend(ephemeral.iter().map(|c| planned_from(&c.name, None, Role::Ephemeral, 0, settings)));
        Plan::new(Scope::WholePod, containers, settings.reserve)
    }

    /// The plan for containers of which only the runtime knows: no order, no hooks, the usual signal.
    pub fn of_orphan(names: &[&str], settings: PlanSettings<'_>) -> Plan {
        let containers = names.iter().map(|name| planned_from(name, None, Role::Regular, 0, settings)).collect();
        Plan::new(Scope::WholePod, containers, settings.reserve)
    }

    /// The plan for stopping one container of a pod that lives on: same routine, nobody to wait for.
    #[must_use]
    pub fn of_container(&self, slot: Slot) -> Plan {
        Plan::new(Scope::OneContainer, vec![self.container(slot).clone()], self.reserve)
    }

    pub fn new(scope: Scope, containers: Vec<PlannedContainer>, reserve: Reserve) -> Plan {
        let shape: Vec<(Role, i32)> = containers.iter().map(|c| (c.role, c.rank)).collect();
        let stages = match scope {
            Scope::WholePod => stages(&shape),
            Scope::OneContainer => {
                vec![Stage { kind: StageKind::Rank(0), members: (0..containers.len()).collect() }]
            }
        };
        let mut stage_of = vec![0; containers.len()];
        for (place, stage) in stages.iter().enumerate() {
            for member in &stage.members {
                stage_of[*member] = u32::try_from(place).expect("no more stages than containers");
            }
        }
        let ranks = stages.iter().filter(|stage| matches!(stage.kind, StageKind::Rank(_))).count();
        let (containers, stages, stage_of) = (containers.into(), stages.into(), stage_of.into());
        Plan { scope, reserve, containers, stages, stage_of, ranks }
    }

    pub const fn scope(&self) -> Scope {
        self.scope
    }

    pub const fn reserve(&self) -> Reserve {
        self.reserve
    }

    pub fn len(&self) -> usize {
        self.containers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.containers.len()).map(Slot::new)
    }

    pub fn container(&self, slot: Slot) -> &PlannedContainer {
        &self.containers[slot.index()]
    }

    pub fn find(&self, name: &str) -> Option<Slot> {
        self.containers.iter().position(|container| container.name == name).map(Slot::new)
    }

    /// Never empty.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    pub fn stage_of(&self, slot: Slot) -> usize {
        self.stage_of[slot.index()] as usize
    }

    /// How many of the stages are ranks; they come first.
    pub const fn rank_stages(&self) -> usize {
        self.ranks
    }

    /// Whether regular containers wait for each other.
    pub const fn has_ranks(&self) -> bool {
        self.ranks > 1
    }

    /// A sidecar's hook starts with the pod's end, every other one on its container's turn.
    pub fn hook_starts_at_once(&self, slot: Slot) -> bool {
        self.scope == Scope::WholePod && self.container(slot).role == Role::Sidecar
    }
}

fn init_role(container: &Container) -> Role {
    if container.restart_policy.as_deref() == Some("Always") { Role::Sidecar } else { Role::Init }
}

fn planned(container: &Container, role: Role, ranks: &Ranks, settings: PlanSettings<'_>) -> PlannedContainer {
    let rank = ranks.of(&container.name);
    planned_from(&container.name, container.lifecycle.as_ref(), role, rank, settings)
}

fn planned_from(
    name: &str,
    lifecycle: Option<&Lifecycle>,
    role: Role,
    rank: i32,
    settings: PlanSettings<'_>,
) -> PlannedContainer {
    let spec_signal = lifecycle.and_then(|l| l.stop_signal.as_deref()).and_then(Signal::named);
    let image_signal = (settings.image_signal)(name);
    PlannedContainer {
        name: name.to_owned(),
        role,
        rank,
        hook: Hook::pre_stop(lifecycle),
        signal: stop::effective(spec_signal, image_signal.as_deref(), settings.gates),
    }
}

/// What of a plan is kept on disk; the rest follows from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedPlan {
    scope: Scope,
    reserve: Reserve,
    containers: Vec<PlannedContainer>,
}

impl From<SavedPlan> for Plan {
    fn from(saved: SavedPlan) -> Plan {
        Plan::new(saved.scope, saved.containers, saved.reserve)
    }
}

impl From<Plan> for SavedPlan {
    fn from(plan: Plan) -> SavedPlan {
        SavedPlan { scope: plan.scope, reserve: plan.reserve, containers: plan.containers.to_vec() }
    }
}
