//! Which sandboxes and containers a list shows.

use std::collections::HashMap;

use cri::v1::{
    Container as Shown, ContainerFilter, ContainerState, ContainerStatsFilter, PodSandbox, PodSandboxFilter,
    PodSandboxState, PodSandboxStatsFilter,
};

use crate::container::Container;
use crate::engine::Engine;
use crate::sandbox::Sandbox;

/// More than this are told in several pieces.
pub const PIECE: usize = 100;

pub fn sandboxes(engine: &Engine, filter: Option<PodSandboxFilter>) -> Vec<PodSandbox> {
    let filter = filter.unwrap_or_default();
    let state = filter.state.map(|value| value.state());
    let all = engine.sandboxes.all();
    let chosen = all.iter().filter(|sandbox| {
        sandbox.id.starts_with(&filter.id)
            && state.is_none_or(|state: PodSandboxState| sandbox.state() == state)
            && labelled(&sandbox.config.labels, &filter.label_selector)
    });
    chosen.map(|sandbox| shown_sandbox(sandbox)).collect()
}

fn shown_sandbox(sandbox: &Sandbox) -> PodSandbox {
    let status = sandbox.status();
    PodSandbox {
        id: status.id,
        metadata: status.metadata,
        state: status.state,
        created_at: status.created_at,
        labels: status.labels,
        annotations: status.annotations,
        runtime_handler: status.runtime_handler,
    }
}

pub fn containers(engine: &Engine, filter: Option<ContainerFilter>) -> Vec<Shown> {
    let filter = filter.unwrap_or_default();
    let state = filter.state.map(|value| value.state());
    let all = engine.containers.all();
    let chosen = all.iter().filter(|container| {
        container.id.starts_with(&filter.id)
            && container.record.sandbox.starts_with(&filter.pod_sandbox_id)
            && state.is_none_or(|state: ContainerState| container.state().of_cri() == state)
            && labelled(&container.config.labels, &filter.label_selector)
    });
    chosen.map(|container| shown_container(container)).collect()
}

fn shown_container(container: &Container) -> Shown {
    let status = container.status();
    Shown {
        id: status.id,
        pod_sandbox_id: container.record.sandbox.clone(),
        metadata: status.metadata,
        image: status.image,
        image_ref: status.image_ref,
        image_id: status.image_id,
        state: status.state,
        created_at: status.created_at,
        labels: status.labels,
        annotations: status.annotations,
    }
}

/// Whose use is asked for.
pub fn counts_container(container: &Container, filter: &ContainerStatsFilter) -> bool {
    container.id.starts_with(&filter.id)
        && container.record.sandbox.starts_with(&filter.pod_sandbox_id)
        && labelled(&container.config.labels, &filter.label_selector)
}

/// Whose use is asked for.
pub fn counts_sandbox(sandbox: &Sandbox, filter: &PodSandboxStatsFilter) -> bool {
    sandbox.id.starts_with(&filter.id) && labelled(&sandbox.config.labels, &filter.label_selector)
}

fn labelled(labels: &HashMap<String, String>, wanted: &HashMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}

/// A list in pieces.
pub fn pieces<T: Clone>(all: &[T]) -> Vec<Vec<T>> {
    all.chunks(PIECE).map(<[T]>::to_vec).collect()
}
