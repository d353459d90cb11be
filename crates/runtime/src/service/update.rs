//! Changing the limits of a container.

use cri::v1::LinuxContainerResources;

use crate::container::{Container, State};
use crate::engine::EngineError;
use crate::shim::{Order, files};
use crate::spec;

/// Changes the limits of a container that runs now, of one that does not run yet from its start on.
pub fn resources(container: &Container, wanted: &LinuxContainerResources) -> Result<(), EngineError> {
    let machine = spec::Machine::here();
    let mut notes = Vec::new();
    let resources = spec::resources(wanted, &machine, &mut notes)?;
    match container.state() {
        State::Running(_) => {
            let updated = container.cgroup().update(&resources);
            updated.map_err(|error| EngineError::Internal(error.to_string()))?;
        }
        State::Created => {}
        State::Exited { .. } => {
            return Err(EngineError::FailedPrecondition(format!("container {:?} has ended", container.id)));
        }
    }
    let read =
        files::read::<Order>(&container.directory, files::ORDER).map_err(EngineError::io("read the container"))?;
    let Some(mut order) = read else { return Ok(()) };
    if let Some(linux) = order.spec.linux_mut() {
        let mut merged = resources;
        // Devices are no limits: they stay as they were.
        merged.set_devices(linux.resources().as_ref().and_then(|old| old.devices().clone()));
        linux.set_resources(Some(merged));
    }
    files::write(&container.directory, files::ORDER, &order).map_err(EngineError::io("write the container down"))
}
