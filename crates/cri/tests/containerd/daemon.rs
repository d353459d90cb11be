//! A containerd of its own, with private directories, which leaves nothing behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cri::Client;
use cri::contract::{TestImage, images};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The daemon starts within this, also on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Daemon {
    directory: TempDir,
    logs: PathBuf,
    process: Child,
}

impl Daemon {
    pub fn start() -> Daemon {
        let directory = tempfile::tempdir().expect("a directory");
        let logs = directory.path().join("logs");
        fs::create_dir(&logs).expect("a directory for logs");
        let config = directory.path().join("config.toml");
        fs::write(&config, configuration(directory.path())).expect("a configuration");
        let output = File::create(directory.path().join("containerd.log")).expect("a log file");
        let process = Command::new("containerd")
            .arg("--config")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle"))
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("containerd does not start ({error}): install the package containerd"));
        Daemon { directory, logs, process }
    }

    pub fn logs(&self) -> &Path {
        &self.logs
    }

    fn socket(&self) -> PathBuf {
        socket(self.directory.path())
    }

    pub async fn client(&self) -> Client {
        let connected = Client::connect_within(self.socket().to_str().expect("a path in UTF-8"), PATIENCE).await;
        connected.unwrap_or_else(|error| panic!("{error}\n{}", self.output()))
    }

    /// What the daemon wrote, to explain a failure.
    fn output(&self) -> String {
        fs::read_to_string(self.directory.path().join("containerd.log")).unwrap_or_default()
    }

    pub fn import_images(&self) {
        let archive = self.directory.path().join("images.tar");
        fs::write(&archive, images::archive().expect("images")).expect("an archive");
        let imported = Command::new("ctr")
            .arg("--address")
            .arg(self.socket())
            .args(["--namespace", "k8s.io", "images", "import", "--all-platforms"])
            .arg(&archive)
            .output()
            .expect("ctr, of the package containerd");
        let told = String::from_utf8_lossy(&imported.stderr);
        assert!(imported.status.success(), "{told}\n{}", self.output());
    }

    /// Shims outlive the daemon on purpose; those that name our socket are ours.
    fn kill_shims(&self) {
        let socket = self.socket();
        let Ok(processes) = fs::read_dir("/proc") else { return };
        for process in processes.flatten() {
            let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let mut words = command.split(|byte| *byte == 0);
            let shim = words.next().is_some_and(|program| program.ends_with(b"containerd-shim-runc-v2"));
            if shim && words.any(|word| word == socket.as_os_str().as_encoded_bytes()) {
                let number = process.file_name().to_str().and_then(|name| name.parse().ok());
                if let Some(pid) = number.and_then(Pid::from_raw) {
                    // It may have ended by itself.
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
        }
    }

    /// Unmounts everything below the directory, the innermost first.
    fn unmount_all(&self) {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let targets = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(Path::new);
        let ours: Vec<&Path> = targets.filter(|target| target.starts_with(self.directory.path())).collect();
        for target in ours.iter().rev() {
            // What cannot be unmounted is told by the removal of the directory.
            let _ = unmount(*target, UnmountFlags::DETACH);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.process.wait();
        self.kill_shims();
        self.unmount_all();
    }
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("containerd.sock")
}

fn configuration(directory: &Path) -> String {
    let (root, state, socket) = (directory.join("root"), directory.join("state"), socket(directory));
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
