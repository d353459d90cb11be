//! Whether a living pod is over: nothing that counts runs, and nothing will be started.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus};

use crate::phase::{Seen, is_sidecar, will_restart};

/// What is to be expected of a pod that nobody has asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Something that counts runs or will be started.
    Ongoing,
    /// The pod is done, but sidecars or ephemeral containers still run: they are to be stopped.
    SidecarsLeft,
    /// The pod is done and nothing runs.
    Over,
}

/// The outlook of a pod, by its spec and its statuses. A pod is done when an init container failed for good, or when
/// every regular container is down and stays down; sidecars and ephemeral containers do not keep a pod alive.
pub fn outlook(pod: &Pod) -> Outlook {
    let Some(spec) = &pod.spec else { return Outlook::Ongoing };
    let no_status = PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&no_status);
    let init = status.init_container_statuses.as_deref().unwrap_or_default();
    let main = status.container_statuses.as_deref().unwrap_or_default();
    let failed = |container: &Container| !is_sidecar(container) && has_failed(container, spec, find(init, container));
    let initialization_failed = spec.init_containers.iter().flatten().any(failed);
    let counts = |container: &Container| !stays_down(container, spec, find(main, container));
    if !initialization_failed && spec.containers.iter().any(counts) {
        return Outlook::Ongoing;
    }
    let ephemeral = status.ephemeral_container_statuses.as_deref().unwrap_or_default();
    if [init, main, ephemeral].into_iter().flatten().any(is_running) { Outlook::SidecarsLeft } else { Outlook::Over }
}

fn find<'a>(statuses: &'a [ContainerStatus], container: &Container) -> Option<&'a ContainerStatus> {
    statuses.iter().find(|status| status.name == container.name)
}

fn has_failed(container: &Container, spec: &PodSpec, status: Option<&ContainerStatus>) -> bool {
    match Seen::of(status) {
        Seen::Stopped { exit_code, reason } => exit_code != 0 && !will_restart(container, spec, exit_code, reason),
        Seen::Unknown | Seen::Running | Seen::Waiting => false,
    }
}

fn stays_down(container: &Container, spec: &PodSpec, status: Option<&ContainerStatus>) -> bool {
    match Seen::of(status) {
        Seen::Stopped { exit_code, reason } => !will_restart(container, spec, exit_code, reason),
        // What is not known to have ended is started, or started again.
        Seen::Unknown | Seen::Running | Seen::Waiting => false,
    }
}

fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn running() -> Value {
        json!({"running": {}})
    }

    fn exited(code: i32) -> Value {
        json!({"terminated": {"exitCode": code}})
    }

    /// A pod with the main container `a`, the init container `i` and the sidecar `s`.
    fn pod(policy: &str, main: &Value, init: &Value, sidecar: &Value) -> Outlook {
        let status = |name: &str, state: &Value| {
            let counters = json!({"image": "", "imageID": "", "ready": false, "restartCount": 0});
            let mut status = json!({"name": name, "state": state});
            status.as_object_mut().unwrap().extend(counters.as_object().unwrap().clone());
            status
        };
        let pod = json!({
            "spec": {
                "restartPolicy": policy,
                "containers": [{"name": "a"}],
                "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            },
            "status": {
                "containerStatuses": [status("a", main)],
                "initContainerStatuses": [status("i", init), status("s", sidecar)],
            },
        });
        outlook(&serde_json::from_value(pod).unwrap())
    }

    /// 3.7.4, 3.6.11
    #[test]
    fn a_pod_is_over_when_its_containers_are_down_for_good_and_sidecars_do_not_count() {
        let done = exited(0);
        assert_eq!(pod("Never", &running(), &done, &running()), Outlook::Ongoing);
        assert_eq!(pod("Never", &exited(1), &done, &running()), Outlook::SidecarsLeft);
        assert_eq!(pod("Never", &exited(1), &done, &exited(0)), Outlook::Over);
        assert_eq!(pod("OnFailure", &exited(0), &done, &running()), Outlook::SidecarsLeft);
        assert_eq!(pod("OnFailure", &exited(1), &done, &exited(0)), Outlook::Ongoing);
        assert_eq!(pod("Always", &exited(0), &done, &running()), Outlook::Ongoing);
    }

    /// 3.7.4
    #[test]
    fn a_pod_that_has_not_begun_or_starts_anew_is_not_over() {
        let waiting = json!({"waiting": {"reason": "PodInitializing"}});
        assert_eq!(pod("Never", &waiting, &running(), &waiting), Outlook::Ongoing);
        assert_eq!(pod("Never", &waiting, &exited(0), &waiting), Outlook::Ongoing);
        let anew = json!({"terminated": {"exitCode": 1, "reason": "RestartingAllContainers"}});
        assert_eq!(pod("Never", &anew, &anew, &running()), Outlook::Ongoing);
        assert_eq!(outlook(&Pod::default()), Outlook::Ongoing);
    }

    /// 3.7.4, 3.8.2
    #[test]
    fn an_init_container_that_failed_for_good_ends_the_pod() {
        let waiting = json!({"waiting": {}});
        assert_eq!(pod("Never", &waiting, &exited(1), &running()), Outlook::SidecarsLeft);
        assert_eq!(pod("Never", &waiting, &exited(1), &waiting), Outlook::Over);
        assert_eq!(pod("OnFailure", &waiting, &exited(1), &waiting), Outlook::Ongoing);
    }
}
