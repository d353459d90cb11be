//! Ending a sandbox: its containers by their stop signals, then its network, last its namespaces.

use std::time::Duration;

use cri::v1::ContainerEventType;
use futures_util::future::join_all;
use lifecycle::stop::straggler_grace;

use super::{Engine, EngineError, sandbox_files};
use crate::cgroup::Cgroup;
use crate::namespaces;
use crate::sandbox::{NAMESPACES, Sandbox};
use crate::shims;

impl Engine {
    /// Stops a sandbox; one that is not known, or stopped, is stopped. `caller_waits` is what is left of the caller's time.
    pub async fn stop_sandbox(&self, id: &str, caller_waits: Option<Duration>) -> Result<(), EngineError> {
        let Some(sandbox) = self.sandboxes.find_if_there(id)? else { return Ok(()) };
        let _changing = sandbox.changing.write().await;
        let grace = straggler_grace(caller_waits);
        let containers = self.containers_of(&sandbox.id);
        let stops = containers.iter().map(|container| self.stop_container(&container.id, grace));
        for stopped in join_all(stops).await {
            stopped?;
        }
        let was_ready = sandbox.is_ready();
        self.dismantle(&sandbox).await?;
        sandbox.change(|record| record.stopped = true).map_err(EngineError::io("write the sandbox down"))?;
        if was_ready {
            self.tell(&sandbox.id, &sandbox.id, ContainerEventType::ContainerStoppedEvent);
        }
        Ok(())
    }

    /// Takes apart what a sandbox is made of, whatever there is of it.
    pub(super) async fn dismantle(&self, sandbox: &Sandbox) -> Result<(), EngineError> {
        self.network.detach(&sandbox.id).await?;
        if let Some(pid) = sandbox.record().pause
            && shims::is_alive(&sandbox.directory)
        {
            kill(pid);
            shims::gone(&sandbox.directory).await?;
        }
        if sandbox.owns_cgroup() {
            Cgroup::new(sandbox.cgroup()).remove();
        }
        sandbox_files::unmount(&sandbox.directory);
        let pins = sandbox.directory.join(NAMESPACES);
        let unpinned = tokio::task::spawn_blocking(move || namespaces::unpin(&pins)).await;
        unpinned.map_err(|error| EngineError::Internal(error.to_string()))??;
        Ok(())
    }
}

/// The process lives, since its lock is held: its number is its own.
fn kill(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
