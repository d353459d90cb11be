//! Stopping a container: its shim does it, whatever becomes of whoever asked.

use std::time::Duration;

use super::{Engine, EngineError};
use crate::container::State;
use crate::shim::control::{Answer, Question};
use crate::shims::{self, ShimsError};

impl Engine {
    /// Stops a container within this time; one that is not known, does not run yet or any more, is stopped.
    pub async fn stop_container(&self, id: &str, timeout: Duration) -> Result<(), EngineError> {
        let Some(container) = self.containers.find_if_there(id)? else { return Ok(()) };
        match container.state() {
            State::Created | State::Exited { .. } => return Ok(()),
            State::Running(_) => {}
        }
        let timeout_millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        match shims::ask(&container.directory, &Question::Stop { timeout_millis }).await {
            Ok(Answer::Exited(exit)) => {
                self.note_exit(&container, exit);
                Ok(())
            }
            Ok(Answer::Stuck { message }) => Err(EngineError::DeadlineExceeded(message)),
            // It ended before it could be asked; whoever follows it finds out how.
            Err(ShimsError::Gone) => {
                container.ended().await;
                Ok(())
            }
            Ok(answer) => Err(EngineError::Internal(format!("a shim answered {answer:?} to a stop"))),
            Err(error) => Err(error.into()),
        }
    }
}
