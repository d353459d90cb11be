//! What a case works with: sandboxes and containers of its own, and ways to wait for what they do.

use std::collections::HashMap;
use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use tonic::Status;
use tonic::transport::Channel;

use super::{Difference, Fixture, TestImage, cgroup};
use crate::client::within;
use crate::v1::image_service_client::ImageServiceClient;
use crate::v1::runtime_service_client::RuntimeServiceClient;
use crate::v1::{
    ContainerConfig, ContainerFilter, ContainerMetadata, ContainerState, ContainerStatus, ContainerStatusRequest,
    CreateContainerRequest, ExecSyncRequest, ExecSyncResponse, ImageSpec, LinuxContainerConfig,
    LinuxContainerSecurityContext, LinuxPodSandboxConfig, LinuxSandboxSecurityContext, ListContainersRequest,
    ListPodSandboxRequest, NamespaceMode, NamespaceOption, PodSandboxConfig, PodSandboxFilter, PodSandboxMetadata,
    RemoveContainerRequest, RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest, StopContainerRequest,
    StopPodSandboxRequest,
};

/// What is promised happens within this, also on a loaded machine; a broken promise should fail, not hang.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The label by which a case finds its own sandboxes.
const LABEL: &str = "contract/case";
/// Between two looks.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(25);
/// The exit code of a workload that handled its stop signal.
pub const HANDLED: i32 = 7;
/// The exit code of a process that was killed with SIGKILL.
pub const KILLED: i32 = 137;

/// Handles every signal that can be handled: says which one came and exits.
pub const TELLS_SIGNAL: &str = "s=1
while [ $s -le 64 ]; do
  case $s in 9|19|32|33) ;; *) trap \"echo got $s; exit 7\" $s ;; esac
  s=$((s+1))
done
echo ready; while :; do sleep 1000 & wait $!; done";

/// Says that SIGTERM came and goes on.
pub const SURVIVES_TERM: &str = "trap 'echo got 15' TERM; echo ready; while :; do sleep 1000 & wait $!; done";

/// Does nothing about signals.
pub const SLEEPS: &str = "echo ready; exec sleep 1000";

#[derive(Clone)]
pub struct Scene {
    case: &'static str,
    fixture: Arc<dyn Fixture>,
    pods: Arc<AtomicU32>,
}

impl Scene {
    pub fn new(case: &'static str, fixture: Arc<dyn Fixture>) -> Scene {
        Scene { case, fixture, pods: Arc::default() }
    }

    pub fn client(&self) -> crate::Client {
        self.fixture.client()
    }

    pub fn runtime(&self) -> RuntimeServiceClient<Channel> {
        self.client().runtime()
    }

    pub fn images(&self) -> ImageServiceClient<Channel> {
        self.client().images()
    }

    pub fn differs(&self, difference: Difference) -> bool {
        self.fixture.differences().contains(&difference)
    }

    pub fn network(&self) -> NamespaceMode {
        self.fixture.network()
    }

    pub fn image(&self, image: TestImage) -> ImageSpec {
        let name = self.fixture.image(image);
        ImageSpec { image: name.clone(), user_specified_image: name, ..ImageSpec::default() }
    }

