//! Which container of a pod is meant.

use k8s_openapi::Metadata as _;
use k8s_openapi::api::core::v1::{Pod, PodSpec};

use crate::status::Status;

/// The container that is meant where several could be and none is named. Upstream leaves this to kubectl; other clients
/// get the same here.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// The container that is named, or the only one, or the default one.
pub fn choose(pod: &Pod, named: &str) -> Result<String, Status> {
    let name = pod.metadata().name.as_deref().unwrap_or_default();
    let spec = pod.spec.as_ref();
    let all: Vec<&str> = spec.map(names).unwrap_or_default();
    if !named.is_empty() {
        return if all.contains(&named) {
            Ok(named.to_owned())
        } else {
            Err(Status::bad_request(format!("container {named} is not valid for pod {name}")))
        };
    }
    match spec.map(|spec| spec.containers.as_slice()).unwrap_or_default() {
        [] => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        [only] => Ok(only.name.clone()),
        [..] => {
            let annotations = pod.metadata().annotations.as_ref();
            match annotations.and_then(|annotations| annotations.get(DEFAULT_CONTAINER)) {
                Some(default) if all.contains(&default.as_str()) => Ok(default.clone()),
                Some(_) | None => Err(Status::bad_request(format!(
                    "a container name must be specified for pod {name}, choose one of: [{}]",
                    all.join(" ")
                ))),
            }
        }
    }
}

/// All containers, in the order in which they are started, then those that were added to the running pod.
fn names(spec: &PodSpec) -> Vec<&str> {
    let init = spec.init_containers.iter().flatten().map(|container| container.name.as_str());
    let main = spec.containers.iter().map(|container| container.name.as_str());
    let added = spec.ephemeral_containers.iter().flatten().map(|container| container.name.as_str());
    init.chain(main).chain(added).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(containers: &[&str], default: Option<&str>) -> Pod {
        let containers: Vec<_> = containers.iter().map(|name| json!({ "name": name })).collect();
        let annotations = default.map(|name| json!({ DEFAULT_CONTAINER: name }));
        serde_json::from_value(json!({
            "metadata": { "name": "web", "annotations": annotations },
            "spec": { "initContainers": [{ "name": "init" }], "containers": containers,
                      "ephemeralContainers": [{ "name": "debug" }] },
        }))
        .unwrap()
    }

    #[test]
    fn the_container_is_the_named_the_only_or_the_default_one() {
        assert_eq!(choose(&pod(&["a"], None), "").unwrap(), "a");
        assert_eq!(choose(&pod(&["a", "b"], Some("b")), "").unwrap(), "b");
        for named in ["init", "b", "debug"] {
            assert_eq!(choose(&pod(&["a", "b"], None), named).unwrap(), named);
        }
    }

    #[test]
    fn a_container_that_is_not_clear_is_asked_for() {
        let rows: [(&[&str], Option<&str>, &str, &str); 4] = [
            (&["a", "b"], None, "", "a container name must be specified for pod web, choose one of: [init a b debug]"),
            (
                &["a", "b"],
                Some("gone"),
                "",
                "a container name must be specified for pod web, choose one of: [init a b debug]",
            ),
            (&[], None, "", "a container name must be specified for pod web"),
            (&["a"], None, "x", "container x is not valid for pod web"),
        ];
        for (containers, default, named, message) in rows {
            let refused = choose(&pod(containers, default), named).unwrap_err();
            assert_eq!((refused.code, refused.message.as_str()), (400, message));
        }
    }
}
