//! What happens to containers, told to everyone who listens. A listener that does not keep up is told that it missed
//! something by the end of its stream.

use cri::v1::{ContainerEventResponse, ContainerEventType};
use tokio::sync::broadcast;

/// What may wait for one listener.
const WAITING_MAX: usize = 1024;

/// Tells everyone.
#[derive(Clone)]
pub struct Events {
    sender: broadcast::Sender<ContainerEventResponse>,
}

impl Default for Events {
    fn default() -> Events {
        Events { sender: broadcast::Sender::new(WAITING_MAX) }
    }
}

impl Events {
    pub fn subscribe(&self) -> broadcast::Receiver<ContainerEventResponse> {
        self.sender.subscribe()
    }

    /// Whether anyone would hear.
    pub fn has_listeners(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    pub fn tell(&self, event: ContainerEventResponse) {
        // Nobody has to listen.
        let _ = self.sender.send(event);
    }
}

/// An event without what it is about.
pub fn event(id: &str, what: ContainerEventType, at: i64) -> ContainerEventResponse {
    ContainerEventResponse {
        container_id: id.to_owned(),
        container_event_type: what.into(),
        created_at: at,
        ..ContainerEventResponse::default()
    }
}
