//! Sidecars that are plain containers, and sidecars whose hook comes sooner than people think.

use k8s_openapi::api::core::v1::Container;

use super::facts::{ContainerFacts, Draft, HookFacts};
use super::image::Image;
use super::{Severity, Workload};
use crate::exit_order::stages::Role;
use crate::hook::Hook;

/// Names of containers and of images (without registry and tag) that serve the other containers of their pod.
const SIDECARS: [&str; 24] = [
    "envoy",
    "istio-proxy",
    "proxyv2",
    "linkerd-proxy",
    "linkerd2-proxy",
    "consul-dataplane",
    "daprd",
    "cloud-sql-proxy",
    "cloudsql-proxy",
    "gce-proxy",
    "fluent-bit",
    "fluentbit",
    "fluentd",
    "filebeat",
    "vector",
    "promtail",
    "otel-collector",
    "otelcol",
    "opentelemetry-collector",
    "opentelemetry-collector-contrib",
    "jaeger-agent",
    "vault-agent",
    "oauth2-proxy",
    "git-sync",
];

/// Whether the container's name or image is that of a well-known sidecar.
pub(super) fn is_sidecar_by_trade(container: &Container) -> bool {
    let image = Image::of(container.image.as_deref().unwrap_or_default());
    SIDECARS.contains(&container.name.as_str())
        || SIDECARS.contains(&image.name)
        || image.path.ends_with("linkerd/proxy")
        || image.path.ends_with("linkerd-io/proxy")
}

pub(super) fn plain_container(container: &ContainerFacts<'_>) -> Option<Draft> {
    let pod = container.pod;
    if container.role != Role::Regular || pod.main_containers == 0 || !is_sidecar_by_trade(container.container) {
        return None;
    }
    let name = container.name();
    let exits_later = pod.rank_values.first().is_some_and(|first| pod.ranks.of(name) > *first);
    let (severity, what) = match pod.subject.workload {
        Workload::Job => {
            let text = "is a plain container of a Job: it goes on after the work is done, so the Job never completes \
                        unless something tells it to quit";
            (Severity::Error, text)
        }
        Workload::Pod | Workload::LongRunning if exits_later => return None,
        Workload::Pod | Workload::LongRunning => {
            let text = "is a plain container: it gets its stop signal at the same time as the containers that need it, \
                        which may lose their network, logs or secrets while they finish";
            (Severity::Warning, text)
        }
    };
    let message = format!("{name} looks like a sidecar but {what}.");
    let native =
        format!("Move {name} to initContainers and add restartPolicy: Always; it then starts first and ends last");
    let remedy = match pod.subject.workload {
        Workload::Job => format!("{native}, and the Job does not wait for it."),
        Workload::Pod | Workload::LongRunning => format!(
            "{native}. Or give it a later exit rank: annotation kruise.io/container-exit-priority: '{{\"{name}\": 1}}' \
             (rank 0 exits first)."
        ),
    };
    Some(container.draft(severity, "", message, remedy))
}

pub(super) fn hook_starts_first(hook: &HookFacts<'_>) -> Option<Draft> {
    let waits = hook.hook != Hook::Sleep { seconds: 0 };
    if hook.container.role != Role::Sidecar || !hook.runs_before_stop() || !waits {
        return None;
    }
    let name = hook.container.name();
    let message = format!(
        "{name} is a native sidecar: its stop signal waits for the regular containers, but its preStop hook does not. \
         The hook starts together with theirs, while they still run."
    );
    let remedy = format!(
        "Drop the hook if it only keeps {name} alive for the others: the order does that already. Otherwise make sure \
         that it may run while they do."
    );
    Some(hook.draft(Severity::Info, message, remedy))
}
