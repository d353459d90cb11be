//! What the checks know: the pod, each of its containers, each of their hooks, worked out once.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LifecycleHandler, Pod};
use model::gates::Gate;
use model::signal::{Os, Signal};

use super::command::{self, Length};
use super::image::Image;
use super::{Finding, Severity, Subject};
use crate::exit_order::ranks::{RankWarning, Ranks, on_node};
use crate::exit_order::stages::Role;
use crate::exit_order::{Settled, settle};
use crate::grace::Grace;
use crate::hook::Hook;

/// The grace period of a pod that names none.
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// A finding that does not know its id yet.
pub(super) struct Draft {
    pub(super) severity: Severity,
    pub(super) place: Place,
    pub(super) field: String,
    pub(super) container: Option<String>,
    pub(super) message: String,
    pub(super) remedy: String,
}

impl Draft {
    pub(super) fn into_finding(self, id: &'static str) -> Finding {
        let Draft { severity, place: _, field, container, message, remedy } = self;
        Finding { id, severity, field, container, message, remedy }
    }
}

/// Where in a pod a field stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Metadata,
    Spec,
    InitContainer(usize),
    Container(usize),
    EphemeralContainer(usize),
}

/// The pod as a whole.
pub(super) struct PodFacts<'a> {
    pub(super) subject: &'a Subject<'a>,
    /// The same pod for rules that want all of it.
    pub(super) pod: Pod,
    /// The grace period looked at.
    pub(super) grace: Grace,
    /// What the author's ranks come to.
    pub(super) settled: Settled,
    /// What a node finds odd about the settled ranks.
    pub(super) on_node_warnings: Vec<RankWarning>,
    /// The ranks a node follows.
    pub(super) ranks: Ranks,
    /// Every rank of a regular container once, ascending.
    pub(super) rank_values: Vec<i32>,
    /// How many regular containers are not known to be sidecars by trade.
    pub(super) main_containers: usize,
}

impl<'a> PodFacts<'a> {
    pub(super) fn of(subject: &'a Subject<'a>) -> PodFacts<'a> {
        let spec = subject.spec;
        let pod =
            Pod { metadata: subject.metadata.cloned().unwrap_or_default(), spec: Some(spec.clone()), ..Pod::default() };
        let asked = subject.grace_seconds.or(spec.termination_grace_period_seconds);
        let settled = settle(&pod);
        let (ranks, on_node_warnings) = on_node(&pod);
        let mut rank_values: Vec<i32> = spec.containers.iter().map(|c| ranks.of(&c.name)).collect();
        rank_values.sort_unstable();
        rank_values.dedup();
        PodFacts {
            subject,
            pod,
            grace: Grace::from_seconds(asked.unwrap_or(DEFAULT_GRACE_SECONDS)),
            settled,
            on_node_warnings,
            ranks,
            rank_values,
            main_containers: spec.containers.iter().filter(|c| !super::sidecars::is_sidecar_by_trade(c)).count(),
        }
    }

    /// Native sidecars, then regular containers, as declared.
    pub(super) fn containers(&self) -> impl Iterator<Item = ContainerFacts<'_>> {
        let init = self.subject.spec.init_containers.iter().flatten().enumerate();
        let sidecars = init
            .filter(|(_, container)| container.restart_policy.as_deref() == Some("Always"))
            .map(|(index, container)| ContainerFacts { pod: self, role: Role::Sidecar, index, container });
        let regular = self.subject.spec.containers.iter().enumerate();
        sidecars.chain(regular.map(|(index, container)| ContainerFacts {
            pod: self,
            role: Role::Regular,
            index,
            container,
        }))
    }

    /// The path of a field of the pod.
    pub(super) fn field(&self, below: &str) -> String {
        self.subject.path.child(below).to_string()
    }

    pub(super) fn grace_seconds(&self) -> u64 {
        self.grace.requested_seconds()
    }

    /// Whether regular containers wait for each other.
    pub(super) fn has_ranks(&self) -> bool {
        self.rank_values.len() > 1
    }

    pub(super) fn is_windows(&self) -> bool {
        self.subject.spec.os.as_ref().is_some_and(|os| Os::named(&os.name) == Some(Os::Windows))
    }

    /// A finding about the pod as a whole.
    pub(super) fn draft(&self, severity: Severity, below: &str, message: String, remedy: String) -> Draft {
        let place = if below.starts_with("metadata") { Place::Metadata } else { Place::Spec };
        Draft { severity, place, field: self.field(below), container: None, message, remedy }
    }
}

/// One regular container or native sidecar.
#[derive(Clone, Copy)]
pub(super) struct ContainerFacts<'a> {
    pub(super) pod: &'a PodFacts<'a>,
    pub(super) role: Role,
    index: usize,
    pub(super) container: &'a Container,
}

