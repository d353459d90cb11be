//! Names, labels, annotations, owners, finalizers.

use serde_json::json;

use super::{accepts, created, pod, refuses, updated};
use crate::validation::pin_metadata;

const MIRROR: &str = "kubernetes.io/config.mirror";

#[test]
fn names_are_dns_subdomains_and_namespaces_dns_labels() {
    accepts(&[json!({"metadata": {"name": "a.b-c"}}), json!({"metadata": {"generateName": "a-"}})]);
    refuses(&[
        (json!({"metadata": {"name": ""}}), "metadata.name: Required value: name or generateName is required"),
        (json!({"metadata": {"namespace": ""}}), "metadata.namespace: Required value"),
        (
            json!({"metadata": {"namespace": "a.b"}}),
            "metadata.namespace: Invalid value: \"a.b\": must not contain dots",
        ),
    ]);
    assert!(created(&json!({"metadata": {"generateName": "ABC-"}}))[0].starts_with("metadata.generateName: Invalid"));
}

#[test]
fn annotations_together_have_a_size_limit() {
    let fits = "x".repeat(256 * 1024 - 1);
    let exceeds = "x".repeat(256 * 1024);
    accepts(&[json!({"metadata": {"annotations": {"a": fits}}})]);
    refuses(&[(
        json!({"metadata": {"annotations": {"a": exceeds}}}),
        "metadata.annotations: Too long: may not be more than 262144 bytes",
    )]);
}

#[test]
fn owners_are_complete_no_events_and_at_most_one_controls() {
    let owner = |api: &str, kind: &str| json!({"apiVersion": api, "kind": kind, "name": "n", "uid": "u"});
    accepts(&[json!({"metadata": {"ownerReferences": [owner("apps/v1", "ReplicaSet"), owner("v1", "Node")]}})]);
    refuses(&[
        (
            json!({"metadata": {"ownerReferences": [owner("a/b/c", "K")]}}),
            "metadata.ownerReferences[0].apiVersion: Invalid value: \"a/b/c\": must be <group>/<version> or <version>",
        ),
        (
            json!({"metadata": {"ownerReferences": [owner("v1", "Event")]}}),
            "metadata.ownerReferences[0]: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"n\",\
             \"uid\":\"u\"}: /v1, Kind=Event is disallowed from being an owner",
        ),
    ]);
    let empty = created(&json!({"metadata": {"ownerReferences": [{}]}}));
    let fields = ["apiVersion", "kind", "name", "uid"];
    assert_eq!(empty, fields.map(|f| format!("metadata.ownerReferences[0].{f}: Required value: must not be empty")));
    let controls = json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": true});
    let both = created(&json!({"metadata": {"ownerReferences": [controls, controls]}}));
    assert!(both[0].ends_with("Found \"true\" in references for K/n and K/n"), "{both:?}");
}

#[test]
fn finalizers_are_standard_or_have_a_domain() {
    accepts(&[json!({"metadata": {"finalizers": ["orphan", "a.io/b", "kubernetes"]}})]);
    refuses(&[
        (
            json!({"metadata": {"finalizers": ["x"]}}),
            "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully \
             qualified",
        ),
        (
            json!({"metadata": {"finalizers": ["orphan", "foregroundDeletion"]}}),
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
             foregroundDeletion cannot be both set",
        ),
    ]);
}

#[test]
fn managed_fields_name_an_operation() {
    refuses(&[
        (
            json!({"metadata": {"managedFields": [{}]}}),
            "metadata.managedFields[0].operation: Required value: must not be empty",
        ),
        (
            json!({"metadata": {"managedFields": [{"operation": "Patch"}]}}),
            "metadata.managedFields[0].operation: Unsupported value: \"Patch\": supported values: \"Apply\", \"Update\"",
        ),
        (
            json!({"metadata": {"managedFields": [{"operation": "Apply", "fieldsType": "X"}]}}),
            "metadata.managedFields[0].fieldsType: Invalid value: \"X\": must be `FieldsV1`",
        ),
    ]);
}

#[test]
fn the_deletion_cost_is_a_plain_32_bit_integer() {
    let cost = |cost: &str| json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}});
    accepts(&[cost("0"), cost("-5"), cost("2147483647")]);
    for bad in ["+1", "01", "", "2147483648", "x"] {
        let line = format!(
            "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: {bad:?}: must be a 32bit \
             integer"
        );
        assert_eq!(created(&cost(bad)), [line]);
    }
}

