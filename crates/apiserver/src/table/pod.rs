//! The columns of pods (7.2): how many containers are ready, one word for the state, restarts.
//!
//! The word starts as the phase. Initialization that is still going on or has failed replaces it; otherwise the main
//! containers do, the first of them last, so that it has the final say. A deletion comes over everything but an end.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use lifecycle::moment::Moment;

use super::{Column, Row, RowCondition, or_none, since};

pub const POD_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", "Containers that are ready, of all main containers and sidecars."),
    Column::text("Status", "The state of the pod in one word, from its phase and its containers."),
    Column::text("Restarts", "How often containers were restarted, and how long ago the last one ended."),
    Column::AGE,
    Column::text("IP", "The first address of the pod.").wide(),
    Column::text("Node", "The node the pod is bound to.").wide(),
    Column::text("Nominated Node", "The node where room is being made for the pod.").wide(),
    Column::text("Readiness Gates", "Conditions that are true, of those the pod waits for before it is ready.").wide(),
];

/// The row of a pod.
pub fn pod_row(pod: &Pod, now: Moment) -> Row {
    let view = View::of(pod);
    let mut summary = Summary::from_phase(&view);
    let progress = initialization(&view, &mut summary);
    if progress == Initialization::Done || view.condition("Initialized").is_some_and(is_true) {
        main_containers(&view, &mut summary);
    }
    let cells = vec![
        pod.metadata.name.clone().unwrap_or_default(),
        format!("{}/{}", summary.ready, view.total_containers()),
        deletion(&view).map_or(summary.word, str::to_owned),
        summary.restarts.shown(now),
        since(pod.metadata.creation_timestamp.as_ref(), now),
        or_none(view.ip()),
        or_none(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref())),
        or_none(pod.status.as_ref().and_then(|status| status.nominated_node_name.as_deref())),
        view.readiness_gates(),
    ];
    let conditions = match view.phase() {
        "Succeeded" => vec![RowCondition::completed("Succeeded", "The pod has completed successfully.")],
        "Failed" => vec![RowCondition::completed("Failed", "The pod failed.")],
        _ => Vec::new(),
    };
    Row { conditions, ..Row::new(cells) }
}

/// A pod with its optional lists as plain ones.
struct View<'a> {
    pod: &'a Pod,
    conditions: &'a [PodCondition],
    init_statuses: &'a [ContainerStatus],
    main_statuses: &'a [ContainerStatus],
}

impl<'a> View<'a> {
    fn of(pod: &'a Pod) -> View<'a> {
        let status = pod.status.as_ref();
        View {
            pod,
            conditions: status.and_then(|status| status.conditions.as_deref()).unwrap_or_default(),
            init_statuses: status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default(),
            main_statuses: status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default(),
        }
    }

    fn phase(&self) -> &'a str {
        self.pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
    }

    /// The reason of the pod itself, not of a container.
    fn reason(&self) -> &'a str {
        self.pod.status.as_ref().and_then(|status| status.reason.as_deref()).unwrap_or_default()
    }

    fn condition(&self, kind: &str) -> Option<&'a PodCondition> {
        self.conditions.iter().find(|condition| condition.type_ == kind)
    }

    fn init_containers(&self) -> &'a [k8s_openapi::api::core::v1::Container] {
        self.pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default()
    }

    /// Of several containers with one name, which only an invalid pod has, the last counts.
    fn is_sidecar(&self, name: &str) -> bool {
        let container = self.init_containers().iter().rev().find(|container| container.name == name);
        container.is_some_and(is_restartable)
    }

    fn total_containers(&self) -> usize {
        let main = self.pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
        main + self.init_containers().iter().filter(|container| is_restartable(container)).count()
    }

    fn ip(&self) -> Option<&'a str> {
        self.pod.status.as_ref()?.pod_ips.as_ref()?.first().map(|ip| ip.ip.as_str())
    }

    fn readiness_gates(&self) -> String {
        let gates = self.pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_deref()).unwrap_or_default();
        if gates.is_empty() {
            return or_none(None);
        }
        let passed = gates.iter().filter(|gate| self.condition(&gate.condition_type).is_some_and(is_true));
        format!("{}/{}", passed.count(), gates.len())
    }
}

/// What is known so far on the way through the containers.
struct Summary<'a> {
    word: String,
    ready: usize,
    restarts: Restarts<'a>,
    /// Restarts of sidecars alone, which are the ones that count once initialization is over.
    sidecar_restarts: Restarts<'a>,
}

