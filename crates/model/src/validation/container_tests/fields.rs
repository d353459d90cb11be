//! Names, images, ports, environment variables and mounts.

use serde_json::{Value, json};

use super::{assert_rows, container, errors_in, merged};

#[test]
fn a_container_has_a_name_and_an_image() {
    assert_eq!(
        errors_in(json!({"containers": [{}, {"name": "a.b", "image": "x"}]})),
        [
            "spec.containers[0].name: Required value",
            "spec.containers[0].image: Required value",
            "spec.containers[1].name: Invalid value: \"a.b\": must not contain dots",
        ]
    );
}

#[test]
fn policies_are_known_words() {
    assert_rows(&[
        (
            json!({"imagePullPolicy": "Later"}),
            &["imagePullPolicy: Unsupported value: \"Later\": supported values: \"Always\", \"IfNotPresent\", \
               \"Never\""],
        ),
        (
            json!({"terminationMessagePolicy": "Shout"}),
            &["terminationMessagePolicy: Unsupported value: \"Shout\": supported values: \"File\", \
               \"FallbackToLogsOnError\""],
        ),
    ]);
}

#[test]
fn ports_have_numbers_protocols_and_unique_names() {
    assert_rows(&[
        (json!({"ports": [{"containerPort": 1, "name": "a", "hostPort": 2}, {"containerPort": 1}]}), &[]),
        (
            json!({"ports": [{"name": "a"}, {"containerPort": -1, "name": "a", "hostPort": 65536, "protocol": "<"}]}),
            &[
                "ports[0].containerPort: Required value",
                "ports[1].name: Duplicate value: \"a\"",
                "ports[1].containerPort: Invalid value: -1: must be between 1 and 65535, inclusive",
                "ports[1].hostPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
                "ports[1].protocol: Unsupported value: \"\\u003c\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            ],
        ),
    ]);
}

#[test]
fn main_containers_share_the_ports_of_the_host_and_init_containers_do_not() {
    let port = json!([{"containerPort": 1, "hostPort": 80}]);
    let with_port = |name: &str| json!({"name": name, "image": "x", "ports": port});
    assert_eq!(
        errors_in(json!({
            "containers": [with_port("a"), with_port("b")],
            "initContainers": [with_port("c"), with_port("d")],
        })),
        ["spec.containers[1].ports[0].hostPort: Duplicate value: \"TCP//80\""]
    );
}

fn env(source: Value) -> Value {
    json!({"env": [{"name": "A", "valueFrom": source}]})
}

#[test]
fn variables_have_printable_names_and_one_source() {
    assert_rows(&[
        (json!({"env": [{"name": "a b-1", "value": ""}]}), &[]),
        (json!({"env": [{"value": "x"}]}), &["env[0].name: Required value"]),
        (
            json!({"env": [{"name": "a=b"}]}),
            &["env[0].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable \
               ASCII characters other than '='"],
        ),
        (
            env(json!({})),
            &["env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, \
               `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"],
        ),
        (
            json!({"env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]}),
            &["env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"],
        ),
        (
            env(json!({"secretKeyRef": {"name": "a", "key": "b"}, "configMapKeyRef": {"name": "a", "key": ".."}})),
            &[
                "env[0].valueFrom.configMapKeyRef.key: Invalid value: \"..\": must not be '..'",
                "env[0].valueFrom: Invalid value: \"\": may not have more than one field specified at a time",
            ],
        ),
    ]);
}

#[test]
fn variables_show_some_fields_of_the_pod() {
    let field = |path: &str| env(json!({"fieldRef": {"fieldPath": path}}));
    for path in ["metadata.name", "spec.host", "status.podIPs", "metadata.labels['a/b']", "metadata.annotations['A']"] {
        assert_rows(&[(field(path), &[])]);
    }
    assert_rows(&[
        (field(""), &["env[0].valueFrom.fieldRef.fieldPath: Required value"]),
        (
            field("spec.x"),
            &["env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field \
               label not supported: spec.x"],
        ),
        (
            field("spec.x['a']"),
            &[
                "env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x['a']\": error converting fieldPath: field \
               label does not support subscript: spec.x['a']",
            ],
        ),
        (
            field("status.phase"),
            &["env[0].valueFrom.fieldRef.fieldPath: Unsupported value: \"status.phase\": supported values: \
               \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", \
               \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\""],
        ),
    ]);
}

#[test]
fn variables_show_resources_in_known_units() {
    let resource = |name: &str, divisor: &str| env(json!({"resourceFieldRef": {"resource": name, "divisor": divisor}}));
    for (name, divisor) in [("limits.cpu", "1m"), ("requests.memory", "1Mi"), ("limits.hugepages-2Mi", "0")] {
        assert_rows(&[(resource(name, divisor), &[])]);
    }
    assert_rows(&[
        (
            resource("limits.cpu", "2"),
            &[
                "env[0].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 \
               are supported with the cpu resource",
            ],
        ),
        (
            resource("limits.disk", "x"),
            &[
                "env[0].valueFrom.resourceFieldRef.resource: Unsupported value: \"limits.disk\": supported values: \
                 \"limits.cpu\", \"limits.ephemeral-storage\", \"limits.memory\", \"requests.cpu\", \
                 \"requests.ephemeral-storage\", \"requests.memory\"",
                "env[0].valueFrom.resourceFieldRef.divisor: Invalid value: \"x\": quantities must match the regular \
                 expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ],
        ),
    ]);
}

#[test]
fn whole_environments_come_from_one_named_object() {
    assert_rows(&[
        (json!({"envFrom": [{"prefix": "p", "configMapRef": {"name": "a"}}]}), &[]),
        (json!({"envFrom": [{"secretRef": {}}]}), &["envFrom[0].secretRef.name: Required value"]),
        (
            json!({"envFrom": [{}]}),
            &["envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"],
        ),
    ]);
}

fn mounting(fields: Value) -> Vec<String> {
    let pod = json!({
        "volumes": [{"name": "v"}, {"name": "p", "persistentVolumeClaim": {"claimName": "q"}}],
        "containers": [container(fields)],
    });
    super::without_prefix(errors_in(pod), "spec.containers[0].")
}

#[test]
fn mounts_name_volumes_and_have_unique_paths() {
    let mount = |fields: Value| json!({"volumeMounts": [merged(json!({"name": "v", "mountPath": "/v"}), fields)]});
    let rows: [(Value, &[&str]); 5] = [
        (mount(json!({"subPath": "a/b"})), &[]),
        (
            json!({"volumeMounts": [{"mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]}),
            &[
                "volumeMounts[0].name: Required value",
                "volumeMounts[0].name: Not found: \"\"",
                "volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
            ],
        ),
        (mount(json!({"subPath": "../a"})), &["volumeMounts.subPath: Invalid value: \"../a\": must not contain '..'"]),
        (
            mount(json!({"mountPropagation": "Bidirectional"})),
            &["volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to \
               privileged containers"],
        ),
        (
            mount(json!({"recursiveReadOnly": "Enabled"})),
            &["volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"],
        ),
    ];
    for (fields, expected) in rows {
        assert_eq!(mounting(fields.clone()), expected, "{fields}");
    }
}

#[test]
fn devices_are_claims_that_are_not_mounted() {
    assert!(mounting(json!({"volumeDevices": [{"name": "p", "devicePath": "/dev/a"}]})).is_empty());
    assert_eq!(
        mounting(json!({
            "volumeMounts": [{"name": "p", "mountPath": "/a"}],
            "volumeDevices": [{"name": "p", "devicePath": "/a"}, {"name": "v", "devicePath": "../b"}],
        })),
        [
            "volumeMounts[0].name: Invalid value: \"p\": must not already exist in volumeDevices",
            "volumeMounts[0].mountPath: Invalid value: \"/a\": must not already exist as a path in volumeDevices",
            "volumeDevices[0].name: Invalid value: \"p\": must not already exist in volumeMounts",
            "volumeDevices[0].devicePath: Invalid value: \"/a\": must not already exist as a path in volumeMounts",
            "volumeDevices[1].name: Invalid value: \"v\": can only use volume source type of PersistentVolumeClaim or \
             Ephemeral for block mode",
            "volumeDevices[1].devicePath: Invalid value: \"../b\": can not contain backsteps ('..')",
        ]
    );
}
