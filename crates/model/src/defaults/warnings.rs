//! What the API server accepts but warns about.

use k8s_openapi::api::core::v1::{Pod, PodSpec, PodTemplateSpec};

/// The warnings for a pod as it was written, before its defaults were filled in.
pub fn warnings(pod: &Pod) -> Vec<String> {
    negative_grace(pod.spec.as_ref(), "spec").into_iter().collect()
}

/// The warnings for a template. `path` names it (`spec.template`). Defaults hide nothing here: a template keeps a
/// negative grace period, which only its pods raise.
pub fn template_warnings(template: &PodTemplateSpec, path: &str) -> Vec<String> {
    negative_grace(template.spec.as_ref(), &format!("{path}.spec")).into_iter().collect()
}

fn negative_grace(spec: Option<&PodSpec>, path: &str) -> Option<String> {
    let seconds = spec?.termination_grace_period_seconds?;
    (seconds < 0).then(|| {
        format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        )
    })
}
