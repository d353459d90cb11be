//! A containerd of one's own, with private directories and the images of the suite, which leaves nothing behind.
//!
//! Needs root, and the Debian packages `containerd`, `runc` and `busybox-static`. It has no CNI configuration, so its
//! sandboxes are on the network of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::{self, DaemonError, PrivateDaemon};
use super::{TestImage, images};
use crate::Client;

pub struct Containerd {
    daemon: PrivateDaemon,
    logs: PathBuf,
    client: Client,
}

impl Containerd {
    /// Starts it and loads the images of the suite.
    pub async fn start() -> Result<Containerd, DaemonError> {
        let directory = tempfile::tempdir()?;
        let logs = directory.path().join("logs");
        fs::create_dir(&logs)?;
        let config = directory.path().join("config.toml");
        fs::write(&config, configuration(directory.path()))?;
        let mut command = Command::new("containerd");
        command.arg("--config").arg(&config);
        let daemon = PrivateDaemon::start(directory, command)?;
        let client = daemon.client().await?;
        import_images(&daemon)?;
        Ok(Containerd { daemon, logs, client })
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// A directory for the logs of containers.
    pub fn logs(&self) -> &Path {
        &self.logs
    }
}

fn import_images(daemon: &PrivateDaemon) -> Result<(), DaemonError> {
    let archive = daemon.directory().join("images.tar");
    fs::write(&archive, images::archive()?)?;
    let mut command = Command::new("ctr");
    command.arg("--address").arg(daemon.socket());
    command.args(["--namespace", "k8s.io", "images", "import", "--all-platforms"]).arg(&archive);
    daemon::run(command)
}

fn configuration(directory: &Path) -> String {
    let (root, state) = (directory.join("root"), directory.join("state"));
    let socket = PrivateDaemon::socket_in(directory);
    let cni = directory.join("no-cni");
    format!(
        r#"version = 2
root = {root:?}
state = {state:?}
[grpc]
address = {socket:?}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
# Root may lack the capability to lower it.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = {runc:?}
[plugins."io.containerd.grpc.v1.cri".cni]
conf_dir = {cni:?}
[plugins."io.containerd.internal.v1.opt"]
path = {opt:?}
"#,
        pause = TestImage::Pause.name(),
        runc = directory.join("runc"),
        opt = directory.join("opt"),
    )
}
