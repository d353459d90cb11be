//! Strategic merge patches: one row for each rule.

use serde_json::{Value, json};

use super::{PatchError, PatchKind, Refusal, apply, check, schema};

fn kind(group: &str, kind: &str) -> PatchKind {
    PatchKind::Strategic(schema::of_kind(group, kind).unwrap())
}

/// Each row is the `spec` of a pod, a patch of it, and what becomes of it.
fn check_specs(rows: &[(Value, Value, Value)]) {
    for (document, patch, expected) in rows {
        let of_spec = |spec: &Value| json!({ "spec": spec });
        check(kind("", "Pod"), &of_spec(document), &of_spec(patch), Ok(of_spec(expected)));
    }
}

fn refused(patch: Value) -> PatchError {
    let document = json!({"metadata": {"finalizers": ["a"]}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
    apply(kind("", "Pod"), document, patch).unwrap_err()
}

#[test]
fn objects_are_merged_and_null_removes() {
    check_specs(&[
        (json!({"a": 1, "b": 2}), json!({"a": 3, "b": null}), json!({"a": 3})),
        (
            json!({"securityContext": {"fsGroup": 1}}),
            json!({"securityContext": {"runAsUser": 2}}),
            json!({"securityContext": {"fsGroup": 1, "runAsUser": 2}}),
        ),
        (
            json!({}),
            json!({"securityContext": {"fsGroup": null, "runAsUser": 2}}),
            json!({"securityContext": {"runAsUser": 2}}),
        ),
        (json!({}), json!({"absent": null}), json!({})),
    ]);
}

#[test]
fn lists_with_a_merge_key_are_merged_by_it() {
    check_specs(&[
        (
            json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}),
            json!({"containers": [{"name": "a", "image": "2"}]}),
            json!({"containers": [{"name": "a", "image": "2"}, {"name": "b"}]}),
        ),
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"name": "b"}]}),
            json!({"containers": [{"name": "b"}, {"name": "a"}]}),
        ),
        (
            json!({"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}]}),
            json!({"containers": [{"name": "a", "env": [{"name": "y", "value": "2"}]}]}),
            json!({"containers": [{"name": "a", "env": [{"name": "y", "value": "2"}, {"name": "x", "value": "1"}]}]}),
        ),
        (
            json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}),
            json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]}),
            json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]}),
        ),
    ]);
}

#[test]
fn other_lists_are_replaced() {
    check_specs(&[
        (
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": [{"key": "b"}]}),
            json!({"tolerations": [{"key": "b"}]}),
        ),
        (
            json!({"containers": [{"name": "a", "args": ["x", "y"]}]}),
            json!({"containers": [{"name": "a", "args": ["z"]}]}),
            json!({"containers": [{"name": "a", "args": ["z"]}]}),
        ),
    ]);
}

#[test]
fn directives_delete_and_replace() {
    check_specs(&[
        (
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"containers": [{"name": "b"}]}),
        ),
        (
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"name": "c"}, {"$patch": "replace"}]}),
            json!({"containers": [{"name": "c"}]}),
        ),
        (
            json!({"securityContext": {"fsGroup": 1}}),
            json!({"securityContext": {"$patch": "replace", "runAsUser": 2}}),
            json!({"securityContext": {"runAsUser": 2}}),
        ),
        (
            json!({"securityContext": {"fsGroup": 1}}),
            json!({"securityContext": {"$patch": "delete"}}),
            json!({"securityContext": {}}),
        ),
        (json!({}), json!({"securityContext": {"$patch": "delete"}}), json!({})),
        (
            json!({}),
            json!({"containers": [{"name": "a"}, {"name": "b", "$patch": "delete"}]}),
            json!({"containers": [{"name": "a"}]}),
        ),
    ]);
}

#[test]
fn retained_keys_are_all_that_stays() {
    check_specs(&[(
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]}),
        json!({"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}),
    )]);
    let strategy = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null, "$retainKeys": ["type"]}}});
    let expected = json!({"spec": {"strategy": {"type": "Recreate"}}});
    check(kind("apps", "Deployment"), &strategy, &patch, Ok(expected));
}

#[test]
fn an_element_order_is_obeyed() {
    check_specs(&[
        (
            json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
            json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}),
            json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}),
        ),
        (
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({
                "$setElementOrder/containers": [{"name": "b"}, {"name": "n"}],
                "containers": [{"name": "n"}, {"name": "a", "$patch": "delete"}],
            }),
            json!({"containers": [{"name": "b"}, {"name": "n"}]}),
        ),
        (
            json!({"imagePullSecrets": [{"name": "3"}, {"name": "1"}]}),
            json!({
                "$setElementOrder/imagePullSecrets": [{"name": "2"}],
                "imagePullSecrets": [{"name": "1", "$patch": "delete"}, {"name": "2"}],
            }),
            json!({"imagePullSecrets": [{"name": "3"}, {"name": "2"}]}),
        ),
        (
            json!({}),
            json!({
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "b"}, {"name": "a"}],
            }),
            json!({"containers": [{"name": "b"}, {"name": "a"}]}),
        ),
        (json!({}), json!({"$setElementOrder/containers": [{"name": "b"}]}), json!({})),
    ]);
}

