//! What containers and sandboxes use.

use std::sync::{Arc, PoisonError};

use cri::v1::{ContainerAttributes, ContainerStats, NamespaceMode, PodSandboxAttributes, PodSandboxStats};

use libcgroups::stats::Stats;

use crate::cgroup::Cgroup;
use crate::container::{Container, State};
use crate::engine::{Engine, EngineError, now_nanos};
use crate::network;
use crate::sandbox::Sandbox;
use crate::stats::{self, Reading, Version, Written};

/// The use of one container; one that does not run uses only room on the disk.
pub fn of_container(engine: &Engine, container: &Container) -> Result<ContainerStats, EngineError> {
    let attributes = ContainerAttributes {
        id: container.id.clone(),
        metadata: container.config.metadata.clone(),
        labels: container.config.labels.clone(),
        annotations: container.config.annotations.clone(),
    };
    let usage = engine.images.snapshot_usage(&container.id).ok();
    let written = usage.map(|usage| Written { usage, place: engine.images.directory() });
    let counters = match container.state() {
        State::Running(_) => counters(&container.cgroup()),
        State::Created | State::Exited { .. } => Stats::default(),
    };
    let reading = Reading { version: version()?, counters: &counters, at: now_nanos() };
    let mut samples = container.samples.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(stats::of_container(attributes, &reading, written, &mut samples))
}

/// The use of one sandbox, and of its containers that run.
pub fn of_sandbox(engine: &Engine, sandbox: &Sandbox) -> Result<PodSandboxStats, EngineError> {
    let attributes = PodSandboxAttributes {
        id: sandbox.id.clone(),
        metadata: sandbox.config.metadata.clone(),
        labels: sandbox.config.labels.clone(),
        annotations: sandbox.config.annotations.clone(),
    };
    let containers = engine.containers_of(&sandbox.id);
    let running = containers.iter().filter(|container| matches!(container.state(), State::Running(_)));
    let containers: Result<Vec<_>, _> = running.map(|container| of_container(engine, container)).collect();
    let counters = counters(&Cgroup::new(sandbox.cgroup()));
    let own_network = sandbox.is_ready() && sandbox.network_mode() != NamespaceMode::Node;
    let links = own_network.then(|| network::usage(&sandbox.netns())).transpose()?;
    let reading = Reading { version: version()?, counters: &counters, at: now_nanos() };
    let mut samples = sandbox.samples.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(stats::of_sandbox(attributes, &reading, links.as_deref(), containers?, &mut samples))
}

/// All of these that can be measured: one that ends meanwhile is left out.
pub fn of_all<T, S>(things: &[Arc<T>], measure: impl Fn(&T) -> Result<S, EngineError>) -> Vec<S> {
    things.iter().filter_map(|thing| measure(thing).ok()).collect()
}

/// A cgroup that is not there has used nothing; counters that this machine does not have are left out.
fn counters(cgroup: &Cgroup) -> Stats {
    if !cgroup.exists() {
        return Stats::default();
    }
    cgroup.stats().unwrap_or_else(|error| {
        tracing::debug!(%error, "the use of a cgroup cannot be read");
        Stats::default()
    })
}

fn version() -> Result<Version, EngineError> {
    let setup = libcgroups::common::get_cgroup_setup().map_err(|error| EngineError::Internal(error.to_string()))?;
    Ok(setup.into())
}
