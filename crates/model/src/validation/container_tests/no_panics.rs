//! No container is too odd to be checked.

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Map, Value, json};

use super::{Options, errors_with, spec};
use crate::gates::FeatureGates;

fn texts() -> impl Strategy<Value = Value> {
    prop_oneof!["\\PC{0,20}", Just("..".to_owned()), Just("/a".to_owned()), Just("1e999999999".to_owned())]
        .prop_map(Value::from)
}

fn numbers() -> impl Strategy<Value = Value> {
    prop_oneof![any::<i32>(), Just(i32::MIN), Just(i32::MAX), Just(0)].prop_map(Value::from)
}

fn maps(key: &'static str, value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::btree_map(key, value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

proptest! {
    #[test]
    fn any_texts_and_numbers_can_be_checked(text in texts(), number in numbers(), amounts in maps("\\PC{0,12}", texts())) {
        let action = json!({
            "exec": {"command": [text]}, "httpGet": {"port": number, "path": text, "scheme": text},
            "sleep": {"seconds": number}, "tcpSocket": {"port": text},
        });
        let container = json!({
            "name": text, "image": text, "imagePullPolicy": text, "restartPolicy": text,
            "ports": [{"name": text, "containerPort": number, "hostPort": number, "protocol": text}],
            "env": [{"name": text, "valueFrom": {
                "fieldRef": {"fieldPath": text}, "resourceFieldRef": {"resource": text, "divisor": text},
                "secretKeyRef": {"name": text, "key": text},
            }}],
            "resources": {"limits": amounts, "requests": amounts, "claims": [{"name": text, "request": text}]},
            "lifecycle": {"preStop": action, "stopSignal": text},
            "livenessProbe": {"httpGet": {"port": text}, "periodSeconds": number, "successThreshold": number},
            "securityContext": {
                "runAsUser": number, "seccompProfile": {"type": text, "localhostProfile": text},
                "windowsOptions": {"runAsUserName": text, "gmsaCredentialSpecName": text},
            },
            "volumeMounts": [{"name": text, "mountPath": text, "subPath": text, "mountPropagation": text}],
            "volumeDevices": [{"name": text, "devicePath": text}],
        });
        let pod = spec(json!({
            "terminationGracePeriodSeconds": number, "os": {"name": text},
            "containers": [container], "initContainers": [container], "ephemeralContainers": [container],
        }));
        let errors = errors_with(&pod, &Options::new(FeatureGates::ALL_ON, Some(&pod)));
        proptest::prop_assert!(!errors.is_empty());
    }
}
