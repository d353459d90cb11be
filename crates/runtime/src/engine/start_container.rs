//! Starting a container that was created.

use std::sync::Arc;

use cri::v1::ContainerEventType;

use super::{Engine, EngineError, now_nanos};
use crate::container::{Container, START_ERROR_CODE, State};
use crate::shim::files::{self, Cause, Exit};
use crate::shims::{self, ShimsError};

impl Engine {
    /// Starts a container. One that cannot be started has ended.
    pub async fn start_container(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        let container = self.containers.find(id)?;
        // In the background: a caller that goes away must not leave a container half started.
        let (engine, starting) = (self.clone(), container.clone());
        let started = tokio::spawn(async move { engine.start(&starting).await });
        started.await.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    async fn start(self: &Arc<Self>, container: &Arc<Container>) -> Result<(), EngineError> {
        let _changing = container.changing.lock().await;
        let sandbox = self.sandboxes.find(&container.record.sandbox)?;
        let _staying = sandbox.changing.read().await;
        if !sandbox.is_ready() {
            return Err(EngineError::FailedPrecondition(format!("sandbox {:?} is stopped", sandbox.id)));
        }
        if container.state() != State::Created {
            let state = container.state().of_cri().as_str_name();
            return Err(EngineError::FailedPrecondition(format!("container {:?} is in state {state}", container.id)));
        }
        match shims::start(&self.shim, &container.directory).await {
            Ok(started) => {
                container.started(started);
                self.tell(&container.id, &sandbox.id, ContainerEventType::ContainerStartedEvent);
                self.follow(container.clone());
                Ok(())
            }
            Err(error) => {
                let message = error.to_string();
                let exit = Exit {
                    code: START_ERROR_CODE,
                    signal: None,
                    finished_at: now_nanos(),
                    cause: Cause::Start,
                    message: message.clone(),
                };
                files::write(&container.directory, files::EXIT, &exit)
                    .map_err(EngineError::io("write a failure down"))?;
                container.cgroup().kill();
                container.cgroup().remove();
                self.note_exit(container, exit);
                Err(match error {
                    ShimsError::NotStarted(_) => EngineError::Start(message),
                    error => error.into(),
                })
            }
        }
    }
}
