//! Learning how containers end: from their shims, from what shims wrote down, or from their absence.

use std::sync::Arc;

use cri::v1::ContainerEventType;

use super::{Engine, now_nanos};
use crate::container::{Container, UNOBSERVED_CODE};
use crate::shim::control::{Answer, Question};
use crate::shim::files::{self, Cause, Exit};
use crate::shims;

impl Engine {
    /// Waits in the background for the end of a container that runs.
    pub(super) fn follow(self: &Arc<Self>, container: Arc<Container>) {
        let engine = self.clone();
        tokio::spawn(async move {
            let exit = match shims::ask(&container.directory, &Question::Wait).await {
                Ok(Answer::Exited(exit)) => exit,
                Ok(_) | Err(_) => engine.find_exit(&container).await,
            };
            engine.note_exit(&container, exit);
        });
    }

    /// How a container ended whose shim does not say: as it is written down, or nobody knows.
    pub(super) async fn find_exit(&self, container: &Container) -> Exit {
        // A shim that is about to end has written it down when it is gone.
        let _ = shims::gone(&container.directory).await;
        if let Ok(Some(exit)) = files::read(&container.directory, files::EXIT) {
            return exit;
        }
        tracing::warn!(container = container.id, "the shim of a container was killed; the container is killed too");
        let cgroup = container.cgroup();
        cgroup.thaw();
        cgroup.kill();
        let exit = Exit {
            code: UNOBSERVED_CODE,
            signal: None,
            finished_at: now_nanos(),
            cause: Cause::Unobserved,
            message: "nobody saw the end of the container: its shim was killed, or the machine went down".to_owned(),
        };
        if let Err(error) = files::write(&container.directory, files::EXIT, &exit) {
            tracing::error!(container = container.id, %error, "the end of a container cannot be written down");
        }
        cgroup.remove();
        exit
    }

    /// Takes note of an end, and tells everyone the first time.
    pub(super) fn note_exit(&self, container: &Container, exit: Exit) {
        if container.exited(exit) {
            self.tell(&container.id, &container.record.sandbox, ContainerEventType::ContainerStoppedEvent);
        }
    }
}
