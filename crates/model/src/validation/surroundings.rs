//! What a container's validity depends on beyond the container: its pod.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodSpec;

use super::{Options, VolumeNames};

/// The parts of a pod that the rules for its containers look at.
pub(super) struct Surroundings<'a> {
    pub(super) volumes: &'a VolumeNames,
    pub(super) options: &'a Options,
    pub(super) claim_names: BTreeSet<&'a str>,
    /// The pod's grace period; missing only where defaults were not filled in.
    pub(super) grace_seconds: Option<i64>,
    pub(super) os: Option<&'a str>,
    pub(super) restart_policy: &'a str,
    pub(super) host_users: bool,
}

impl<'a> Surroundings<'a> {
    pub(super) fn of(spec: &'a PodSpec, volumes: &'a VolumeNames, options: &'a Options) -> Surroundings<'a> {
        Surroundings {
            volumes,
            options,
            claim_names: claim_names(spec),
            grace_seconds: spec.termination_grace_period_seconds,
            os: spec.os.as_ref().map(|os| os.name.as_str()),
            restart_policy: spec.restart_policy.as_deref().unwrap_or_default(),
            host_users: spec.host_users != Some(false),
        }
    }
}

/// The names under which containers may refer to the pod's resource claims.
pub(super) fn claim_names(spec: &PodSpec) -> BTreeSet<&str> {
    spec.resource_claims.iter().flatten().map(|claim| claim.name.as_str()).filter(|name| !name.is_empty()).collect()
}
