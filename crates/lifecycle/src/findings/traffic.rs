//! Containers that stop taking requests before their clients know.

use super::facts::{ContainerFacts, Draft};
use super::{Severity, Workload};
use crate::exit_order::stages::Role;

/// How long it usually takes until the last load balancer knows.
const SETTLING_SECONDS: u64 = 5;

pub(super) fn no_time_for_endpoints(container: &ContainerFacts<'_>) -> Option<Draft> {
    let pod = container.pod;
    let serves = container.container.ports.as_ref().is_some_and(|ports| !ports.is_empty());
    let stays = match pod.subject.workload {
        Workload::Pod | Workload::LongRunning => true,
        Workload::Job => false,
    };
    let wanted = serves && stays && container.role == Role::Regular && pod.grace.runs_hooks();
    if !wanted || container.has_pre_stop() {
        return None;
    }
    let seconds = (pod.grace.effective_seconds() / 3).clamp(1, SETTLING_SECONDS);
    let message = format!(
        "{} gets its stop signal while it is still being taken out of the endpoints of its services: for a few seconds \
         requests may still arrive, and a process that has stopped listening refuses them.",
        container.name()
    );
    let remedy = format!(
        "If it serves requests, write lifecycle: {{preStop: {{sleep: {{seconds: {seconds}}}}}}}; the wait counts \
         against the grace period."
    );
    Some(container.draft(Severity::Info, "lifecycle", message, remedy))
}