impl<'a> ContainerFacts<'a> {
    pub(super) fn name(&self) -> &'a str {
        &self.container.name
    }

    pub(super) fn image(&self) -> Image<'a> {
        Image::of(self.container.image.as_deref().unwrap_or_default())
    }

    /// The stop signal that is written down, whether it is used or not.
    pub(super) fn written_signal(&self) -> Option<Signal> {
        self.container.lifecycle.as_ref()?.stop_signal.as_deref().and_then(Signal::named)
    }

    /// The stop signal that is written down and used.
    pub(super) fn spec_signal(&self) -> Option<Signal> {
        self.written_signal().filter(|_| self.pod.subject.gates.enabled(Gate::ContainerStopSignals))
    }

    pub(super) fn has_pre_stop(&self) -> bool {
        self.container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.pre_stop.is_some())
    }

    /// How many ranks wait for this container's rank.
    pub(super) fn later_ranks(&self) -> usize {
        let rank = self.pod.ranks.of(self.name());
        self.pod.rank_values.len() - self.pod.rank_values.partition_point(|value| *value <= rank)
    }

    pub(super) fn hooks(&self) -> impl Iterator<Item = HookFacts<'a>> + use<'a> {
        let lifecycle = self.container.lifecycle.as_ref();
        let post_start = lifecycle.and_then(|lifecycle| lifecycle.post_start.as_ref());
        let pre_stop = lifecycle.and_then(|lifecycle| lifecycle.pre_stop.as_ref());
        let container = *self;
        let facts = move |moment, handler| HookFacts::of(container, moment, handler);
        let post_start = post_start.map(|handler| facts(HookMoment::PostStart, handler));
        post_start.into_iter().chain(pre_stop.map(|handler| facts(HookMoment::PreStop, handler)))
    }

    /// The path of a field of the container; empty for the container itself.
    pub(super) fn field(&self, below: &str) -> String {
        let list = match self.role {
            Role::Sidecar | Role::Init => "spec.initContainers",
            Role::Regular => "spec.containers",
            Role::Ephemeral => "spec.ephemeralContainers",
        };
        let list = self.pod.subject.path.child(list);
        let container = list.index(self.index);
        if below.is_empty() { container.to_string() } else { container.child(below).to_string() }
    }

    /// A finding about this container.
    pub(super) fn draft(&self, severity: Severity, below: &str, message: String, remedy: String) -> Draft {
        let place = match self.role {
            Role::Sidecar | Role::Init => Place::InitContainer(self.index),
            Role::Regular => Place::Container(self.index),
            Role::Ephemeral => Place::EphemeralContainer(self.index),
        };
        Draft { severity, place, field: self.field(below), container: Some(self.name().to_owned()), message, remedy }
    }
}

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookMoment {
    PostStart,
    PreStop,
}

impl HookMoment {
    pub(super) const fn name(self) -> &'static str {
        match self {
            HookMoment::PostStart => "postStart",
            HookMoment::PreStop => "preStop",
        }
    }
}

/// One hook of a container.
pub(super) struct HookFacts<'a> {
    pub(super) container: ContainerFacts<'a>,
    pub(super) moment: HookMoment,
    pub(super) hook: Hook,
    /// How long the hook takes if nothing goes wrong.
    pub(super) length: Length,
}

impl<'a> HookFacts<'a> {
    fn of(container: ContainerFacts<'a>, moment: HookMoment, handler: &LifecycleHandler) -> HookFacts<'a> {
        let hook = Hook::from_handler(handler);
        let mut facts = HookFacts { container, moment, hook, length: Length::Unknown };
        facts.length = facts.measure();
        facts
    }

    fn measure(&self) -> Length {
        match &self.hook {
            Hook::Exec { command } => command::length(command),
            Hook::HttpGet(_) if self.undeclared_port().is_some() => Length::Known(Duration::ZERO),
            Hook::HttpGet(_) => Length::Unknown,
            Hook::Sleep { seconds } => Length::Known(Duration::from_secs(*seconds)),
            Hook::Invalid { .. } => Length::Known(Duration::ZERO),
        }
    }

    /// Whether the hook is a preStop hook that is run at all.
    pub(super) fn runs_before_stop(&self) -> bool {
        self.moment == HookMoment::PreStop && self.container.pod.grace.runs_hooks()
    }

    /// The port the hook names although its container does not declare it.
    pub(super) fn undeclared_port(&self) -> Option<&str> {
        let Hook::HttpGet(get) = &self.hook else { return None };
        let declared = self.container.container.ports.iter().flatten();
        let known = declared.filter_map(|port| port.name.as_deref()).any(|name| name == get.port);
        (!known && get.port.parse::<u16>().is_err()).then_some(get.port.as_str())
    }

    /// A finding about this hook.
    pub(super) fn draft(&self, severity: Severity, message: String, remedy: String) -> Draft {
        let below = match self.moment {
            HookMoment::PostStart => "lifecycle.postStart",
            HookMoment::PreStop => "lifecycle.preStop",
        };
        self.container.draft(severity, below, message, remedy)
    }
}

/// The shortest whole number of seconds that holds `span`.
pub(super) fn whole_seconds(span: Duration) -> u64 {
    span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0))
}

/// A span in seconds, as people write it.
pub(super) fn in_seconds(span: Duration) -> String {
    let millis = span.as_millis();
    match millis % 1000 {
        0 => format!("{} s", millis / 1000),
        rest => format!("{} s", format!("{}.{rest:03}", millis / 1000).trim_end_matches('0')),
    }
}
