//! Removing containers and sandboxes. What is not there is removed.

use std::sync::Arc;
use std::time::Duration;

use cri::v1::ContainerEventType;

use super::{Engine, EngineError};
use crate::cgroup::Cgroup;
use crate::container::{Container, State};
use crate::sandbox::Sandbox;
use crate::shims;

impl Engine {
    /// Removes a container; one that runs is killed first.
    pub async fn remove_container(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        let Some(container) = self.containers.find_if_there(id)? else { return Ok(()) };
        let (engine, removed) = (self.clone(), container.clone());
        let done = tokio::spawn(async move { engine.remove(&removed).await });
        done.await.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    async fn remove(self: &Arc<Self>, container: &Container) -> Result<(), EngineError> {
        let _changing = container.changing.lock().await;
        if matches!(container.state(), State::Running(_)) {
            self.stop_container(&container.id, Duration::ZERO).await?;
        }
        self.container_records.forget(&container.id).map_err(EngineError::io("remove the container's directory"))?;
        self.names.give_back(&Container::name(&container.config, &container.record.sandbox));
        self.containers.remove(&container.id);
        self.tell(&container.id, &container.record.sandbox, ContainerEventType::ContainerDeletedEvent);
        let (engine, id, cgroup) = (self.clone(), container.id.clone(), container.cgroup());
        // Nobody waits for room to be made; whoever comes after a crash makes it.
        tokio::spawn(async move {
            if let Err(error) = engine.make_room(&id, cgroup).await {
                tracing::warn!(container = id, %error, "something of a removed container stays until the next start");
            }
        });
        Ok(())
    }

    /// Removes what is left of a container on the disk, once its shim is gone.
    async fn make_room(&self, id: &str, cgroup: Cgroup) -> Result<(), EngineError> {
        shims::gone(&self.container_records.going(id)).await?;
        let (images, records, id) = (self.images.clone(), self.container_records.clone(), id.to_owned());
        let removed = tokio::task::spawn_blocking(move || -> Result<(), EngineError> {
            cgroup.remove();
            images.remove_snapshot(&id)?;
            records.discard(&id).map_err(EngineError::io("remove the container's directory"))
        });
        removed.await.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    /// Removes a sandbox with its containers; what runs is stopped first.
    pub async fn remove_sandbox(self: &Arc<Self>, id: &str, caller_waits: Option<Duration>) -> Result<(), EngineError> {
        let Some(sandbox) = self.sandboxes.find_if_there(id)? else { return Ok(()) };
        self.stop_sandbox(&sandbox.id, caller_waits).await?;
        let _changing = sandbox.changing.write().await;
        for container in self.containers_of(&sandbox.id) {
            self.remove_container(&container.id).await?;
        }
        self.sandbox_records.forget(&sandbox.id).map_err(EngineError::io("remove the sandbox's directory"))?;
        self.names.give_back(&Sandbox::name(&sandbox.metadata()));
        self.tell(&sandbox.id, &sandbox.id, ContainerEventType::ContainerDeletedEvent);
        self.sandboxes.remove(&sandbox.id);
        let (records, id) = (self.sandbox_records.clone(), sandbox.id.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = records.discard(&id) {
                tracing::warn!(sandbox = id, %error, "something of a removed sandbox stays until the next start");
            }
        });
        Ok(())
    }
}
