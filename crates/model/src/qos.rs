//! How dearly a pod's resources are held, from what it requests and limits.
//!
//! A pod that says something about its resources as a whole is judged by that alone, otherwise by all of its init
//! containers and containers together. Only CPU and memory count.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::quantity::Quantity;

/// The resources that decide.
const DECIDING: [&str; 2] = ["cpu", "memory"];

/// A pod's quality of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosClass {
    /// Everything is limited to what is requested.
    Guaranteed,
    /// Something is requested or limited.
    Burstable,
    /// Nothing is.
    BestEffort,
}

impl QosClass {
    pub const fn name(self) -> &'static str {
        match self {
            QosClass::Guaranteed => "Guaranteed",
            QosClass::Burstable => "Burstable",
            QosClass::BestEffort => "BestEffort",
        }
    }

    /// The class of a pod, after the defaults of its requests.
    pub fn of(spec: &PodSpec) -> QosClass {
        if let Some(resources) = spec.resources.as_ref().filter(|resources| is_set_for_pod(resources)) {
            return of_requirements(Some(resources));
        }
        let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
        together(containers.map(|container| of_requirements(container.resources.as_ref())))
    }
}

/// Whether a pod says anything about itself that a pod as a whole can have.
fn is_set_for_pod(resources: &ResourceRequirements) -> bool {
    let names =
        |list: &Option<BTreeMap<String, Text>>| list.iter().flat_map(BTreeMap::keys).any(|name| is_pod_resource(name));
    names(&resources.requests) || names(&resources.limits)
}

/// The resources that a pod can have as a whole.
pub(crate) fn is_pod_resource(name: &str) -> bool {
    DECIDING.contains(&name) || name.starts_with("hugepages-")
}

fn of_requirements(resources: Option<&ResourceRequirements>) -> QosClass {
    let Some(resources) = resources else { return QosClass::BestEffort };
    together(DECIDING.into_iter().map(|name| {
        let request = amount(resources.requests.as_ref(), name);
        if request != amount(resources.limits.as_ref(), name) {
            QosClass::Burstable
        } else if request.is_zero() {
            QosClass::BestEffort
        } else {
            QosClass::Guaranteed
        }
    }))
}

/// One class if all agree, otherwise something in between.
fn together(mut classes: impl Iterator<Item = QosClass>) -> QosClass {
    let Some(first) = classes.next() else { return QosClass::BestEffort };
    if classes.all(|class| class == first) { first } else { QosClass::Burstable }
}

/// What is absent is zero, and so is what validation will refuse as no quantity.
fn amount(list: Option<&BTreeMap<String, Text>>, name: &str) -> Quantity {
    let text = list.and_then(|list| list.get(name));
    text.and_then(|text| Quantity::read(text).ok()).unwrap_or_else(Quantity::zero)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn class(spec: &Value) -> &'static str {
        let mut spec = spec.clone();
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                container["name"] = json!("c");
            }
        }
        QosClass::of(&serde_json::from_value(spec).unwrap()).name()
    }

    fn both(cpu: &str, memory: &str) -> Value {
        let amounts = json!({"cpu": cpu, "memory": memory});
        json!({"resources": {"requests": amounts, "limits": amounts}})
    }

    /// 1.11.7
    #[test]
    fn a_pod_is_guaranteed_only_if_every_container_is_limited_to_what_it_requests_of_both() {
        assert_eq!(class(&json!({"containers": [both("1", "1Gi"), both("2", "1")]})), "Guaranteed");
        let uneven =
            json!({"resources": {"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "2", "memory": "1"}}});
        assert_eq!(class(&json!({"containers": [uneven]})), "Burstable");
        let half = json!({"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}});
        assert_eq!(class(&json!({"containers": [half]})), "Burstable");
        assert_eq!(class(&json!({"containers": [both("1", "1"), {}]})), "Burstable");
        assert_eq!(class(&json!({"containers": [both("1", "1")], "initContainers": [{}]})), "Burstable");
        assert_eq!(class(&json!({"containers": [both("1", "1")], "initContainers": [both("1", "1")]})), "Guaranteed");
    }

    /// 1.11.7
    #[test]
    fn amounts_are_compared_by_value() {
        let same = json!({"resources": {
            "requests": {"cpu": "1000m", "memory": "1Ki"},
            "limits": {"cpu": "1", "memory": "1024"}
        }});
        assert_eq!(class(&json!({"containers": [same]})), "Guaranteed");
    }

    /// 1.11.7
    #[test]
    fn other_resources_and_zeroes_leave_best_effort() {
        assert_eq!(class(&json!({"containers": [{}]})), "BestEffort");
        assert_eq!(class(&json!({"containers": []})), "BestEffort");
        assert_eq!(class(&json!({"containers": [both("0", "0")]})), "BestEffort");
        let disk = json!({"resources": {"requests": {"ephemeral-storage": "1Gi", "example.com/gpu": "1"}}});
        assert_eq!(class(&json!({"containers": [disk]})), "BestEffort");
    }

    /// 1.11.7
    #[test]
    fn what_a_pod_says_of_itself_as_a_whole_decides_alone() {
        let whole =
            |resources: Value, container: Value| class(&json!({"resources": resources, "containers": [container]}));
        let even = json!({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}});
        assert_eq!(whole(even, json!({})), "Guaranteed");
        assert_eq!(whole(json!({"requests": {"cpu": "1"}}), both("1", "1")), "Burstable");
        assert_eq!(whole(json!({"limits": {"hugepages-2Mi": "2Mi"}}), both("1", "1")), "BestEffort");
        assert_eq!(whole(json!({"requests": {}}), both("1", "1")), "Guaranteed");
        assert_eq!(whole(json!({"claims": [{"name": "gpu"}]}), both("1", "1")), "Guaranteed");
    }
}
