//! A sandbox with one container that runs the workload, and each call of its life.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use cri::client::within;
use cri::v1::{
    ContainerConfig, ContainerMetadata, ContainerStatusRequest, CreateContainerRequest, ExecSyncRequest,
    LinuxContainerConfig, LinuxContainerSecurityContext, PodSandboxConfig, RemoveContainerRequest,
    RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest, StopPodSandboxRequest,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::floor::{READY, WORKLOAD};
use super::runtime::{PATIENCE, Runtime, plain};

/// The grace of every stop; the workload never needs it.
const GRACE_SECONDS: i64 = 30;
/// Between two looks into a log; never while something is timed.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(2);
const LOG: &str = "workload.log";

/// A sandbox that runs.
pub struct Pod<'a> {
    runtime: &'a Runtime,
    config: PodSandboxConfig,
    pub id: String,
}

/// A container that was created.
pub struct Container<'a> {
    runtime: &'a Runtime,
    log: PathBuf,
    pub id: String,
}

impl<'a> Pod<'a> {
    pub async fn run(runtime: &'a Runtime, config: PodSandboxConfig) -> Result<Pod<'a>> {
        let request = RunPodSandboxRequest { config: Some(config.clone()), runtime_handler: String::new() };
        let answer = runtime.client.runtime().run_pod_sandbox(within(PATIENCE, request)).await?;
        Ok(Pod { runtime, config, id: answer.into_inner().pod_sandbox_id })
    }

    pub async fn create(&self) -> Result<Container<'a>> {
        let request = CreateContainerRequest {
            pod_sandbox_id: self.id.clone(),
            config: Some(workload(self.runtime)),
            sandbox_config: Some(self.config.clone()),
        };
        let answer = self.runtime.client.runtime().create_container(within(PATIENCE, request)).await?;
        let log = PathBuf::from(&self.config.log_directory).join(LOG);
        Ok(Container { runtime: self.runtime, log, id: answer.into_inner().container_id })
    }

    pub async fn stop(&self) -> Result<()> {
        let request = StopPodSandboxRequest { pod_sandbox_id: self.id.clone() };
        Ok(self.runtime.client.runtime().stop_pod_sandbox(within(PATIENCE, request)).await.map(drop)?)
    }

    pub async fn remove(&self) -> Result<()> {
        let request = RemovePodSandboxRequest { pod_sandbox_id: self.id.clone() };
        Ok(self.runtime.client.runtime().remove_pod_sandbox(within(PATIENCE, request)).await.map(drop)?)
    }
}

impl Container<'_> {
    pub async fn start(&self) -> Result<()> {
        let request = StartContainerRequest { container_id: self.id.clone() };
        Ok(self.runtime.client.runtime().start_container(within(PATIENCE, request)).await.map(drop)?)
    }

    /// Waits until the workload is prepared for its signal.
    pub async fn ready(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut ticks = interval(LOOK_AGAIN_AFTER);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while Instant::now() < deadline {
            ticks.tick().await;
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            if log.lines().any(|line| line.ends_with(READY)) {
                return Ok(());
            }
        }
        bail!("{}: the workload does not start: nothing in {}", self.runtime.name, self.log.display())
    }

    pub async fn exec_true(&self) -> Result<()> {
        let cmd = vec!["true".to_owned()];
        let request = ExecSyncRequest { container_id: self.id.clone(), cmd, timeout: GRACE_SECONDS };
        let answer = self.runtime.client.runtime().exec_sync(within(PATIENCE, request)).await?.into_inner();
        ensure!(answer.exit_code == 0, "true ended with {}", answer.exit_code);
        Ok(())
    }

    pub async fn stop(&self) -> Result<()> {
        Ok(self.runtime.client.stop_container(&self.id, GRACE_SECONDS, PATIENCE).await?)
    }

    /// An error if the workload did not end by itself: then something else was measured.
    pub async fn ended_by_itself(&self) -> Result<()> {
        let request = ContainerStatusRequest { container_id: self.id.clone(), verbose: false };
        let answer = self.runtime.client.runtime().container_status(within(PATIENCE, request)).await?.into_inner();
        let status = answer.status.context("no status in the answer")?;
        ensure!(status.finished_at > 0, "{}: the workload goes on after its stop", self.runtime.name);
        ensure!(status.exit_code == 0, "{}: the workload ended with {}", self.runtime.name, status.exit_code);
        Ok(())
    }

    pub async fn remove(&self) -> Result<()> {
        let request = RemoveContainerRequest { container_id: self.id.clone() };
        Ok(self.runtime.client.runtime().remove_container(within(PATIENCE, request)).await.map(drop)?)
    }
}

fn workload(runtime: &Runtime) -> ContainerConfig {
    let context = LinuxContainerSecurityContext { namespace_options: Some(runtime.namespaces()), ..Default::default() };
    ContainerConfig {
        metadata: Some(ContainerMetadata { name: "workload".into(), attempt: 0 }),
        image: Some(plain()),
        command: ["sh", "-c", WORKLOAD].map(str::to_owned).into(),
        log_path: LOG.to_owned(),
        linux: Some(LinuxContainerConfig { security_context: Some(context), ..Default::default() }),
        ..Default::default()
    }
}