impl Summary<'_> {
    fn from_phase(view: &View<'_>) -> Self {
        let gated = view.conditions.iter().any(|condition| {
            condition.type_ == "PodScheduled" && condition.reason.as_deref() == Some("SchedulingGated")
        });
        let word = match (gated, view.reason()) {
            (true, _) => "SchedulingGated",
            (false, "") => view.phase(),
            (false, reason) => reason,
        };
        Summary {
            word: word.to_owned(),
            ready: 0,
            restarts: Restarts::default(),
            sidecar_restarts: Restarts::default(),
        }
    }
}

/// How often, and when the last time.
#[derive(Clone, Copy, Default)]
struct Restarts<'a> {
    count: i64,
    last: Option<&'a Time>,
}

impl<'a> Restarts<'a> {
    fn add(&mut self, container: &'a ContainerStatus) {
        self.count += i64::from(container.restart_count);
        let ended = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        // Unset is earlier than every time.
        self.last = self.last.max(ended.and_then(|ended| ended.finished_at.as_ref()));
    }

    fn shown(&self, now: Moment) -> String {
        match self.last {
            Some(last) if self.count != 0 => format!("{} ({} ago)", self.count, since(Some(last), now)),
            Some(_) | None => self.count.to_string(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Initialization {
    Done,
    /// Under way, or failed.
    Open,
}

/// Goes through the init containers up to the first that is not through.
fn initialization<'a>(view: &View<'a>, summary: &mut Summary<'a>) -> Initialization {
    for (index, container) in view.init_statuses.iter().enumerate() {
        let sidecar = view.is_sidecar(&container.name);
        summary.restarts.add(container);
        if sidecar {
            summary.sidecar_restarts.add(container);
        }
        let (waiting, terminated) = (waiting_reason(container), terminated(container));
        if terminated.is_some_and(|ended| ended.exit_code == 0) {
            continue;
        }
        if sidecar && container.started == Some(true) {
            summary.ready += usize::from(container.ready);
            continue;
        }
        let word = match (terminated, waiting) {
            (Some(ended), _) => end_word(ended),
            (None, Some(reason)) if reason != "PodInitializing" => reason.to_owned(),
            (None, _) => format!("{index}/{}", view.init_containers().len()),
        };
        summary.word = format!("Init:{word}");
        return Initialization::Open;
    }
    Initialization::Done
}

fn main_containers<'a>(view: &View<'a>, summary: &mut Summary<'a>) {
    summary.restarts = summary.sidecar_restarts;
    let mut any_running = false;
    let mut error = None;
    for container in view.main_statuses.iter().rev() {
        summary.restarts.add(container);
        if let Some(reason) = waiting_reason(container) {
            summary.word = reason.to_owned();
        } else if let Some(ended) = terminated(container) {
            summary.word = end_word(ended);
            if ended.exit_code != 0 {
                error = Some(summary.word.clone());
            }
        } else if container.ready && state(container).is_some_and(|state| state.running.is_some()) {
            any_running = true;
            summary.ready += 1;
        }
    }
    if summary.word == "Completed" {
        let pod_ready = view.conditions.iter().any(|condition| condition.type_ == "Ready" && is_true(condition));
        match error {
            _ if any_running && pod_ready => summary.word = "Running".to_owned(),
            Some(error) => summary.word = error,
            None if any_running => summary.word = "NotReady".to_owned(),
            None => {}
        }
    }
}

/// What a deletion makes of the word, if anything (7.2.4).
fn deletion(view: &View<'_>) -> Option<&'static str> {
    view.pod.metadata.deletion_timestamp.as_ref()?;
    match (view.reason(), view.phase()) {
        ("NodeLost", _) => Some("Unknown"),
        (_, "Succeeded" | "Failed") => None,
        (_, _) => Some("Terminating"),
    }
}

fn is_restartable(container: &k8s_openapi::api::core::v1::Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn is_true(condition: &PodCondition) -> bool {
    condition.status == "True"
}

fn state(container: &ContainerStatus) -> Option<&ContainerState> {
    container.state.as_ref()
}

fn terminated(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    state(container)?.terminated.as_ref()
}

/// Why a container waits, if it says so.
fn waiting_reason(container: &ContainerStatus) -> Option<&str> {
    let reason = state(container)?.waiting.as_ref()?.reason.as_deref()?;
    Some(reason).filter(|reason| !reason.is_empty())
}

fn end_word(ended: &ContainerStateTerminated) -> String {
    match (ended.reason.as_deref().unwrap_or_default(), ended.signal.unwrap_or_default()) {
        ("", 0) => format!("ExitCode:{}", ended.exit_code),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
