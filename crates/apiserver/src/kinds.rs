//! The kinds that are served, one file each.
//!
//! Adding one: write its file, add its line to [`ALL`].

mod addresses;
mod config_map;
mod controller_revision;
mod daemon_set;
mod deployment;
mod endpoint_slice;
mod endpoints;
mod event;
mod event_v1;
mod job;
mod lease;
mod mutating_webhook_configuration;
mod namespace;
mod node;
mod pod;
mod pod_disruption_budget;
mod priority_class;
mod replica_set;
mod secret;
pub(crate) mod service;
mod service_account;
mod stateful_set;
mod termination;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod validating_webhook_configuration;
mod webhook;
mod workload;

use crate::kind::{Of, Served};

/// Every kind, in the order of discovery.
pub const ALL: &[&dyn Served] = &[
    &Of::<config_map::ConfigMaps>::NEW,
    &Of::<endpoints::Endpoints>::NEW,
    &Of::<event::Events>::NEW,
    &Of::<namespace::Namespaces>::NEW,
    &Of::<node::Nodes>::NEW,
    &Of::<pod::Pods>::NEW,
    &Of::<secret::Secrets>::NEW,
    &Of::<service::Services>::NEW,
    &Of::<service_account::ServiceAccounts>::NEW,
    &Of::<mutating_webhook_configuration::MutatingWebhookConfigurations>::NEW,
    &Of::<validating_webhook_configuration::ValidatingWebhookConfigurations>::NEW,
    &Of::<controller_revision::ControllerRevisions>::NEW,
    &Of::<daemon_set::DaemonSets>::NEW,
    &Of::<deployment::Deployments>::NEW,
    &Of::<replica_set::ReplicaSets>::NEW,
    &Of::<stateful_set::StatefulSets>::NEW,
    &Of::<job::Jobs>::NEW,
    &Of::<lease::Leases>::NEW,
    &Of::<endpoint_slice::EndpointSlices>::NEW,
    &Of::<event_v1::EventsV1>::NEW,
    &Of::<pod_disruption_budget::PodDisruptionBudgets>::NEW,
    &Of::<priority_class::PriorityClasses>::NEW,
    &Of::<termination::Terminations>::NEW,
];
