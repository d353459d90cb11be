//! The node's own objects.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn object(labels: &Value, spec: &Value) -> Value {
    json!({"metadata": {"name": "n1", "labels": labels}, "spec": spec})
}

#[test]
fn a_node_registers_itself_with_labels_that_are_its_own() {
    let create = |node: &Value| judge(Operation::Create, "/nodes", "", node, &Value::Null);
    let fine = json!({
        "kubernetes.io/hostname": "n1", "node.kubernetes.io/x": "y", "a.kubelet.kubernetes.io/x": "y",
        "topology.kubernetes.io/zone": "z", "example.com/x": "y", "plain": "y", "notkubernetes.io/x": "y",
    });
    assert_eq!(create(&object(&fine, &json!({}))), Ok(()));
    let bad =
        json!({"node-role.kubernetes.io/control-plane": "", "a.node-restriction.kubernetes.io/x": "", "k8s.io/x": ""});
    let message = "node \"n1\" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x, k8s.io/x, \
                   node-role.kubernetes.io/control-plane";
    assert_eq!(create(&object(&bad, &json!({}))), Err(message.to_owned()));
    let other = json!({"metadata": {"name": "n2"}});
    assert_eq!(create(&other), Err("node \"n1\" is not allowed to modify node \"n2\"".to_owned()));
    let source = object(
        &json!({}),
        &json!({"configSource": {"configMap": {"kubeletConfigKey": "k", "name": "m", "namespace": "n"}}}),
    );
    let message = "node \"n1\" is not allowed to create pods with a non-nil configSource";
    assert_eq!(create(&source), Err(message.to_owned()));
}

#[test]
fn a_node_changes_neither_its_taints_nor_its_owners_nor_foreign_labels() {
    let update = |old: &Value, new: &Value| judge(Operation::Update, "/nodes/status", "n1", new, old);
    let tainted = object(&json!({}), &json!({"taints": [{"key": "k", "effect": "NoSchedule"}]}));
    let plain = object(&json!({}), &json!({}));
    assert_eq!(update(&tainted, &tainted), Ok(()));
    let taints = "node \"n1\" is not allowed to modify taints";
    assert_eq!(update(&tainted, &plain), Err(taints.to_owned()));
    let mut owned = plain.clone();
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]);
    assert_eq!(update(&plain, &owned), Err("node \"n1\" is not allowed to modify ownerReferences".to_owned()));
    let labelled = object(&json!({"node-role.kubernetes.io/x": "", "mine": "1"}), &json!({}));
    let removed = "is not allowed to modify labels: node-role.kubernetes.io/x";
    assert_eq!(update(&labelled, &plain), Err(removed.to_owned()), "removing is changing");
    assert_eq!(judge(Operation::Delete, "/nodes", "n1", &Value::Null, &plain), Ok(()));
    assert!(judge(Operation::Delete, "/nodes", "n2", &Value::Null, &plain).is_err());
}

#[test]
fn leases_and_csi_nodes_are_called_like_their_node() {
    let named = |name: &str| json!({"metadata": {"name": name}});
    let rows = [
        ("coordination.k8s.io/leases", "can only access node lease with the same name as the requesting node"),
        ("storage.k8s.io/csinodes", "can only access CSINode with the same name as the requesting node"),
    ];
    for (what, message) in rows {
        assert_eq!(judge(Operation::Create, what, "", &named("n1"), &Value::Null), Ok(()));
        assert_eq!(judge(Operation::Update, what, "n1", &named("n1"), &named("n1")), Ok(()));
        assert_eq!(refused(Operation::Create, what, "", &named("n2")), message);
        assert_eq!(refused(Operation::Create, what, "n1", &named("n2")), message, "the object counts, not the URL");
        assert_eq!(refused(Operation::Update, what, "n2", &named("n1")), message);
    }
    let user = node();
    let elsewhere = Write {
        user: &user,
        operation: Operation::Delete,
        group: "coordination.k8s.io",
        resource: "leases",
        subresource: "",
        namespace: "kube-system",
        name: "n1",
        object: None,
        old: None,
    };
    let message = "can only access leases in the \"kube-node-lease\" system namespace";
    assert_eq!(admit(&elsewhere, &Cluster), Err(Refusal::Forbidden(message.to_owned())));
}

#[test]
fn of_a_claim_only_the_reported_size_and_conditions_change() {
    let claim = |version: &str, labels: Value, status: Value| json!({"metadata": {"name": "c", "resourceVersion": version, "labels": labels}, "status": status});
    let what = "/persistentvolumeclaims/status";
    let old = claim("1", json!({}), json!({"phase": "Bound", "capacity": {"storage": "1Gi"}}));
    let grown = claim("", json!({}), json!({"phase": "Bound", "capacity": {"storage": "2Gi"}, "conditions": []}));
    assert_eq!(judge(Operation::Update, what, "c", &grown, &old), Ok(()));
    let message = "node \"n1\" is not allowed to update fields other than status.quantity and status.conditions";
    for wrong in
        [claim("1", json!({"a": "b"}), json!({"phase": "Bound"})), claim("1", json!({}), json!({"phase": "Lost"}))]
    {
        assert_eq!(judge(Operation::Update, what, "c", &wrong, &old), Err(message.to_owned()));
    }
    assert_eq!(refused(Operation::Update, "/persistentvolumeclaims", "c", &old), "may only update PVC status");
}

#[test]
fn resource_slices_describe_their_own_node() {
    let what = "resource.k8s.io/resourceslices";
    let slice = |node: Value| json!({"metadata": {"name": "s"}, "spec": {"nodeName": node}});
    assert_eq!(judge(Operation::Create, what, "s", &slice(json!("n1")), &Value::Null), Ok(()));
    assert_eq!(judge(Operation::Delete, what, "s", &Value::Null, &slice(json!("n1"))), Ok(()));
    for other in [json!("n2"), Value::Null] {
        let created = judge(Operation::Create, what, "s", &slice(other.clone()), &Value::Null);
        let message = |verb| format!("can only {verb} ResourceSlice with the same NodeName as the requesting node");
        assert_eq!(created, Err(message("create")));
        assert_eq!(judge(Operation::Delete, what, "s", &Value::Null, &slice(other)), Err(message("delete")));
    }
}

#[test]
fn certificates_are_requested_in_the_nodes_own_name() {
    let request = |signer: &str, name: &str| {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().expect("a key");
        let pem = params.serialize_request(&key).expect("a request").pem().expect("PEM");
        json!({"spec": {"signerName": signer, "request": STANDARD.encode(pem)}})
    };
    let what = "certificates.k8s.io/certificatesigningrequests";
    let create = |object: &Value| judge(Operation::Create, what, "", object, &Value::Null);
    for signer in ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"] {
        assert_eq!(create(&request(signer, "system:node:n1")), Ok(()));
        let message = "can only create a node CSR with CN=system:node:n1";
        assert_eq!(create(&request(signer, "system:node:n2")), Err(message.to_owned()));
        let garbage = json!({"spec": {"signerName": signer, "request": "AAAA"}});
        assert!(create(&garbage).is_err_and(|message| message.starts_with("unable to parse csr: ")));
    }
    assert_eq!(create(&request("example.com/signer", "anyone")), Ok(()));
}
