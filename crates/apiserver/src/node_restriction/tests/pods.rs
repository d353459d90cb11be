//! Mirror pods, deletes, evictions, statuses.

use super::*;

fn mirror() -> Value {
    json!({
        "metadata": {
            "name": "static-n1",
            "annotations": {"kubernetes.io/config.mirror": "h"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1-uid", "controller": true},
            ],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}], "volumes": [
            {"name": "h", "hostPath": {"path": "/etc"}},
            {"name": "p", "projected": {"sources": [{"downwardAPI": {}}]}},
        ]},
    })
}

fn changed(pointer: &str, value: Value) -> Value {
    let mut pod = mirror();
    *pod.pointer_mut(pointer).expect("a field") = value;
    pod
}

fn create(pod: &Value) -> Result<(), String> {
    judge(Operation::Create, "/pods", "", pod, &Value::Null)
}

#[test]
fn a_node_creates_its_own_mirror_pods_only() {
    assert_eq!(create(&mirror()), Ok(()));
    let owner = |field: &str| format!("/metadata/ownerReferences/0/{field}");
    let own = "node \"n1\" can only create pods with an owner reference set to itself";
    let reference = mirror()["metadata"]["ownerReferences"][0].clone();
    let mut blocking = reference.clone();
    blocking["blockOwnerDeletion"] = json!(true);
    let rows = [
        (
            changed("/metadata/annotations", json!({})),
            "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create mirror pods",
        ),
        (changed("/spec/nodeName", json!("n2")), "node \"n1\" can only create pods with spec.nodeName set to itself"),
        (changed("/metadata/ownerReferences", json!([])), own),
        (
            changed("/metadata/ownerReferences", json!([reference, reference])),
            "node \"n1\" can only create pods with a single owner reference set to itself",
        ),
        (changed(&owner("name"), json!("n2")), own),
        (changed(&owner("kind"), json!("Pod")), own),
        (
            changed(&owner("controller"), json!(false)),
            "node \"n1\" can only create pods with a controller owner reference set to itself",
        ),
        (
            changed("/metadata/ownerReferences", json!([blocking])),
            "node \"n1\" must not set blockOwnerDeletion on an owner reference",
        ),
        (changed(&owner("uid"), json!("old")), "node n1 UID mismatch: expected old got n1-uid"),
    ];
    for (pod, message) in rows {
        assert_eq!(create(&pod), Err(message.to_owned()));
    }
}

#[test]
fn a_mirror_pod_names_no_other_object() {
    let volume = |source: Value| {
        let mut volume = source;
        volume["name"] = json!("v");
        changed("/spec/volumes", json!([volume]))
    };
    let projected = |source: Value| volume(json!({"projected": {"sources": [source]}}));
    let mut with_account = mirror();
    with_account["spec"]["serviceAccountName"] = json!("web");
    let mut with_claim = mirror();
    with_claim["spec"]["resourceClaims"] = json!([{"name": "gpu"}]);
    let rows = [
        (with_account, "serviceaccounts"),
        (with_claim, "resourceclaims"),
        (volume(json!({"secret": {"secretName": "s"}})), "secrets"),
        (volume(json!({"secret": {}})), "secrets (via secret volumes)"),
        (volume(json!({"configMap": {"name": "m"}})), "configmaps"),
        (volume(json!({"csi": {"driver": "d"}})), "csidrivers (via CSI volumes)"),
        (volume(json!({"persistentVolumeClaim": {"claimName": "c"}})), "persistentvolumeclaims"),
        (volume(json!({"ephemeral": {}})), "persistentvolumeclaims (via ephemeral volumes)"),
        (projected(json!({"serviceAccountToken": {"path": "t"}})), "serviceaccounts (via projected volumes)"),
        (projected(json!({"clusterTrustBundle": {"path": "t"}})), "clustertrustbundles"),
    ];
    for (pod, resource) in rows {
        assert_eq!(create(&pod), Err(format!("node \"n1\" can not create pods that reference {resource}")));
    }
    let unknown = "error checking mirror pod for API references: unknown";
    assert_eq!(create(&volume(json!({}))), Err(format!("{unknown} volume type for volume  \"v\"")));
    assert_eq!(create(&projected(json!({}))), Err(format!("{unknown} source for projected volume \"v\"")));
}

#[test]
fn a_node_deletes_and_evicts_only_pods_bound_to_it() {
    let delete = |name| judge(Operation::Delete, "/pods", name, &Value::Null, &Value::Null);
    assert_eq!(delete("mine"), Ok(()));
    let message = "node \"n1\" can only delete pods with spec.nodeName set to itself";
    assert_eq!(delete("theirs"), Err(message.to_owned()));
    assert_eq!(delete("gone"), Err("pods \"gone\" not found".to_owned()));

    let evict = |name, object: Value| judge(Operation::Create, "/pods/eviction", name, &object, &Value::Null);
    assert_eq!(evict("mine", json!({"metadata": {"name": "theirs"}})), Ok(()), "the URL names the pod");
    assert_eq!(evict("", json!({"metadata": {"name": "mine"}})), Ok(()));
    let message = "node n1 can only evict pods with spec.nodeName set to itself";
    assert_eq!(evict("theirs", json!({})), Err(message.to_owned()));
    assert_eq!(evict("", json!({})), Err("could not determine pod from request data".to_owned()));
    assert_eq!(refused(Operation::Update, "/pods/eviction", "mine", &Value::Null), "unexpected operation UPDATE");
}

#[test]
fn a_node_does_nothing_else_to_pods() {
    assert_eq!(
        refused(Operation::Update, "/pods", "mine", &mirror()),
        "unexpected operation \"UPDATE\", node \"n1\" can only create and delete mirror pods"
    );
    assert_eq!(
        refused(Operation::Create, "/pods/binding", "mine", &Value::Null),
        "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"
    );
}

#[test]
fn a_status_is_written_for_own_pods_without_touching_labels_or_claims() {
    let pod = |node: &str, labels: Value, status: Value| json!({"metadata": {"name": "mine", "labels": labels}, "spec": {"nodeName": node, "containers": []}, "status": status});
    let update = |old: &Value, new: &Value| judge(Operation::Update, "/pods/status", "mine", new, old);
    let old = pod("n1", json!({"a": "b"}), json!({"phase": "Pending"}));
    assert_eq!(update(&old, &pod("n1", json!({"a": "b"}), json!({"phase": "Running"}))), Ok(()));
    let none = pod("n1", Value::Null, json!({}));
    assert_eq!(update(&none, &pod("n1", json!({}), json!({}))), Ok(()), "no labels are no labels");
    let theirs = pod("n2", json!({"a": "b"}), json!({}));
    let rows = [
        (update(&theirs, &old), "node \"n1\" can only update pod status for pods with spec.nodeName set to itself"),
        (update(&old, &pod("n1", json!({"a": "c"}), json!({}))), "node \"n1\" cannot update labels through pod status"),
        (
            update(&old, &pod("n1", json!({"a": "b"}), json!({"resourceClaimStatuses": [{"name": "x"}]}))),
            "node \"n1\" cannot update resource claim statues",
        ),
        (
            update(
                &old,
                &pod(
                    "n1",
                    json!({"a": "b"}),
                    json!({"extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": []}}),
                ),
            ),
            "node \"n1\" cannot update extended resource claim status",
        ),
    ];
    for (found, message) in rows {
        assert_eq!(found, Err(message.to_owned()));
    }
    assert_eq!(refused(Operation::Create, "/pods/status", "mine", &old), "unexpected operation \"CREATE\"");
}