#[test]
fn finalizers_are_a_set() {
    let rows = [
        (json!(["a", "b"]), json!({"finalizers": ["c", "a"]}), json!(["c", "a", "b"])),
        (json!(["a", "b"]), json!({"$deleteFromPrimitiveList/finalizers": ["a", "x"]}), json!(["b"])),
        (json!(["a", "b"]), json!({"$setElementOrder/finalizers": ["b", "a"]}), json!(["b", "a"])),
    ];
    for (present, patch, expected) in rows {
        let document = json!({"metadata": {"finalizers": present}});
        check(
            kind("", "Pod"),
            &document,
            &json!({"metadata": patch}),
            Ok(json!({"metadata": {"finalizers": expected}})),
        );
    }
}

#[test]
fn kinds_merge_by_their_own_keys() {
    let rows = [
        ("", "Service", "/spec/ports", json!({"port": 80, "name": "x"}), json!({"port": 80, "name": "y"})),
        (
            "",
            "Node",
            "/status/conditions",
            json!({"type": "Ready", "status": "True"}),
            json!({"type": "Ready", "status": "False"}),
        ),
        ("", "ServiceAccount", "/secrets", json!({"name": "s", "kind": "a"}), json!({"name": "s", "kind": "b"})),
        (
            "batch",
            "CronJob",
            "/spec/jobTemplate/spec/template/spec/containers",
            json!({"name": "a", "image": "1"}),
            json!({"name": "a", "image": "2"}),
        ),
        (
            "discovery.k8s.io",
            "EndpointSlice",
            "/metadata/ownerReferences",
            json!({"uid": "u", "name": "a"}),
            json!({"uid": "u", "name": "b"}),
        ),
    ];
    for (group, name, path, element, change) in rows {
        let at = |list: Value| {
            path.rsplit('/').filter(|step| !step.is_empty()).fold(list, |inner, step| json!({ step: inner }))
        };
        check(kind(group, name), &at(json!([element])), &at(json!([change])), Ok(at(json!([change]))));
    }
    assert!(schema::of_kind("example.com", "Pod").is_none());
}

#[test]
fn the_selector_of_a_disruption_budget_is_replaced() {
    let budget = |labels: Value| json!({"spec": {"selector": {"matchLabels": labels}}});
    let (before, after) = (budget(json!({"a": "1"})), budget(json!({"b": "2"})));
    check(kind("policy", "PodDisruptionBudget"), &before, &after, Ok(after.clone()));
}

#[test]
fn malformed_directives_are_bad_requests() {
    for (patch, words) in [
        (json!({"spec": {"$retainKeys": "x"}}), "invalid patch format of retainKeys"),
        (json!({"spec": {"$retainKeys": [], "nodeName": "n"}}), "invalid patch format of retainKeys"),
        (json!({"metadata": {"$deleteFromPrimitiveList": []}}), "invalid patch format of primitive list"),
        (json!({"spec": {"$setElementOrder": []}}), "invalid patch format of setElementOrder list"),
    ] {
        let error = refused(patch);
        assert_eq!((error.to_string().as_str(), error.refusal()), (words, Refusal::BadRequest));
    }
}

#[test]
fn patches_that_do_not_fit_are_unprocessable() {
    for (patch, words) in [
        (
            json!({"spec": {"containers": [{"image": "x"}]}}),
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            json!({"spec": {"containers": [{"$patch": "delete"}]}}),
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            json!({"spec": {"containers": [{"$patch": "merge", "name": "a"}]}}),
            "merging lists cannot yet be specified in the patch",
        ),
        (json!({"spec": {"$patch": "foo"}}), "unknown patch type: foo in map: map[$patch:foo]"),
        (
            json!({"spec": {"containers": ["a"]}}),
            "list element types are not identical: [[map[name:a] map[name:b]] [a]]",
        ),
        (json!({"spec": {"$setElementOrder/containers": "x"}}), "expected a []interface {}, but received a string"),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "z"}]}}),
            "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ] {
        let error = refused(patch);
        assert_eq!((error.to_string().as_str(), error.refusal()), (words, Refusal::Unprocessable));
    }
}
