//! What is timed: the life of one pod, call by call, and the stop of many containers at once.

use std::time::Instant;

use anyhow::{Context as _, Result};
use cri::client::within;
use cri::v1::VersionRequest;
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::floor;
use super::memory::{self, Helpers, Memory};
use super::pod::{Container, Pod};
use super::runtime::{PATIENCE, Runtime};
use super::table::{Operation, Samples};

/// How many pods are made ready, or removed, at a time: enough for two cores.
const PREPARED_AT_ONCE: usize = 4;

/// What the pods of one batch needed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    pub daemon: Memory,
    pub helpers: Helpers,
}

/// The life of one pod. The floor is taken in the same moment: what disturbs one disturbs the other.
pub async fn one_pod(runtime: &Runtime, number: usize, samples: &mut Samples) -> Result<()> {
    samples.add(Operation::Floor, tokio::task::spawn_blocking(floor::signal_to_end).await??);
    let config = runtime.sandbox(number)?;
    let version = async {
        let request = within(PATIENCE, VersionRequest::default());
        Ok(runtime.client.runtime().version(request).await.map(drop)?)
    };
    samples.timed(Operation::Version, version).await?;

    let (pod, run) = samples.timed(Operation::RunPodSandbox, Pod::run(runtime, config)).await?;
    let (container, create) = samples.timed(Operation::CreateContainer, pod.create()).await?;
    let ((), start) = samples.timed(Operation::StartContainer, container.start()).await?;
    samples.add(Operation::WholeStart, run + create + start);

    container.ready().await?;
    samples.timed(Operation::ExecSync, container.exec_true()).await?;
    let ((), stop) = samples.timed(Operation::StopContainer, container.stop()).await?;
    container.ended_by_itself().await?;
    let ((), remove) = samples.timed(Operation::RemoveContainer, container.remove()).await?;
    samples.add(Operation::WholeStop, stop + remove);
    let ((), stop) = samples.timed(Operation::StopPodSandbox, pod.stop()).await?;
    let ((), remove) = samples.timed(Operation::RemovePodSandbox, pod.remove()).await?;
    samples.add(Operation::WholeEnd, stop + remove);
    Ok(())
}

/// Runs many pods and stops their containers at once; answers what they needed while they ran.
pub async fn at_once(runtime: &Runtime, numbers: std::ops::Range<usize>, samples: &mut Samples) -> Result<Footprint> {
    let size = numbers.len();
    let started: Vec<(Pod<'_>, Container<'_>)> = stream::iter(numbers.map(|number| ready_pod(runtime, number)))
        .buffer_unordered(PREPARED_AT_ONCE)
        .try_collect()
        .await?;
    let footprint = footprint(runtime, &started)?;
    let began = Instant::now();
    try_join_all(started.iter().map(|(_, container)| container.stop())).await?;
    samples.add(Operation::StopAtOnce(size), began.elapsed());
    stream::iter(started.iter().map(end)).buffer_unordered(PREPARED_AT_ONCE).try_collect::<()>().await?;
    Ok(footprint)
}

async fn ready_pod(runtime: &Runtime, number: usize) -> Result<(Pod<'_>, Container<'_>)> {
    let pod = Pod::run(runtime, runtime.sandbox(number)?).await?;
    let container = pod.create().await?;
    container.start().await?;
    container.ready().await?;
    Ok((pod, container))
}

async fn end((pod, container): &(Pod<'_>, Container<'_>)) -> Result<()> {
    container.ended_by_itself().await?;
    container.remove().await?;
    pod.stop().await?;
    pod.remove().await
}

fn footprint(runtime: &Runtime, started: &[(Pod<'_>, Container<'_>)]) -> Result<Footprint> {
    let ids: Vec<&str> = started.iter().flat_map(|(pod, container)| [&*pod.id, &*container.id]).collect();
    let daemon = memory::of_process(runtime.pid).with_context(|| format!("the daemon of {}", runtime.name))?;
    Ok(Footprint { daemon, helpers: memory::of_helpers(&ids) })
}
