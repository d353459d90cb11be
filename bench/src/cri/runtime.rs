//! A runtime that is measured: the client, the daemon's process, and a directory for logs of its containers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cri::Client;
use cri::client::within;
use cri::contract::{TestImage, cgroup};
use cri::v1::{
    ImageSpec, ImageStatusRequest, LinuxPodSandboxConfig, LinuxSandboxSecurityContext, ListPodSandboxRequest,
    NamespaceMode, NamespaceOption, PodSandboxConfig, PodSandboxFilter, PodSandboxMetadata, RemovePodSandboxRequest,
    StopPodSandboxRequest,
};
use tokio::time::interval;

/// A call that takes longer has failed; pods that are stopped at once may take their time.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// What is just starting when its caller goes away cannot be removed everywhere; it can in a moment.
const CLEAR_AGAIN_AFTER: Duration = Duration::from_millis(100);
const CLEAR_AGAIN_MAX: usize = 30;
/// The label by which sandboxes of this process are found again.
const LABEL: &str = "criload/process";

pub struct Runtime {
    pub name: String,
    pub client: Client,
    /// The daemon.
    pub pid: u32,
    /// Where it writes the logs of containers.
    pub logs: PathBuf,
    pub network: NamespaceMode,
}

impl Runtime {
    /// An error if the images of the suite were not loaded.
    pub async fn has_images(&self) -> Result<()> {
        let request = ImageStatusRequest { image: Some(plain()), verbose: false };
        let answer = self.client.images().image_status(within(PATIENCE, request)).await;
        let missing = || format!("{} lacks the image {}: load it first", self.name, TestImage::Plain.name());
        answer.with_context(|| self.name.clone())?.into_inner().image.with_context(missing).map(drop)
    }

    /// A sandbox of its own for each number, whose containers have PID namespaces of their own.
    pub fn sandbox(&self, number: usize) -> Result<PodSandboxConfig> {
        let name = format!("criload-{}-{number}", std::process::id());
        let logs = self.logs.join(&name);
        std::fs::create_dir_all(&logs)?;
        let context = LinuxSandboxSecurityContext { namespace_options: Some(self.namespaces()), ..Default::default() };
        Ok(PodSandboxConfig {
            log_directory: logs.to_str().context("a path that is not UTF-8")?.to_owned(),
            metadata: Some(PodSandboxMetadata {
                uid: format!("uid-{name}"),
                name,
                namespace: "criload".into(),
                attempt: 0,
            }),
            labels: own(),
            linux: Some(LinuxPodSandboxConfig {
                cgroup_parent: cgroup::parent(),
                security_context: Some(context),
                ..Default::default()
            }),
            ..Default::default()
        })
    }

    pub fn namespaces(&self) -> NamespaceOption {
        NamespaceOption {
            network: self.network.into(),
            pid: NamespaceMode::Container.into(),
            ..NamespaceOption::default()
        }
    }

    /// Removes what this process has left there, with all containers.
    pub async fn clear(&self) -> Result<()> {
        let mut ticks = interval(CLEAR_AGAIN_AFTER);
        let mut cleared = self.remove_all().await;
        for _ in 0..CLEAR_AGAIN_MAX {
            if cleared.is_ok() {
                break;
            }
            ticks.tick().await;
            cleared = self.remove_all().await;
        }
        cleared
    }

    async fn remove_all(&self) -> Result<()> {
        let mut runtime = self.client.runtime();
        let filter = PodSandboxFilter { label_selector: own(), ..Default::default() };
        let request = within(PATIENCE, ListPodSandboxRequest { filter: Some(filter) });
        for sandbox in runtime.list_pod_sandbox(request).await?.into_inner().items {
            let stop = StopPodSandboxRequest { pod_sandbox_id: sandbox.id.clone() };
            runtime.stop_pod_sandbox(within(PATIENCE, stop)).await?;
            let remove = RemovePodSandboxRequest { pod_sandbox_id: sandbox.id };
            runtime.remove_pod_sandbox(within(PATIENCE, remove)).await?;
        }
        Ok(())
    }
}

/// The image of the workload.
pub fn plain() -> ImageSpec {
    let name = TestImage::Plain.name().to_owned();
    ImageSpec { image: name.clone(), user_specified_image: name, ..ImageSpec::default() }
}

fn own() -> HashMap<String, String> {
    HashMap::from([(LABEL.to_owned(), std::process::id().to_string())])
}
