//! One view on the three kinds of containers, in the order in which upstream visits them.

use k8s_openapi::api::core::v1::{EnvVar, PodSpec, SecurityContext, VolumeDevice};

/// What pod-level rules look at in a container, and where the container stands.
#[derive(Clone, Copy)]
pub(super) struct ContainerView<'a> {
    /// The list's field below `spec`.
    pub(super) list: &'static str,
    pub(super) index: usize,
    pub(super) name: &'a str,
    pub(super) security_context: Option<&'a SecurityContext>,
    pub(super) volume_devices: &'a [VolumeDevice],
    pub(super) env: &'a [EnvVar],
}

macro_rules! views {
    ($containers:expr, $list:literal) => {
        $containers.enumerate().map(|(index, container)| ContainerView {
            list: $list,
            index,
            name: &container.name,
            security_context: container.security_context.as_ref(),
            volume_devices: container.volume_devices.as_deref().unwrap_or_default(),
            env: container.env.as_deref().unwrap_or_default(),
        })
    };
}

/// Init containers, then main containers, then ephemeral ones.
pub(super) fn all_containers(spec: &PodSpec) -> impl Iterator<Item = ContainerView<'_>> {
    let init = views!(spec.init_containers.iter().flatten(), "initContainers");
    let main = views!(spec.containers.iter(), "containers");
    let ephemeral = views!(spec.ephemeral_containers.iter().flatten(), "ephemeralContainers");
    init.chain(main).chain(ephemeral)
}
