//! The conditions a node writes into a pod's status: whether it has a sandbox, is initialized, is ready, was disrupted.
//!
//! Reasons and messages are upstream's. Conditions of others are kept as they are; among them are those about resizing
//! and about the restart of all containers, which are not written here.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus};

use super::{Containers, Disruption, Phase, is_sidecar, ready_when_over};
use crate::moment::Moment;

/// A condition that a node writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    PodReadyToStartContainers,
    Initialized,
    Ready,
    ContainersReady,
    PodScheduled,
    /// Shared with those who delete pods; a node only ever adds it.
    DisruptionTarget,
}

impl Kind {
    /// The kinds that only a node writes, in the order in which it writes them.
    const OWNED: [Kind; 5] =
        [Kind::PodReadyToStartContainers, Kind::Initialized, Kind::Ready, Kind::ContainersReady, Kind::PodScheduled];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::PodReadyToStartContainers => "PodReadyToStartContainers",
            Kind::Initialized => "Initialized",
            Kind::Ready => "Ready",
            Kind::ContainersReady => "ContainersReady",
            Kind::PodScheduled => "PodScheduled",
            Kind::DisruptionTarget => "DisruptionTarget",
        }
    }

    fn is_owned(name: &str) -> bool {
        Kind::OWNED.iter().any(|kind| kind.name() == name)
    }
}

/// What the runtime has of a pod's sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// One is ready, with all that the pod asks for.
    Ready,
    /// There is none.
    Absent,
    /// The newest one is stopped.
    NotReady,
    /// More than one is ready.
    Several,
    /// Whether the pod uses the node's network is not what it was when the sandbox was made.
    NetworkModeChanged,
    NoAddress,
}

impl Sandbox {
    /// Why containers cannot be started in it.
    pub const fn obstacle(self) -> Option<&'static str> {
        match self {
            Sandbox::Ready => None,
            Sandbox::Absent => Some("no pod sandbox exists"),
            Sandbox::NotReady => Some("pod sandbox is not ready"),
            Sandbox::Several => Some("multiple pod sandboxes are ready and need to be reconciled"),
            Sandbox::NetworkModeChanged => Some("network namespace mode changed and sandbox needs to be recreated"),
            Sandbox::NoAddress => Some("pod sandbox has no IP address"),
        }
    }
}

/// What conditions are read from.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Spec, generation, and the container statuses of now.
    pub pod: &'a Pod,
    /// The phase decided now, even if it is held back.
    pub phase: Phase,
    /// The status that the API shows.
    pub shown: &'a PodStatus,
    pub sandbox: Sandbox,
    pub containers: Containers,
    /// What a cause on the node leaves behind.
    pub disruption: Option<&'a Disruption>,
}

/// All conditions of a pod's new status: those of others first, then the node's own.
pub fn of_pod(facts: Facts<'_>, now: Moment) -> Vec<PodCondition> {
    let shown = facts.shown.conditions.as_deref().unwrap_or_default();
    let mut conditions: Vec<PodCondition> = shown.iter().filter(|c| !Kind::is_owned(&c.type_)).cloned().collect();
    if let Some(says) = disruption(facts) {
        let condition = written(Kind::DisruptionTarget, says, facts, now);
        match conditions.iter_mut().find(|other| other.type_ == condition.type_) {
            Some(other) => *other = condition,
            None => conditions.push(condition),
        }
    }
    for kind in Kind::OWNED {
        let says = match kind {
            Kind::PodReadyToStartContainers => ready_to_start(facts.sandbox),
            Kind::Initialized => initialized(facts),
            Kind::Ready => ready(facts, &conditions),
            Kind::ContainersReady => containers_ready(facts),
            Kind::PodScheduled => Says::yes(),
            Kind::DisruptionTarget => continue,
        };
        conditions.push(written(kind, says, facts, now));
    }
    conditions
}

/// Whether the condition `name` is among `conditions` and true.
pub(super) fn is_true<'a>(mut conditions: impl Iterator<Item = &'a PodCondition>, name: &str) -> bool {
    conditions.any(|condition| condition.type_ == name && condition.status == "True")
}

/// Status, reason and message of a condition.
struct Says {
    status: &'static str,
    reason: Option<&'static str>,
    message: Option<String>,
}

impl Says {
    const fn yes() -> Says {
        Says { status: "True", reason: None, message: None }
    }

    const fn no(reason: &'static str) -> Says {
        Says { status: "False", reason: Some(reason), message: None }
    }

    fn because(self, message: String) -> Says {
        Says { message: Some(message), ..self }
    }

    fn is_yes(&self) -> bool {
        self.status == "True"
    }
}

/// The time of a condition is that of the last change of its status.
fn written(kind: Kind, says: Says, facts: Facts<'_>, now: Moment) -> PodCondition {
    let before = shown(facts, kind).filter(|before| before.status == says.status);
    let last_transition_time = before.map_or(Some(now.whole_second()), |before| before.last_transition_time.clone());
    PodCondition {
        type_: kind.name().to_owned(),
        status: says.status.to_owned(),
        reason: says.reason.map(str::to_owned),
        message: says.message,
        observed_generation: facts.pod.metadata.generation,
        last_transition_time,
        ..PodCondition::default()
    }
}

fn shown(facts: Facts<'_>, kind: Kind) -> Option<&PodCondition> {
    facts.shown.conditions.iter().flatten().find(|condition| condition.type_ == kind.name())
}