#[test]
fn seccomp_annotation_and_field_agree() {
    let both = |annotation: &str, profile: serde_json::Value| {
        json!({
            "metadata": {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": annotation}},
            "spec": {"securityContext": {"seccompProfile": profile}}
        })
    };
    accepts(&[
        both("unconfined", json!({"type": "Unconfined"})),
        both("docker/default", json!({"type": "RuntimeDefault"})),
        both("localhost/x", json!({"type": "Localhost", "localhostProfile": "x"})),
    ]);
    refuses(&[
        (
            both("unconfined", json!({"type": "RuntimeDefault"})),
            "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
        ),
        (
            both("localhost/y", json!({"type": "Localhost", "localhostProfile": "x"})),
            "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field \
             must match",
        ),
    ]);
}

#[test]
fn apparmor_annotations_name_containers_and_known_profiles() {
    let annotation = |container: &str, profile: &str| {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{container}");
        json!({"metadata": {"annotations": {key: profile}}})
    };
    accepts(&[annotation("c", "localhost/x"), annotation("c", "runtime/default"), annotation("c", "")]);
    refuses(&[
        (
            annotation("d", "unconfined"),
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: \"d\": container \
             not found",
        ),
        (
            annotation("c", "x"),
            "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: \"x\": invalid \
             AppArmor profile name: \"x\"",
        ),
    ]);
}

/// 1.7.1
#[test]
fn a_mirror_pod_needs_a_node_name() {
    accepts(&[json!({"metadata": {"annotations": {MIRROR: "h"}}, "spec": {"nodeName": "n"}})]);
    refuses(&[(
        json!({"metadata": {"annotations": {MIRROR: "h"}}}),
        "metadata.annotations[kubernetes.io/config.mirror]: Invalid value: \"h\": must set spec.nodeName if mirror pod \
         annotation is set",
    )]);
}

/// 1.7.1
#[test]
fn the_mirror_annotation_cannot_be_added_changed_or_removed() {
    let plain = json!({"spec": {"nodeName": "n"}});
    let mirror = json!({"metadata": {"annotations": {MIRROR: "h"}}, "spec": {"nodeName": "n"}});
    let path = "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not";
    assert_eq!(updated(&plain, &mirror), [format!("{path} add mirror pod annotation")]);
    for change in [json!("other"), json!(null)] {
        let new = json!({"metadata": {"annotations": {MIRROR: change}}});
        assert_eq!(updated(&mirror, &new), [format!("{path} remove or update mirror pod annotation")]);
    }
    assert_eq!(updated(&mirror, &json!({"metadata": {"labels": {"a": "b"}}})), [""; 0]);
}

/// 1.5.5
#[test]
fn no_finalizer_is_added_once_deletion_has_begun() {
    let terminating = json!({"metadata": {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "finalizers": ["a.io/b"]
    }});
    assert_eq!(
        updated(&terminating, &json!({"metadata": {"finalizers": ["a.io/b", "a.io/d", "a.io/c"]}})),
        ["metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
             finalizers []string{\"a.io/c\", \"a.io/d\"}"]
    );
    assert_eq!(updated(&terminating, &json!({"metadata": {"finalizers": []}})), [""; 0]);
    assert_eq!(updated(&json!({}), &json!({"metadata": {"finalizers": ["a.io/c"]}})), [""; 0]);
}

/// 1.5.6
#[test]
fn deletion_uid_and_creation_survive_every_update() {
    let stored = pod(&json!({"metadata": {
        "uid": "u",
        "generation": 7,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 30
    }}));
    let mut sent = pod(&json!({"metadata": {
        "generation": 99,
        "creationTimestamp": "2027-01-01T00:00:00Z",
        "deletionTimestamp": "2027-01-02T00:00:00Z"
    }}));
    pin_metadata(&mut sent.metadata, &stored.metadata);
    assert_eq!(sent.metadata, stored.metadata);
}

/// 1.5.6
#[test]
fn identity_cannot_be_changed_by_an_update() {
    let stored = json!({"metadata": {"uid": "u", "deletionGracePeriodSeconds": 30}});
    let rows = [
        (json!({"metadata": {"uid": "v"}}), "metadata.uid: Invalid value: \"v\": field is immutable"),
        (json!({"metadata": {"name": "q"}}), "metadata.name: Invalid value: \"q\": field is immutable"),
        (json!({"metadata": {"namespace": "q"}}), "metadata.namespace: Invalid value: \"q\": field is immutable"),
        (
            json!({"metadata": {"deletionGracePeriodSeconds": 5}}),
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
        ),
        (
            json!({"metadata": {"resourceVersion": ""}}),
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
        ),
    ];
    for (change, error) in rows {
        assert_eq!(updated(&stored, &change), [error], "{change}");
    }
}