    /// A sandbox whose containers have PID namespaces of their own.
    pub fn pod_config(&self) -> PodSandboxConfig {
        let number = self.pods.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", self.case.replace([':', '_'], "-"));
        let options = NamespaceOption {
            network: self.network().into(),
            pid: NamespaceMode::Container.into(),
            ..Default::default()
        };
        let context = LinuxSandboxSecurityContext { namespace_options: Some(options), ..Default::default() };
        PodSandboxConfig {
            log_directory: self.fixture.directory().join(&name).to_str().expect("a path in UTF-8").to_owned(),
            metadata: Some(PodSandboxMetadata {
                uid: format!("uid-{name}"),
                name: name.clone(),
                namespace: "contract".into(),
                attempt: 0,
            }),
            labels: HashMap::from([(LABEL.to_owned(), self.case.to_owned())]),
            linux: Some(LinuxPodSandboxConfig {
                cgroup_parent: format!("{}/{name}", cgroup::parent()),
                security_context: Some(context),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    pub async fn pod(&self) -> Pod {
        self.run_pod(self.pod_config()).await.expect("a sandbox")
    }

    pub async fn run_pod(&self, config: PodSandboxConfig) -> Result<Pod, Status> {
        fs::create_dir_all(&config.log_directory).expect("a directory for logs");
        let request = RunPodSandboxRequest { config: Some(config.clone()), runtime_handler: String::new() };
        let id = self.runtime().run_pod_sandbox(within(PATIENCE, request)).await?.into_inner().pod_sandbox_id;
        Ok(Pod { scene: self.clone(), id, config })
    }

    /// Removes every sandbox of this case, and what is in it.
    pub async fn clean_up(self) {
        // A container that ends just now can make a call fail; the next look shows.
        eventually("everything to be removed", async || self.removed_all().await.ok().filter(|clean| *clean)).await;
    }

    /// Whether there was nothing left to remove.
    async fn removed_all(&self) -> Result<bool, Status> {
        let mut runtime = self.runtime();
        let own = HashMap::from([(LABEL.to_owned(), self.case.to_owned())]);
        let filter = PodSandboxFilter { label_selector: own, ..Default::default() };
        let request = within(PATIENCE, ListPodSandboxRequest { filter: Some(filter) });
        let pods = runtime.list_pod_sandbox(request).await.expect("a list to clean up").into_inner().items;
        for pod in &pods {
            let filter = ContainerFilter { pod_sandbox_id: pod.id.clone(), ..Default::default() };
            let request = within(PATIENCE, ListContainersRequest { filter: Some(filter) });
            for container in runtime.list_containers(request).await?.into_inner().containers {
                let request = StopContainerRequest { container_id: container.id, timeout: 0 };
                runtime.stop_container(within(PATIENCE, request)).await?;
            }
            let request = StopPodSandboxRequest { pod_sandbox_id: pod.id.clone() };
            runtime.stop_pod_sandbox(within(PATIENCE, request)).await?;
            let request = RemovePodSandboxRequest { pod_sandbox_id: pod.id.clone() };
            runtime.remove_pod_sandbox(within(PATIENCE, request)).await?;
        }
        Ok(pods.is_empty())
    }
}

pub struct Pod {
    pub scene: Scene,
    pub id: String,
    pub config: PodSandboxConfig,
}

impl Pod {
    /// A container that runs a script as PID 1.
    pub fn shell(&self, name: &str, script: &str) -> ContainerConfig {
        let pid = NamespaceOption {
            network: self.scene.network().into(),
            pid: NamespaceMode::Container.into(),
            ..Default::default()
        };
        let context = LinuxContainerSecurityContext { namespace_options: Some(pid), ..Default::default() };
        ContainerConfig {
            metadata: Some(ContainerMetadata { name: name.to_owned(), attempt: 0 }),
            image: Some(self.scene.image(TestImage::Plain)),
            command: ["sh", "-c", script].map(str::to_owned).into(),
            log_path: format!("{name}.log"),
            linux: Some(LinuxContainerConfig { security_context: Some(context), ..Default::default() }),
            ..Default::default()
        }
    }

    pub async fn create(&self, config: ContainerConfig) -> Result<Container, Status> {
        let log = PathBuf::from(&self.config.log_directory).join(&config.log_path);
        let request = CreateContainerRequest {
            pod_sandbox_id: self.id.clone(),
            config: Some(config),
            sandbox_config: Some(self.config.clone()),
        };
        let id = self.scene.runtime().create_container(within(PATIENCE, request)).await?.into_inner().container_id;
        Ok(Container { scene: self.scene.clone(), id, log })
    }

    pub async fn start(&self, config: ContainerConfig) -> Container {
        let container = self.create(config).await.expect("a container");
        container.start().await.expect("a started container");
        container
    }

    /// A running container that has said `ready`.
    pub async fn ready(&self, config: ContainerConfig) -> Container {
        let container = self.start(config).await;
        container.says("ready").await;
        container
    }

    pub async fn stop(&self) -> Result<(), Status> {
        let request = StopPodSandboxRequest { pod_sandbox_id: self.id.clone() };
        self.scene.runtime().stop_pod_sandbox(within(PATIENCE, request)).await.map(drop)
    }

    pub async fn remove(&self) -> Result<(), Status> {
        let request = RemovePodSandboxRequest { pod_sandbox_id: self.id.clone() };
        self.scene.runtime().remove_pod_sandbox(within(PATIENCE, request)).await.map(drop)
    }
}

#[derive(Clone)]
pub struct Container {
    pub scene: Scene,
    pub id: String,
    pub log: PathBuf,
}

impl Container {
    pub async fn start(&self) -> Result<(), Status> {
        let request = StartContainerRequest { container_id: self.id.clone() };
        self.scene.runtime().start_container(within(PATIENCE, request)).await.map(drop)
    }

    pub async fn stop(&self, grace_seconds: i64) -> Result<(), Status> {
        self.scene.client().stop_container(&self.id, grace_seconds, PATIENCE).await
    }

    pub async fn remove(&self) -> Result<(), Status> {
        let request = RemoveContainerRequest { container_id: self.id.clone() };
        self.scene.runtime().remove_container(within(PATIENCE, request)).await.map(drop)
    }

    pub async fn try_status(&self) -> Result<ContainerStatus, Status> {
        let request = ContainerStatusRequest { container_id: self.id.clone(), verbose: false };
        let answer = self.scene.runtime().container_status(within(PATIENCE, request)).await?;
        Ok(answer.into_inner().status.expect("a status in the answer"))
    }

    pub async fn status(&self) -> ContainerStatus {
        self.try_status().await.expect("a status")
    }

    /// Its status once it has exited.
    pub async fn exited(&self) -> ContainerStatus {
        eventually("an exit", async || {
            let status = self.status().await;
            (status.state() == ContainerState::ContainerExited).then_some(status)
        })
        .await
    }

    pub async fn exec(&self, command: &[&str], timeout_seconds: i64) -> Result<ExecSyncResponse, Status> {
        let cmd = command.iter().map(|&word| word.to_owned()).collect();
        let request = ExecSyncRequest { container_id: self.id.clone(), cmd, timeout: timeout_seconds };
        Ok(self.scene.runtime().exec_sync(within(PATIENCE, request)).await?.into_inner())
    }

    /// What the container wrote, line by line, without the times.
    pub fn output(&self) -> Vec<String> {
        let log = fs::read(&self.log).unwrap_or_default();
        let content = |line: &str| line.splitn(4, ' ').nth(3).unwrap_or_default().to_owned();
        String::from_utf8_lossy(&log).lines().map(content).collect()
    }

    /// Waits for a line of output.
    pub async fn says(&self, line: &str) {
        eventually(line, async || self.output().iter().any(|said| said == line).then_some(())).await;
    }

    /// Runs to its end and answers what it wrote.
    pub async fn told(&self) -> Vec<String> {
        self.exited().await;
        // The log may be written a moment after the exit is known.
        eventually("output", async || Some(self.output()).filter(|lines| !lines.is_empty())).await
    }

    /// The signals that the workload says it got.
    pub fn signals(&self) -> Vec<u8> {
        self.output().iter().filter_map(|line| line.strip_prefix("got ")?.parse().ok()).collect()
    }
}

/// Looks again until there is an answer.
pub async fn eventually<T, F>(what: &str, look: impl Fn() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let looks = async {
        let mut ticks = interval(LOOK_AGAIN_AFTER);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(answer) = look().await {
                break answer;
            }
        }
    };
    timeout(PATIENCE, looks).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}
