//! Defaults of containers of every kind.

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EphemeralContainer, HTTPGetAction, Lifecycle, ObjectFieldSelector, Probe,
    ResourceFieldSelector, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::image::pull_policy;
use super::{fill, resources};

/// The fields with defaults, which main and ephemeral containers have alike.
struct Fields<'a> {
    image: Option<&'a str>,
    image_pull_policy: &'a mut Option<String>,
    termination_message_path: &'a mut Option<String>,
    termination_message_policy: &'a mut Option<String>,
    ports: Option<&'a mut Vec<ContainerPort>>,
    env: Option<&'a mut Vec<EnvVar>>,
    resources: Option<&'a mut ResourceRequirements>,
    probes: [Option<&'a mut Probe>; 3],
    lifecycle: Option<&'a mut Lifecycle>,
}

macro_rules! fields {
    ($container:expr) => {
        Fields {
            image: $container.image.as_deref(),
            image_pull_policy: &mut $container.image_pull_policy,
            termination_message_path: &mut $container.termination_message_path,
            termination_message_policy: &mut $container.termination_message_policy,
            ports: $container.ports.as_mut(),
            env: $container.env.as_mut(),
            resources: $container.resources.as_mut(),
            probes: [
                $container.liveness_probe.as_mut(),
                $container.readiness_probe.as_mut(),
                $container.startup_probe.as_mut(),
            ],
            lifecycle: $container.lifecycle.as_mut(),
        }
    };
}

pub(super) fn default_container(container: &mut Container) {
    default_fields(fields!(container));
}

pub(super) fn default_ephemeral_container(container: &mut EphemeralContainer) {
    default_fields(fields!(container));
}

fn default_fields(container: Fields<'_>) {
    fill(container.image_pull_policy, pull_policy(container.image.unwrap_or_default()));
    fill(container.termination_message_path, "/dev/termination-log");
    fill(container.termination_message_policy, "File");
    for port in container.ports.into_iter().flatten() {
        fill(&mut port.protocol, "TCP");
    }
    for source in container.env.into_iter().flatten().filter_map(|variable| variable.value_from.as_mut()) {
        if let Some(field) = &mut source.field_ref {
            default_field_ref(field);
        }
        if let Some(resource) = &mut source.resource_field_ref {
            default_resource_ref(resource);
        }
        if let Some(file) = &mut source.file_key_ref {
            file.optional.get_or_insert(false);
        }
    }
    if let Some(resources) = container.resources {
        resources::round_requirements(resources);
    }
    container.probes.into_iter().flatten().for_each(default_probe);
    if let Some(lifecycle) = container.lifecycle {
        let hooks = [&mut lifecycle.post_start, &mut lifecycle.pre_stop];
        for http in hooks.into_iter().flatten().filter_map(|hook| hook.http_get.as_mut()) {
            default_http_get(http);
        }
    }
}

pub(super) fn default_field_ref(field: &mut ObjectFieldSelector) {
    fill(&mut field.api_version, "v1");
}

/// Without a divisor upstream stores zero, which means one.
pub(super) fn default_resource_ref(resource: &mut ResourceFieldSelector) {
    resources::canonicalize(resource.divisor.get_or_insert_with(|| Quantity("0".to_owned())));
}

/// The grace period of a probe has no default: without one, the pod's applies.
fn default_probe(probe: &mut Probe) {
    let numbers = [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ];
    for (number, default) in numbers {
        if number.unwrap_or_default() == 0 {
            *number = Some(default);
        }
    }
    if let Some(http) = &mut probe.http_get {
        default_http_get(http);
    }
    if let Some(grpc) = &mut probe.grpc {
        grpc.service.get_or_insert_default();
    }
}

fn default_http_get(http: &mut HTTPGetAction) {
    fill(&mut http.path, "/");
    fill(&mut http.scheme, "HTTP");
}