/// A disruption is told together with the terminal phase, and not before nothing runs any more.
fn disruption(facts: Facts<'_>) -> Option<Says> {
    let disruption = facts.disruption?;
    let was_terminal = facts.shown.phase.as_deref().and_then(Phase::named).is_some_and(Phase::is_terminal);
    let becomes_terminal = facts.phase.is_terminal() && !was_terminal;
    let told = becomes_terminal && facts.containers == Containers::AllGone;
    told.then(|| Says { reason: Some(disruption.reason), ..Says::yes() }.because(disruption.message.clone()))
}

fn ready_to_start(sandbox: Sandbox) -> Says {
    match sandbox.obstacle() {
        None => Says::yes(),
        Some(obstacle) => Says::no("PodSandboxNotReady").because(obstacle.to_owned()),
    }
}

fn initialized(facts: Facts<'_>) -> Says {
    let Some(spec) = &facts.pod.spec else { return Says::yes() };
    let init = spec.init_containers.as_deref().unwrap_or_default();
    let statuses = Statuses::of(facts.pod);
    if statuses.is_empty() && !init.is_empty() {
        return Says::no("UnknownContainerStatuses");
    }
    let is_done = |container: &Container, status: &ContainerStatus| {
        if is_sidecar(container) { status.started == Some(true) } else { status.ready }
    };
    let lacking = Lacking::among(init.iter(), &statuses, is_done);
    if facts.phase == Phase::Succeeded && lacking.unknown.is_empty() {
        return Says { reason: Some("PodCompleted"), ..Says::yes() };
    }
    let was_initialized = shown(facts, Kind::Initialized).is_some_and(|before| before.status == "True");
    match lacking.told("incomplete") {
        Some(message) if !was_initialized && !statuses.any_main_started(spec) => {
            Says::no("ContainersNotInitialized").because(message)
        }
        Some(_) | None => Says::yes(),
    }
}

fn containers_ready(facts: Facts<'_>) -> Says {
    let Some(spec) = &facts.pod.spec else { return Says::no("UnknownContainerStatuses") };
    let statuses = Statuses::of(facts.pod);
    if statuses.is_empty() {
        return Says::no("UnknownContainerStatuses");
    }
    let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
    let lacking = Lacking::among(sidecars.chain(&spec.containers), &statuses, |_, status| status.ready);
    if let Some(over) = ready_when_over(facts.phase)
        && (facts.phase == Phase::Failed || lacking.unknown.is_empty())
    {
        return Says::no(over.reason);
    }
    match lacking.told("unready") {
        Some(message) => Says::no("ContainersNotReady").because(message),
        None => Says::yes(),
    }
}

/// A pod is ready if its containers are and every readiness gate is open.
fn ready(facts: Facts<'_>, conditions: &[PodCondition]) -> Says {
    let containers = containers_ready(facts);
    if !containers.is_yes() {
        return containers;
    }
    let gates = facts.pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let closed: Vec<String> = gates.filter_map(|gate| closed_gate(&gate.condition_type, conditions)).collect();
    if closed.is_empty() { Says::yes() } else { Says::no("ReadinessGatesNotReady").because(closed.join(", ")) }
}

fn closed_gate(name: &str, conditions: &[PodCondition]) -> Option<String> {
    match conditions.iter().find(|condition| condition.type_ == name) {
        None => Some(format!("corresponding condition of pod readiness gate {name:?} does not exist.")),
        Some(condition) if condition.status == "True" => None,
        Some(condition) => {
            Some(format!("the status of pod readiness gate {name:?} is not \"True\", but {}", condition.status))
        }
    }
}

/// The statuses of init containers and containers.
struct Statuses<'a>(Vec<&'a ContainerStatus>);

impl Statuses<'_> {
    fn of(pod: &Pod) -> Statuses<'_> {
        let lists = pod.status.iter().flat_map(|status| [&status.init_container_statuses, &status.container_statuses]);
        Statuses(lists.flatten().flatten().collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn named(&self, name: &str) -> Option<&ContainerStatus> {
        self.0.iter().find(|status| status.name == name).copied()
    }

    fn any_main_started(&self, spec: &PodSpec) -> bool {
        let state = |container: &Container| self.named(&container.name).and_then(|status| status.state.as_ref());
        let mut states = spec.containers.iter().filter_map(state);
        states.any(|state| state.running.is_some() || state.terminated.is_some())
    }
}

/// The containers that keep a condition from being true.
struct Lacking<'a> {
    unknown: Vec<&'a str>,
    known: Vec<&'a str>,
}

impl<'a> Lacking<'a> {
    fn among(
        containers: impl Iterator<Item = &'a Container>,
        statuses: &Statuses<'_>,
        is_fine: impl Fn(&Container, &ContainerStatus) -> bool,
    ) -> Lacking<'a> {
        let mut lacking = Lacking { unknown: vec![], known: vec![] };
        for container in containers {
            match statuses.named(&container.name) {
                None => lacking.unknown.push(&container.name),
                Some(status) if is_fine(container, status) => {}
                Some(_) => lacking.known.push(&container.name),
            }
        }
        lacking
    }

    /// In words, unless nobody is lacking.
    fn told(&self, how: &str) -> Option<String> {
        let part = |how: &str, names: &[&str]| {
            (!names.is_empty()).then(|| format!("containers with {how} status: [{}]", names.join(" ")))
        };
        let parts: Vec<String> =
            [part("unknown", &self.unknown), part(how, &self.known)].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
