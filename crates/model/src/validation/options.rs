//! What validation may let pass: decided by the feature gates and by what the old object already has.

use k8s_openapi::api::core::v1::{
    Container, EphemeralContainer, Lifecycle, PodSpec, ResourceRequirements, SecurityContext,
};

use super::resources::is_divisible_huge_page;
use crate::gates::{FeatureGates, Gate};
use crate::quantity::Quantity;

/// What is allowed beyond, or short of, the rules for a new object with every gate on.
///
/// An update may keep what the old object has, even where a new object may not start with it. This holds for the whole
/// object: one container that used a thing before allows it in all containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `lifecycle.stopSignal` may be set.
    pub stop_signal: bool,
    /// A sleep of zero seconds is a valid hook.
    pub zero_sleep: bool,
    /// Containers may be privileged.
    pub privileged: bool,
    /// Amounts of huge pages need not be multiples of the page size.
    pub indivisible_huge_pages: bool,
    /// Init containers that are no sidecars may have the resize policy `RestartContainer`.
    pub restarting_resize_of_init_containers: bool,
    /// `CAP_SYS_ADMIN` may be added although privilege escalation is off.
    pub sys_admin_without_escalation: bool,
}

impl Options {
    /// For an object that replaces `old`, or for a new one.
    pub fn new(gates: FeatureGates, old: Option<&PodSpec>) -> Options {
        let uses = |in_use: fn(&PodSpec) -> bool| old.is_some_and(in_use);
        Options {
            stop_signal: gates.enabled(Gate::ContainerStopSignals) || uses(stop_signal_in_use),
            zero_sleep: gates.enabled(Gate::PodLifecycleSleepActionAllowZero) || uses(zero_sleep_in_use),
            privileged: true,
            indivisible_huge_pages: uses(indivisible_huge_pages_in_use),
            restarting_resize_of_init_containers: uses(restarting_resize_of_init_containers_in_use),
            sys_admin_without_escalation: uses(sys_admin_without_escalation_in_use),
        }
    }
}

fn stop_signal_in_use(spec: &PodSpec) -> bool {
    any_lifecycle(spec, |lifecycle| lifecycle.stop_signal.is_some())
}

fn zero_sleep_in_use(spec: &PodSpec) -> bool {
    any_lifecycle(spec, |lifecycle| {
        let mut hooks = [&lifecycle.post_start, &lifecycle.pre_stop].into_iter().flatten();
        hooks.any(|hook| hook.sleep.as_ref().is_some_and(|sleep| sleep.seconds == 0))
    })
}

fn indivisible_huge_pages_in_use(spec: &PodSpec) -> bool {
    let is_indivisible = |(name, amount): (&String, &_)| {
        Quantity::read(amount).is_ok_and(|amount| is_divisible_huge_page(name, &amount) == Some(false))
    };
    let container_has = any_container(spec, |resources: Option<&ResourceRequirements>, _| {
        let lists = resources.into_iter().flat_map(|r| [&r.limits, &r.requests]).flatten();
        lists.flatten().any(is_indivisible)
    });
    container_has || spec.overhead.iter().flatten().any(is_indivisible)
}

fn restarting_resize_of_init_containers_in_use(spec: &PodSpec) -> bool {
    let plain = spec.init_containers.iter().flatten().filter(|c| c.restart_policy.as_deref() != Some("Always"));
    plain.flat_map(|c| c.resize_policy.iter().flatten()).any(|policy| policy.restart_policy == "RestartContainer")
}

fn sys_admin_without_escalation_in_use(spec: &PodSpec) -> bool {
    any_container(spec, |_, security: Option<&SecurityContext>| {
        security.is_some_and(|security| {
            let added = security.capabilities.iter().flat_map(|capabilities| capabilities.add.iter().flatten());
            security.allow_privilege_escalation != Some(true)
                && added.into_iter().any(|capability| capability == "CAP_SYS_ADMIN")
        })
    })
}

fn any_lifecycle(spec: &PodSpec, test: impl Fn(&Lifecycle) -> bool) -> bool {
    let (containers, ephemeral) = all_containers(spec);
    containers.filter_map(|c| c.lifecycle.as_ref()).any(&test)
        || ephemeral.filter_map(|c| c.lifecycle.as_ref()).any(&test)
}

fn any_container(
    spec: &PodSpec,
    test: impl Fn(Option<&ResourceRequirements>, Option<&SecurityContext>) -> bool,
) -> bool {
    let (mut containers, mut ephemeral) = all_containers(spec);
    containers.any(|c| test(c.resources.as_ref(), c.security_context.as_ref()))
        || ephemeral.any(|c| test(c.resources.as_ref(), c.security_context.as_ref()))
}

fn all_containers(spec: &PodSpec) -> (impl Iterator<Item = &Container>, impl Iterator<Item = &EphemeralContainer>) {
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    (containers, spec.ephemeral_containers.iter().flatten())
}
