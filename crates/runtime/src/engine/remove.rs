//! Removing containers and sandboxes. What is not there is removed.

use std::sync::Arc;
use std::time::Duration;

use cri::v1::ContainerEventType;

use super::{Engine, EngineError};
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

    async fn remove(&self, container: &Container) -> Result<(), EngineError> {
        let _changing = container.changing.lock().await;
        if matches!(container.state(), State::Running(_)) {
            self.stop_container(&container.id, Duration::ZERO).await?;
        }
        shims::gone(&container.directory).await?;
        let (images, records) = (self.images.clone(), self.container_records.clone());
        let id = container.id.clone();
        let cgroup = container.cgroup();
        let removed = tokio::task::spawn_blocking(move || -> Result<(), EngineError> {
            cgroup.remove();
            records.remove(&id).map_err(EngineError::io("remove the container's directory"))?;
            Ok(images.remove_snapshot(&id)?)
        });
        removed.await.map_err(|error| EngineError::Internal(error.to_string()))??;
        self.names.give_back(&Container::name(&container.config, &container.record.sandbox));
        self.containers.remove(&container.id);
        self.tell(&container.id, &container.record.sandbox, ContainerEventType::ContainerDeletedEvent);
        Ok(())
    }

    /// Removes a sandbox with its containers; what runs is stopped first.
    pub async fn remove_sandbox(self: &Arc<Self>, id: &str, caller_waits: Option<Duration>) -> Result<(), EngineError> {
        let Some(sandbox) = self.sandboxes.find_if_there(id)? else { return Ok(()) };
        self.stop_sandbox(&sandbox.id, caller_waits).await?;
        let _changing = sandbox.changing.write().await;
        for container in self.containers_of(&sandbox.id) {
            self.remove_container(&container.id).await?;
        }
        let (records, id) = (self.sandbox_records.clone(), sandbox.id.clone());
        let removed = tokio::task::spawn_blocking(move || records.remove(&id)).await;
        let removed = removed.map_err(|error| EngineError::Internal(error.to_string()))?;
        removed.map_err(EngineError::io("remove the sandbox's directory"))?;
        self.names.give_back(&Sandbox::name(&sandbox.metadata()));
        self.tell(&sandbox.id, &sandbox.id, ContainerEventType::ContainerDeletedEvent);
        self.sandboxes.remove(&sandbox.id);
        Ok(())
    }
}
