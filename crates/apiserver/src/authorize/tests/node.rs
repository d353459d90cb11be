//! A node between its own things and those of others.

use super::*;

fn cluster() -> Cluster {
    let spec = |suffix: &str| {
        json!({
            "serviceAccountName": format!("sa{suffix}"),
            "imagePullSecrets": [{"name": format!("pull{suffix}")}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": format!("gpu{suffix}")}],
            "volumes": [
                {"name": "c", "configMap": {"name": format!("config{suffix}")}},
                {"name": "d", "persistentVolumeClaim": {"claimName": if suffix.is_empty() { "data" } else { "data2" }}},
            ],
        })
    };
    Cluster::with(&[pod_with("web", "n1", &spec("")), pod_with("db", "n2", &spec("2"))])
}

fn check(rows: &[(&str, &str, Option<&str>)]) {
    let (n1, cluster) = (node("n1"), cluster());
    for (verb, what, refusal) in rows {
        match (ask(&n1, verb, what, &cluster), refusal) {
            (Ok(()), None) => {}
            (Err(message), Some(reason)) if message.ends_with(reason) => {}
            (found, expected) => panic!("{verb} {what}: {found:?}, expected {expected:?}"),
        }
    }
}

const UNRELATED: Option<&str> = Some(": no relationship found between node 'n1' and this object");
/// No reason is given, only the refusal itself.
const REFUSED: Option<&str> = Some("\"");
const REFUSED_EVERYWHERE: Option<&str> = Some("at the cluster scope");

#[test]
fn a_node_reads_single_secrets_and_config_maps_of_its_pods() {
    check(&[
        ("get", "/api/v1/namespaces/prod/secrets/pull", None),
        ("list", "/api/v1/namespaces/prod/secrets?fieldSelector=metadata.name=pull", None),
        ("watch", "/api/v1/namespaces/prod/configmaps?fieldSelector=metadata.name=config", None),
        ("get", "/api/v1/namespaces/prod/secrets/pull2", UNRELATED),
        ("get", "/api/v1/namespaces/dev/secrets/pull", UNRELATED),
        ("get", "/api/v1/namespaces/prod/configmaps/pull", UNRELATED),
        ("list", "/api/v1/namespaces/prod/secrets", Some(": No Object name found")),
        (
            "list",
            "/api/v1/secrets?fieldSelector=metadata.name=pull",
            Some(": can only read namespaced object of this type"),
        ),
        ("update", "/api/v1/namespaces/prod/secrets/pull", Some(": can only read resources of this type")),
        ("get", "/api/v1/namespaces/prod/secrets/pull/status", Some(": cannot read subresource")),
    ]);
}

#[test]
fn a_node_gets_the_storage_of_its_pods_and_reports_on_claims() {
    check(&[
        ("get", "/api/v1/namespaces/prod/persistentvolumeclaims/data", None),
        ("patch", "/api/v1/namespaces/prod/persistentvolumeclaims/data/status", None),
        ("get", "/api/v1/namespaces/prod/persistentvolumeclaims/data2", UNRELATED),
        ("patch", "/api/v1/namespaces/prod/persistentvolumeclaims/data2/status", UNRELATED),
        (
            "get",
            "/api/v1/namespaces/prod/persistentvolumeclaims/data/status",
            Some(": can only get/update/patch this type"),
        ),
        (
            "update",
            "/api/v1/namespaces/prod/persistentvolumeclaims/data",
            Some(": can only get individual resources of this type"),
        ),
        ("get", "/api/v1/persistentvolumes/pv-data", None),
        ("get", "/api/v1/persistentvolumes/pv-other", UNRELATED),
        ("list", "/api/v1/persistentvolumes", Some(": can only get individual resources of this type")),
        ("get", "/apis/storage.k8s.io/v1/volumeattachments/va-n1", None),
        ("get", "/apis/storage.k8s.io/v1/volumeattachments/va-n2", UNRELATED),
        ("get", "/apis/resource.k8s.io/v1/namespaces/prod/resourceclaims/gpu", None),
        ("get", "/apis/resource.k8s.io/v1/namespaces/prod/resourceclaims/gpu2", UNRELATED),
    ]);
}

#[test]
fn a_node_gets_tokens_for_the_service_accounts_of_its_pods() {
    let one = Some(": can only create tokens for individual service accounts");
    check(&[
        ("create", "/api/v1/namespaces/prod/serviceaccounts/sa/token", None),
        ("get", "/api/v1/namespaces/prod/serviceaccounts/sa", None),
        ("create", "/api/v1/namespaces/prod/serviceaccounts/sa2/token", UNRELATED),
        ("create", "/api/v1/namespaces/prod/serviceaccounts", one),
        ("list", "/api/v1/namespaces/prod/serviceaccounts", one),
        ("delete", "/api/v1/namespaces/prod/serviceaccounts/sa", one),
    ]);
}

#[test]
fn a_node_reads_only_itself_and_registers_itself() {
    check(&[
        ("get", "/api/v1/nodes/n1", None),
        ("watch", "/api/v1/nodes?fieldSelector=metadata.name=n1", None),
        ("create", "/api/v1/nodes", None),
        ("patch", "/api/v1/nodes/n1/status", None),
        ("get", "/api/v1/nodes/n2", Some(": node 'n1' cannot read 'n2', only its own Node object")),
        ("list", "/api/v1/nodes", Some(": node 'n1' cannot read all nodes, only its own Node object")),
        ("delete", "/api/v1/nodes/n1", REFUSED_EVERYWHERE),
        ("get", "/api/v1/nodes/n1/proxy", REFUSED_EVERYWHERE),
    ]);
}

#[test]
fn a_node_sees_the_pods_bound_to_it_and_writes_where_admission_looks_closer() {
    let selector = Some(": can only list/watch pods with spec.nodeName field selector");
    check(&[
        ("get", "/api/v1/namespaces/prod/pods/web", None),
        ("get", "/api/v1/namespaces/prod/pods/db", UNRELATED),
        ("list", "/api/v1/pods?fieldSelector=spec.nodeName=n1", None),
        ("watch", "/api/v1/pods?fieldSelector=spec.nodeName=n1", None),
        ("watch", "/api/v1/namespaces/prod/pods?fieldSelector=metadata.name=web", None),
        ("watch", "/api/v1/namespaces/prod/pods?fieldSelector=metadata.name=db", UNRELATED),
        ("list", "/api/v1/pods?fieldSelector=spec.nodeName=n2", selector),
        ("list", "/api/v1/pods?fieldSelector=spec.nodeName!=n1", selector),
        ("list", "/api/v1/pods", selector),
        ("create", "/api/v1/namespaces/prod/pods", None),
        ("delete", "/api/v1/namespaces/prod/pods/web", None),
        ("patch", "/api/v1/namespaces/prod/pods/web/status", None),
        ("create", "/api/v1/namespaces/prod/pods/web/eviction", None),
        ("update", "/api/v1/namespaces/prod/pods/web", REFUSED),
        ("deletecollection", "/api/v1/namespaces/prod/pods", REFUSED),
        ("create", "/api/v1/namespaces/prod/pods/web/exec", REFUSED),
        ("create", "/api/v1/namespaces/prod/pods/web/binding", REFUSED),
    ]);
}

#[test]
fn a_node_keeps_its_own_lease_csi_node_and_slices() {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let slices = "/apis/resource.k8s.io/v1/resourceslices";
    let at = |base: &str, name: &str| format!("{base}/{name}");
    check(&[
        ("create", leases, None),
        ("update", &at(leases, "n1"), None),
        ("get", &at(leases, "n2"), Some(": can only access node lease with the same name as the requesting node")),
        ("list", leases, Some(": can only get, create, update, patch, or delete a node lease")),
        (
            "get",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/n1",
            Some(": can only access leases in the \"kube-node-lease\" system namespace"),
        ),
        ("create", "/apis/storage.k8s.io/v1/csinodes", None),
        ("get", "/apis/storage.k8s.io/v1/csinodes/n1", None),
        (
            "get",
            "/apis/storage.k8s.io/v1/csinodes/n2",
            Some(": can only access CSINode with the same name as the requesting node"),
        ),
        (
            "list",
            "/apis/storage.k8s.io/v1/csinodes",
            Some(": can only get, create, update, patch, or delete a CSINode"),
        ),
        ("get", "/apis/storage.k8s.io/v1/csinodes/n1/status", Some(": cannot authorize CSINode subresources")),
        ("create", slices, None),
        ("delete", &at(slices, "slice-n1"), None),
        ("delete", &at(slices, "slice-n2"), UNRELATED),
        ("deletecollection", &format!("{slices}?fieldSelector=spec.nodeName=n1"), None),
        (
            "deletecollection",
            slices,
            Some(": can only list/watch/deletecollection resourceslices with nodeName field selector"),
        ),
    ]);
}

#[test]
fn every_node_has_the_shared_rules_and_nothing_beyond() {
    let terminations = "/apis/eventide.dev/v1alpha1/namespaces/prod/terminations";
    check(&[
        ("watch", "/api/v1/services", None),
        ("list", "/apis/discovery.k8s.io/v1/endpointslices", None),
        ("watch", "/apis/node.k8s.io/v1/runtimeclasses", None),
        ("list", "/apis/storage.k8s.io/v1/csidrivers", None),
        ("create", "/api/v1/namespaces/prod/events", None),
        ("patch", "/apis/events.k8s.io/v1/namespaces/prod/events/e", None),
        ("create", "/apis/authentication.k8s.io/v1/tokenreviews", None),
        ("create", "/apis/authorization.k8s.io/v1/subjectaccessreviews", None),
        ("create", "/apis/certificates.k8s.io/v1/certificatesigningrequests", None),
        ("create", terminations, None),
        ("patch", &format!("{terminations}/web-1"), None),
        ("delete", &format!("{terminations}/web-1"), REFUSED),
        ("list", "/apis/eventide.dev/v1alpha1/terminations", REFUSED_EVERYWHERE),
        ("delete", "/api/v1/namespaces/prod/events/e", REFUSED),
        ("update", "/apis/certificates.k8s.io/v1/certificatesigningrequests/c/approval", REFUSED_EVERYWHERE),
        ("create", "/apis/apps/v1/namespaces/prod/deployments", REFUSED),
        ("get", "/apis/apps/v1", None),
        ("get", "/openapi/v2", None),
        ("get", "/metrics", REFUSED),
    ]);
}

#[test]
fn a_mirror_pod_gives_its_node_nothing() {
    let mut pod = pod_with("static", "n1", &json!({"imagePullSecrets": [{"name": "pull"}]}));
    pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "h"});
    let cluster = Cluster::with(&[pod]);
    assert!(ask(&node("n1"), "get", "/api/v1/namespaces/prod/secrets/pull", &cluster).is_err());
    assert_eq!(ask(&node("n1"), "get", "/api/v1/namespaces/prod/pods/static", &cluster), Ok(()));
}
