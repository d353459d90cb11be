//! Pods of one container, by plain calls.

use std::path::Path;

use cri::Client;
use cri::contract::TestImage;
use cri::v1::{
    ContainerConfig, ContainerMetadata, ContainerState, ContainerStatus, ContainerStatusRequest,
    CreateContainerRequest, ImageSpec, LinuxContainerConfig, LinuxContainerSecurityContext, LinuxPodSandboxConfig,
    LinuxSandboxSecurityContext, NamespaceMode, NamespaceOption, PodSandboxConfig, PodSandboxMetadata,
    RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest, StopContainerRequest, StopPodSandboxRequest,
};
use tonic::Status;

use super::leftovers::cgroup_parent;

/// Handles SIGTERM, says so, and ends.
pub const ENDS_ON_TERM: &str = "trap 'echo got 15; exit 7' TERM; echo ready; while :; do sleep 1000 & wait $!; done";
/// Does nothing about SIGTERM.
pub const IGNORES_TERM: &str = "trap '' TERM; echo ready; while :; do sleep 1000 & wait $!; done";

pub fn sandbox(name: &str, logs: &Path) -> PodSandboxConfig {
    PodSandboxConfig {
        metadata: Some(PodSandboxMetadata {
            name: name.to_owned(),
            uid: format!("uid-{name}"),
            namespace: "served".to_owned(),
            attempt: 0,
        }),
        hostname: name.to_owned(),
        log_directory: logs.display().to_string(),
        linux: Some(LinuxPodSandboxConfig {
            cgroup_parent: format!("/{}/{name}", cgroup_parent()),
            security_context: Some(LinuxSandboxSecurityContext {
                namespace_options: Some(own_pids()),
                ..LinuxSandboxSecurityContext::default()
            }),
            ..LinuxPodSandboxConfig::default()
        }),
        ..PodSandboxConfig::default()
    }
}

fn own_pids() -> NamespaceOption {
    NamespaceOption { pid: NamespaceMode::Container.into(), ..NamespaceOption::default() }
}

pub fn shell(script: &str) -> ContainerConfig {
    let name = TestImage::Plain.name().to_owned();
    ContainerConfig {
        metadata: Some(ContainerMetadata { name: "main".to_owned(), attempt: 0 }),
        image: Some(ImageSpec { image: name.clone(), user_specified_image: name, ..ImageSpec::default() }),
        command: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()],
        log_path: "main.log".to_owned(),
        linux: Some(LinuxContainerConfig {
            security_context: Some(LinuxContainerSecurityContext {
                namespace_options: Some(own_pids()),
                ..LinuxContainerSecurityContext::default()
            }),
            ..LinuxContainerConfig::default()
        }),
        ..ContainerConfig::default()
    }
}

/// A pod with one container.
pub struct Pod {
    pub sandbox: String,
    pub container: String,
}

pub async fn create(client: &Client, config: PodSandboxConfig, container: ContainerConfig) -> Result<Pod, Status> {
    let logs = config.log_directory.clone();
    std::fs::create_dir_all(logs)?;
    let request = RunPodSandboxRequest { config: Some(config.clone()), runtime_handler: String::new() };
    let sandbox = client.runtime().run_pod_sandbox(request).await?.into_inner().pod_sandbox_id;
    let request = CreateContainerRequest {
        pod_sandbox_id: sandbox.clone(),
        config: Some(container),
        sandbox_config: Some(config),
    };
    let container = client.runtime().create_container(request).await?.into_inner().container_id;
    Ok(Pod { sandbox, container })
}

pub async fn run(client: &Client, config: PodSandboxConfig, container: ContainerConfig) -> Result<Pod, Status> {
    let pod = create(client, config, container).await?;
    client.runtime().start_container(StartContainerRequest { container_id: pod.container.clone() }).await?;
    Ok(pod)
}

pub async fn stop(client: &Client, container: &str, timeout: i64) -> Result<(), Status> {
    let request = StopContainerRequest { container_id: container.to_owned(), timeout };
    client.runtime().stop_container(request).await.map(drop)
}

pub async fn remove(client: &Client, sandbox: &str) -> Result<(), Status> {
    let pod_sandbox_id = sandbox.to_owned();
    client.runtime().stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: pod_sandbox_id.clone() }).await?;
    client.runtime().remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id }).await.map(drop)
}

pub async fn status(client: &Client, container: &str) -> ContainerStatus {
    let request = ContainerStatusRequest { container_id: container.to_owned(), verbose: false };
    client.runtime().container_status(request).await.unwrap().into_inner().status.unwrap()
}

/// Looks until the container is in this state.
pub async fn reaches(client: &Client, container: &str, state: ContainerState) -> ContainerStatus {
    let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
    let waited = async {
        loop {
            let status = status(client, container).await;
            if status.state() == state {
                return status;
            }
            ticks.tick().await;
        }
    };
    tokio::time::timeout(super::daemon::SOON, waited).await.expect("the state is reached")
}
