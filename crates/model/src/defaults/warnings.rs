//! What the API server accepts but warns about.

use k8s_openapi::api::core::v1::Pod;

/// The warnings for a pod as it was written, before its defaults were filled in.
pub fn warnings(pod: &Pod) -> Vec<String> {
    let grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    let negative_grace = grace.filter(|seconds| *seconds < 0).map(|_| {
        "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
            .to_owned()
    });
    negative_grace.into_iter().collect()
}
