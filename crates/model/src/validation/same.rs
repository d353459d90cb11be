//! Whether two parts of a spec, a pod's or a workload's, mean the same, however they are written.
//!
//! An absent list equals an empty one, a zero value equals an absent one where upstream cannot tell them apart, and
//! quantities are compared by amount. Which fields upstream keeps apart is known by their names.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::quantity::Quantity;

/// Maps whose keys are the user's: every entry counts, even with an empty value.
const USER_MAPS: [&str; 11] = [
    "annotations",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "options",
    "overhead",
    "requests",
    "sizes",
    "userAnnotations",
    "volumeAttributes",
];
const QUANTITY_MAPS: [&str; 3] = ["limits", "overhead", "requests"];
const QUANTITIES: [&str; 2] = ["divisor", "sizeLimit"];
/// Fields whose zero value says something else than their absence.
const TELLING_ZEROS: [&str; 53] = [
    "activeDeadlineSeconds",
    "allowPrivilegeEscalation",
    "apiGroup",
    "automountServiceAccountToken",
    "backoffLimitPerIndex",
    "cachingMode",
    "completions",
    "defaultMode",
    "defaultUser",
    "enableServiceLinks",
    "expirationSeconds",
    "fsGroup",
    "fsGroupChangePolicy",
    "gmsaCredentialSpec",
    "gmsaCredentialSpecName",
    "hostProcess",
    "hostUsers",
    "hostnameOverride",
    "initiatorName",
    "localhostProfile",
    "maxExpirationSeconds",
    "maxFailedIndexes",
    "maxUnavailable",
    "minAvailable",
    "minDomains",
    "mode",
    "mountPropagation",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "optional",
    "podGroupName",
    "preemptionPolicy",
    "priority",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "recursiveReadOnly",
    "resourceClaimName",
    "resourceClaimTemplateName",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "runAsUserName",
    "runtimeClassName",
    "seLinuxChangePolicy",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "stopSignal",
    "storageClassName",
    "supplementalGroupsPolicy",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "ttlSecondsAfterFinished",
];

/// Equal parts are the common case and are found without looking at their writing.
pub fn same<T: Serialize + PartialEq>(a: &T, b: &T) -> bool {
    if a == b {
        return true;
    }
    match (serde_json::to_value(a), serde_json::to_value(b)) {
        (Ok(a), Ok(b)) => same_values("", &a, &b),
        _ => false,
    }
}

fn same_values(field: &str, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => same_objects(field, a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_values(field, a, b))
        }
        (Value::String(a), Value::String(b)) if QUANTITIES.contains(&field) => same_quantities(a, b),
        _ => a == b,
    }
}

fn same_objects(field: &str, a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    if USER_MAPS.contains(&field) {
        let is_quantity = QUANTITY_MAPS.contains(&field);
        return keys.into_iter().all(|key| match (a.get(key), b.get(key)) {
            (Some(Value::String(a)), Some(Value::String(b))) if is_quantity => same_quantities(a, b),
            (a, b) => a == b,
        });
    }
    keys.into_iter().all(|key| {
        let present = |value: &&Value| !is_absent(key, value);
        match (a.get(key).filter(present), b.get(key).filter(present)) {
            (Some(a), Some(b)) => same_values(key, a, b),
            (None, None) => true,
            _ => false,
        }
    })
}

fn is_absent(field: &str, value: &Value) -> bool {
    let zero_is_absent = !TELLING_ZEROS.contains(&field);
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty() && USER_MAPS.contains(&field),
        Value::Bool(flag) => !flag && zero_is_absent,
        Value::String(text) => text.is_empty() && zero_is_absent,
        Value::Number(number) => number.as_i64() == Some(0) && zero_is_absent,
    }
}

fn same_quantities(a: &str, b: &str) -> bool {
    let read = |text: &str| Quantity::read(&Text(text.to_owned()));
    match (read(a), read(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodSpec;
    use serde_json::json;

    use super::*;

    fn spec(value: Value) -> PodSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn different_writings_of_one_meaning_are_the_same() {
        let rows = [
            (json!({"containers": []}), json!({"containers": [], "volumes": []})),
            (json!({"containers": []}), json!({"containers": [], "hostNetwork": false, "nodeName": ""})),
            (json!({"containers": []}), json!({"containers": [], "nodeSelector": {}})),
            (
                json!({"containers": [], "overhead": {"cpu": "1", "memory": "1Gi"}}),
                json!({"containers": [], "overhead": {"cpu": "1000m", "memory": "1073741824"}}),
            ),
        ];
        for (a, b) in rows {
            assert!(same(&spec(a.clone()), &spec(b.clone())), "{a} and {b}");
        }
    }

    #[test]
    fn fields_that_tell_zero_from_absence_differ() {
        let rows = [
            (json!({"containers": []}), json!({"containers": [], "hostUsers": false})),
            (json!({"containers": []}), json!({"containers": [], "terminationGracePeriodSeconds": 0})),
            (json!({"containers": []}), json!({"containers": [], "securityContext": {}})),
            (json!({"containers": []}), json!({"containers": [], "nodeSelector": {"a": ""}})),
            (json!({"containers": []}), json!({"containers": [], "hostNetwork": true})),
        ];
        for (a, b) in rows {
            assert!(!same(&spec(a.clone()), &spec(b.clone())), "{a} and {b}");
        }
    }
}
