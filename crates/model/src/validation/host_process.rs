//! Whether a pod's containers run as processes of the Windows host.

use k8s_openapi::api::core::v1::PodSpec;

use super::visit::all_containers;
use crate::field::{Errors, Path};

/// Either all containers are processes of the host, and then on its network, or none is.
pub(super) fn validate_host_process(spec: &PodSpec, path: Path<'_>, errors: &mut Errors) {
    let pod = spec.security_context.as_ref().and_then(|context| context.windows_options.as_ref());
    let pod = pod.and_then(|options| options.host_process);
    let (mut total, mut on_host) = (0, 0);
    for container in all_containers(spec) {
        total += 1;
        let own = container.security_context.and_then(|context| context.windows_options.as_ref());
        let own = own.and_then(|options| options.host_process);
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let list = path.child(container.list);
            let at = list.index(container.index);
            let at = at.child("securityContext.windowsOptions.hostProcess");
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            errors.invalid(at, own, &detail);
        }
        if own.or(pod) == Some(true) {
            on_host += 1;
        }
    }
    if on_host == 0 {
        return;
    }
    if on_host != total {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.invalid(path, "", detail);
    }
    if spec.host_network != Some(true) {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(path.child("hostNetwork"), false, detail);
    }
}
